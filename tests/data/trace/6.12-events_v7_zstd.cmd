trace-cmd record -o events_v7_zstd.dat -e sched -e irq sh load.sh
