trace-cmd record -o marker_v6.dat --file-version 6 -e sched_switch sh -c for i in 1 2 3; do echo "marker line $i" > /sys/kernel/tracing/trace_marker; done
