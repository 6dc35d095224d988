trace-cmd record -o function.dat -p function -l vfs_* sh load.sh
