trace-cmd record -o graph_depth3.dat -p function_graph -g vfs_read --max-graph-depth 3 cat /proc/uptime
