trace-cmd record -o events_v6.dat --file-version 6 -e sched -e irq sh tiny.sh
