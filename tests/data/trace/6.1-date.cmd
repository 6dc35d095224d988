trace-cmd record -o date.dat --date -e sched_switch sh load.sh
