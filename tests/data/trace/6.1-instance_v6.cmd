trace-cmd record -o instance_v6.dat --file-version 6 -B foo -e sched sh tiny.sh
