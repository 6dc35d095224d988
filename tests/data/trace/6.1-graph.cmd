trace-cmd record -o graph.dat -p function_graph -g vfs_read cat /proc/uptime
