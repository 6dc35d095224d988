trace-cmd record -o graph_events.dat -p function_graph -g vfs_read -e irq -e sched --max-graph-depth 4 cat /proc/uptime
