trace-cmd record -o systems.dat -e syscalls -e block -e timer -e kmem true
