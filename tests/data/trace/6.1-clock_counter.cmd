trace-cmd record -o clock_counter.dat -C counter -e sched_switch sh load.sh
