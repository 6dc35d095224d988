#!/usr/bin/env bash
# where: rt
# needs: root tracefs
# timeout: 300
# smp: 1
# The latency tracers of the rt kernel, and rows of the acceptance matrix about them.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root tracefs guest:rt
cd "$SONDE_TMP" || exit 1
f() { timeout 60 "$SONDE" ftrace "$@"; }
t=$tracefs
tracers=$(f list -t)
for name in timerlat osnoise hwlat blk mmiotrace function_graph wakeup_dl wakeup_rt wakeup function nop; do
	like "$tracers" "(^| )$name( |\$)" "S2-166 S4-317: tracer $name"
done
for tracer in wakeup wakeup_rt; do
	id=$([ $tracer = wakeup ] && echo S0-080 || echo S0-079)
	exits 0 "$id: record -p $tracer" f record -q -o $tracer.dat -p $tracer -- chrt -f 5 sh -c 'sleep 0.2; sleep 0.2'
	report=$(f report $tracer.dat)
	like "$report" "^# $tracer latency trace" "$id: the file holds its text"
	like "$report" "latency: [0-9]+ us" "$id: with the longest time"
	is "$(cat $t/options/function-trace)" 1 "$id: functions in between were off, and are as before"
done
exits 0 "S2-146: start -p wakeup_rt" f start -p wakeup_rt -d
chrt -f 5 sleep 0.2
like "$(f show --max_latency)" '^[1-9][0-9]*$' "S2-146: tracing_max_latency"
exits 0 "S2-146: reset" f reset --force
exits 0 "S2-167: start -p wakeup_dl" f start -p wakeup_dl -d
is "$(cat $t/current_tracer)" wakeup_dl "S2-167: is on"
exits 0 "S2-167: reset" f reset --force
for tracer in timerlat osnoise hwlat; do
	exits 0 "record -p $tracer" f record -q -o $tracer.dat -p $tracer -- sleep 2.5
	[ "$(f report $tracer.dat | wc -l)" -gt 1 ]
	ok $? "$tracer: something was recorded"
done
done_testing
