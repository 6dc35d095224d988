#!/usr/bin/env bash
# where: host 6.12
# needs: root tracefs
# timeout: 600
# The top-level trace_marker and tracing_on while `ftrace record` traces in an instance of its own.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root tracefs
cd "$SONDE_TMP" || exit 1
was=$(cat $tracefs/tracing_on)
trap 'echo $was >$tracefs/tracing_on; rm -rf "$SONDE_TMP"' EXIT
echo 1 >$tracefs/tracing_on
export tracefs
rec() { "$SONDE" ftrace record -o t.dat "$@"; }
rep() { "$SONDE" ftrace report t.dat 2>&1; }
# A condition: the run of this process traces.
tracing() { [ "$(cat "$tracefs"/instances/sonde-"$1"-*/tracing_on 2>/dev/null)" = 1 ]; }

# Markers.
mark='echo first >$tracefs/trace_marker; echo second >$tracefs/trace_marker'
exits 0 "markers during a recording" rec -e sched:sched_process_exit sh -c "$mark"
if [ -e $tracefs/options/copy_trace_marker ]; then
	is "$(rep | grep -oE 'print:.*: (first|second)$' | grep -oE '[a-z]+$' | tr '\n' ' ')" "first second " "are in the file"
	unlike "$err" 'trace_marker' "and there is nothing to warn of"
	exits 0 "the user may not want them" rec -O nocopy_trace_marker -e sched:sched_process_exit sh -c "$mark"
	like "$(rep)" ' sched_process_exit: +comm=sh ' "-O nocopy_trace_marker: the events are there"
	unlike "$(rep)" 'first' "-O nocopy_trace_marker leaves them out"
	exits 0 "stream" "$SONDE" ftrace stream -e sched:sched_process_exit sh -c "$mark"
	like "$out" ': second$' "prints them"
else
	like "$err" 'warning: [2-9] entries written to the top-level trace_marker .*not recorded' "are missing, and that is reported"
	like "$err" 'hint: use --top ' "with what helps"
	exits 0 "no markers" rec -e sched:sched_process_exit true
	unlike "$err" 'trace_marker' "no warning"
fi
exits 0 "in the top-level buffer itself" rec --top -e sched:sched_process_exit sh -c "$mark"
like "$(rep)" ': second$' "markers are always there"
unlike "$err" 'not recorded' "and nothing is missing"

# tracing_on: without a command it ends the recording.
"$SONDE" ftrace record -o stop.dat -e sched 2>stop.err &
pid=$!
wait_until tracing $pid
echo 0 >$tracefs/tracing_on
wait_until test ! -e /proc/$pid/fd
wait $pid
is $? 0 "echo 0 > tracing_on ends a recording"
like "$(cat stop.err)" 'tracing_on was set to 0: recording ended' "and it says why"
"$SONDE" ftrace report stop.dat >/dev/null
ok $? "its file is whole"
echo 1 >$tracefs/tracing_on

# With a command tracing stops, goes on when it is switched on again, and the command is waited for.
cat >toggle.sh <<'END'
state() { cat "$tracefs"/instances/sonde-"$PPID"-*/tracing_on; }
until_is() { for _ in $(seq 1200); do [ "$(state)" = "$1" ] && return; sleep 0.1; done; }
wait_for() { until_is "$1" || exit 9; }
"$SONDE" workload syscalls 100
echo 0 >$tracefs/tracing_on
wait_for 0
"$SONDE" workload syscalls 1000
echo 1 >$tracefs/tracing_on
wait_for 1
"$SONDE" workload syscalls 10
exit 4
END
exits 4 "a command that switches tracing off and on" rec -F -c -e raw_syscalls:sys_enter -f 'id == 110' bash toggle.sh
n=$(rep | grep -c ': sys_enter:')
# The shells make such calls too, a few each.
[ "$n" -ge 110 ] && [ "$n" -lt 400 ]
ok $? "is recorded while it is on ($n)"
like "$err" 'nothing was recorded while the top-level tracing_on was 0' "and that is reported"

# Off from the beginning: it is not this run that was meant.
echo 0 >$tracefs/tracing_on
exits 0 "tracing_on was 0 before" rec -F -e raw_syscalls:sys_enter -f 'id == 110' "$SONDE" workload syscalls 100
[ "$(rep | grep -c ': sys_enter:')" -ge 100 ]
ok $? "is recorded all the same"
is "$(cat $tracefs/tracing_on)" 0 "and the switch is as it was"
echo 1 >$tracefs/tracing_on

# Another run that has the top-level buffer switches it for itself.
"$SONDE" ftrace record -o stop.dat -e sched:sched_process_exit 2>stop.err &
pid=$!
wait_until tracing $pid
exits 0 "another run in the top-level buffer" rec --top -e sched:sched_process_exit sleep 0.5
kill -INT $pid
wait $pid
is $? 130 "does not end ours"
done_testing
