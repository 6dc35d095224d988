trace-cmd record -o timerlat.dat -p timerlat sleep 1
