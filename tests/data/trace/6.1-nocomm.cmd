trace-cmd record -o nocomm.dat -e raw_syscalls -e signal -e task -e sched_process_exec sh -c true; kill -0 $$; cat /proc/uptime
