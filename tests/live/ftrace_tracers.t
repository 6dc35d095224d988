#!/usr/bin/env bash
# where: 6.1 rt
# needs: root tracefs
# timeout: 200
# smp: 1
# Histograms and times between events, made by the kernel; the latency tracers of the rt kernel.
. "${SONDE_SRC:-.}/tests/lib.sh"
. "$SONDE_SRC/tests/ftrace_lib.sh"
need sonde root tracefs guest
cd "$SONDE_TMP" || exit 1
f() { "$SONDE" ftrace "$@"; }
t=$tracefs
tracing_settle
tracing_state >before

if ! needs_or_skip "histograms" hist; then
	exits 0 "a histogram" f hist -k common_pid.execname -s hitcount.descending sched:sched_switch sleep 0.5
	like "$out" '^# trigger info: hist:keys=common_pid.execname:vals=hitcount:sort=hitcount.descending' "as the kernel prints it"
	like "$out" 'Hits: [1-9]' "and something was counted"
	exits 1 "a field that is not there" f hist -k nosuch sched:sched_switch true
	like "$err" 'the kernel says' "the kernel's message"
	exits 0 "time from waking to running" f hist --latency sched:sched_waking,sched:sched_switch --by pid=next_pid sleep 0.5
	like "$out" 'usecs: ~ 2\^[0-9]+' "in powers of two"
	is "$(cat $t/synthetic_events)" "" "the synthetic event is gone"
	exits 0 "a histogram as a trigger" f start -e sched:sched_switch -R 'hist:keys=next_pid'
	like "$(f show --hist sched_switch)" 'hitcount:' "show --hist"
	exits 0 "is taken away" f reset --force
	like "$(cat $t/events/sched/sched_switch/trigger)" '^# Available' "by reset"
fi

if ! needs_or_skip "latency tracers" guest:rt; then
	tracers=$(f list -t)
	for name in timerlat osnoise hwlat blk mmiotrace function_graph wakeup_dl wakeup_rt wakeup function nop; do
		like "$tracers" "(^| )$name( |\$)" "S2-166 S4-317: tracer $name"
	done
	for tracer in wakeup wakeup_rt; do
		id=$([ $tracer = wakeup ] && echo S0-080 || echo S0-079)
		exits 0 "$id: record -p $tracer" f record -q -o $tracer.dat -p $tracer -- chrt -f 5 sh -c 'sleep 0.2; sleep 0.2'
		like "$(f report $tracer.dat)" "^# $tracer latency trace" "$id: the file holds its text"
		like "$(f report $tracer.dat)" "latency: [0-9]+ us" "$id: with the longest time"
		is "$(cat $t/options/function-trace)" 1 "$id: functions in between were off, and are as before"
	done
	exits 0 "S2-146: start -p wakeup_rt" f start -p wakeup_rt -d
	chrt -f 5 sleep 0.2
	like "$(f show --max_latency)" '^[1-9][0-9]*$' "S2-146: tracing_max_latency"
	f reset --force
	exits 0 "S2-167: start -p wakeup_dl" f start -p wakeup_dl -d
	is "$(cat $t/current_tracer)" wakeup_dl "S2-167: is on"
	f reset --force
	for tracer in timerlat osnoise hwlat; do
		exits 0 "record -p $tracer" f record -q -o $tracer.dat -p $tracer -- sleep 2.5
		like "$(f report $tracer.dat)" ": $tracer|#[0-9]+ +context|noise" "$tracer: something was recorded"
	done
fi
tracing_state >after
is "$(diff before after | head -20)" "" "tracefs is as it was before"
done_testing
