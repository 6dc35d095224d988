trace-cmd record -o wakeup.dat -p wakeup sh -c sh load.sh
