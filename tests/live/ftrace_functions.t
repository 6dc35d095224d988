#!/usr/bin/env bash
# where: 6.1 6.12
# needs: root tracefs
# timeout: 300
# smp: 1
# `ftrace record` with the function tracers and what only guests have: names checked, the lock of the top-level buffer, the
# kernel's own error messages; tracefs afterwards as before.
. "${SONDE_SRC:-.}/tests/lib.sh"
. "$SONDE_SRC/tests/ftrace_lib.sh"
need sonde root tracefs guest tracer:function_graph
cd "$SONDE_TMP" || exit 1
rec() { "$SONDE" ftrace record -o t.dat "$@"; }
rep() { "$SONDE" ftrace report t.dat 2>&1; }
tracing_settle
tracing_state >before

exits 0 "functions of a command" rec -p function -l vfs_open -l 'vfs_stat*' -F cat /proc/version
like "$(rep)" ': function: +vfs_open' "the one that was named"
unlike "$(rep | grep ': function:' | grep -v 'vfs_open\|vfs_stat')" . "and no other"
exits 1 "a function that is not there" rec -p function -l vfs_opne true
like "$err" 'did you mean vfs_open' "is an error: it would be all functions"
exits 0 "-e function:" rec -e function:vfs_open -e sched:sched_process_exec true
like "$(rep)" ': function: +vfs_open' "functions and events together"
exits 0 "not these functions" rec -p function -l 'vfs_o*' -n vfs_open -F cat /proc/version
is "$(rep | grep -c 'vfs_open')" 0 "-n"
exits 0 "a graph" rec -e graph:vfs_open --max-graph-depth 2 -F cat /proc/version
like "$(rep)" 'funcgraph_entry: .*\| +vfs_open\(\) \{' "begins with the function"
like "$(rep)" 'funcgraph_exit: ' "and has its end"
exits 0 "-p function_graph -g -O" rec -p function_graph -g vfs_read -O nofuncgraph-irqs -F cat /proc/version
like "$(rep)" 'vfs_read\(\)' "the same as trace-cmd has it"
exits 1 "the tracer that is not there" rec -p functoin true
like "$err" 'did you mean function' "names one that is"
# While the graph tracer is ours, the second is refused and told by whom.
mkfifo over
"$SONDE" ftrace record -q -o g.dat -e graph:vfs_open -- sh -c 'read x <over' &
wait_until test -e g.dat.parts/plan
exits 1 "a second run" rec -e graph:vfs_open true
like "$err" "in use by process $! " "is refused, with the holder's name"
exits 0 "status" "$SONDE" ftrace status
like "$out" 'top-level buffer is locked by process' "says so too"
echo now >over
wait
# Commands have no task of their own: they are set last, after the folders that the recorder makes.
exits 0 "a counted command" rec -p function -l 'do_sys_openat2' -l 'vfs_mkdir:traceoff:1' -F sh -c 'cat /proc/version; mkdir counted; cat /proc/version'
n=$("$SONDE" ftrace report t.dat | grep -c ': function:')
[ "$n" -ge 1 ] # of the shell alone: -F is without its children
ok $? "is not used up before the command runs ($n calls)"
exits 1 "a command among the functions to be left out" rec -p function -l vfs_open -n vfs_mkdir:traceoff true
like "$err" "use -l for actions" "says where it belongs"
exits 0 "a function trigger" rec -p function -l vfs_open -l 'vfs_statx:stacktrace:1' -F cat /proc/version
exits 1 "a hist trigger with a mistake" rec -e sched:sched_switch -R 'hist:keys=nosuch' true
like "$err" 'the kernel reports: .*' "the kernel's own message"
like "$err" '\^' "with its caret"

tracing_state >after
is "$(diff before after | head -20)" "" "tracefs is as it was before"
done_testing
