trace-cmd record -o pid_F.dat -F -e sched -e syscalls:sys_enter_read cat /proc/uptime
