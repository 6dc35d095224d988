#!/usr/bin/env bash
# where: 6.1 6.12 rt
# needs: root tracefs
# What only the guests offer: function tracers, kprobes, histograms, and the latency tracers on rt.
. "${SONDE_SRC:-.}/tests/lib.sh"
need root tracefs guest
cd $tracefs || exit

like "$(cat available_tracers)" '\bfunction_graph\b' "function_graph is offered"

echo vfs_open >set_ftrace_filter
echo function >current_tracer
cat /proc/version >/dev/null
echo 0 >tracing_on
like "$(cat trace)" 'vfs_open <-' "the function tracer records"
echo nop >current_tracer
echo >set_ftrace_filter
echo 1 >tracing_on

echo 'p:bed/opened vfs_open' >kprobe_events
ok $? "a kprobe is accepted"
echo >kprobe_events

echo 'hist:keys=next_pid' >events/sched/sched_switch/trigger
ok $? "a histogram is accepted"
sleep 0.1
like "$(cat events/sched/sched_switch/hist)" 'hitcount' "and counts"
echo '!hist:keys=next_pid' >events/sched/sched_switch/trigger

if ! needs_or_skip "latency tracers" guest:rt; then
	for t in wakeup_rt wakeup timerlat osnoise hwlat; do
		like "$(cat available_tracers)" "\\b$t\\b" "tracer $t is offered"
	done
fi
if ! needs_or_skip "fprobe events" guest:6.12; then
	echo 'f:bed/fp vfs_read' >dynamic_events
	ok $? "fprobe events"
	echo >dynamic_events
fi
done_testing
