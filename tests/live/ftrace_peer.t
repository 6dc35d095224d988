#!/usr/bin/env bash
# where: 6.1 6.12
# needs: root tracefs
# timeout: 300
# smp: 1
# The same deterministic command recorded by trace-cmd and by us: each reads the other's file, both print the same of it, and
# the number of events that is known beforehand is in both.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root tracefs guest trace-cmd tracer:function_graph
cd "$SONDE_TMP" || exit 1
nr=110 # getppid
call=__do_sys_getppid

# both NAME COUNT PATTERN OPTIONS... -- COMMAND...: recorded by each; COUNT lines of the report fit PATTERN.
both() {
	local name=$1 count=$2 pattern=$3 who
	shift 3
	exits 0 "$name: trace-cmd records" trace-cmd record -q -o theirs.dat "$@"
	exits 0 "$name: we record" "$SONDE" ftrace record -q -o ours.dat "$@"
	for who in theirs ours; do
		trace-cmd report -i $who.dat >$who.peer 2>peer.err
		"$SONDE" ftrace report -i $who.dat >$who.text 2>text.err
		is "$(grep -Ec -- "$pattern" $who.text)" "$count" "$name: $count events in $who"
		cmp $who.peer $who.text
		ok $? "$name: $who: both readers print the same" || diag "$(diff $who.peer $who.text | head -6; cat peer.err text.err)"
	done
}

both "an event" 1000 ': sys_enter: .*NR 110 ' -F -e raw_syscalls:sys_enter -f "id == $nr" -- "$SONDE" workload syscalls 1000
both "functions and events" 1000 ": function: +$call" -F -p function -l '__do_sys_getp*' -n __do_sys_getpgrp -e sched:sched_process_exit -- "$SONDE" workload syscalls 1000
is "$(grep ': function:' ours.text | grep -vc getp)" 0 "functions and events: no other function"
like "$(cat ours.text)" ': sched_process_exit: ' "functions and events: the event too"
both "a graph" 300 "funcgraph_entry: .* $call\(\)" -F -p function_graph -g $call -- "$SONDE" workload syscalls 300

# A process that was there before, among others that make the same calls.
for who in theirs ours; do
	rm -f begin end
	mkfifo begin end
	sh -c 'read x <begin; exec "$SONDE" workload syscalls 700' &
	pid=$!
	case $who in theirs) set -- trace-cmd record ;; ours) set -- "$SONDE" ftrace record ;; esac
	exits 0 "-P: $who" "$@" -q -o $who.dat -P $pid -p function -l $call -- sh -c "\"\$SONDE\" workload syscalls 200; echo now >begin; while [ -d /proc/$pid/fd ] && [ -e /proc/$pid/exe ]; do sleep 0.1; done"
	kill $pid 2>/dev/null
	wait $pid 2>/dev/null
	is "$(trace-cmd report -i $who.dat 2>/dev/null | grep -c ": function: *$call")" 700 "-P: 700 calls of one process in $who, by trace-cmd"
	is "$("$SONDE" ftrace report -i $who.dat | grep -c -- "-$pid .*: function: *$call")" 700 "-P: and by us"
done
done_testing
