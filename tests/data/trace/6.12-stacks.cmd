trace-cmd record -o stacks.dat -e sched_switch -T cat /proc/uptime
