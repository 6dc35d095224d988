trace-cmd record -o lost.dat -b 16 -e kmem -e sched sh lost.sh
