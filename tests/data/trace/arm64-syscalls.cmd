trace-cmd record -o syscalls.dat -e raw_syscalls -e syscalls:sys_enter_read cat /proc/uptime
