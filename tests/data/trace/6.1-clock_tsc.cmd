trace-cmd record -o clock_tsc.dat -C x86-tsc -e sched_switch sh load.sh
