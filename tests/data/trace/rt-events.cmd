trace-cmd record -o events.dat -e sched_switch -e sched_waking cat /proc/uptime
