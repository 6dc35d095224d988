trace-cmd record -o instance_and_top.dat -e irq -B foo -e sched sh load.sh
