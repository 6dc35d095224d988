trace-cmd record -o kprobes.dat -e kprobes cat /proc/uptime
