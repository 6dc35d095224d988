# sched_switch: the reference has one table of task states for all kernels; the event's own print fmt says that 0x80 is I
# (idle) since 4.14.
s/\(: sched_switch: .*\] \)W ==> /\1I ==> /
