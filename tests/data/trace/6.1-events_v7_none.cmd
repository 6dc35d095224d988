trace-cmd record -o events_v7_none.dat --compression none -e sched -e irq sh tiny.sh
