#!/usr/bin/env bash
# where: host 6.1
# needs: root tracefs
# timeout: 500
# smp: 1
# `perf ftrace trace|latency|profile`, called as perf, and `sonde ftrace latency`.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root tracefs python3
cd "$SONDE_TMP" || exit 1
export TMPDIR=$SONDE_TMP/none # nothing is written on the way
mkdir bin && ln -s "$SONDE" bin/perf
ours() { timeout 100 bin/perf ftrace "$@"; }

# ---- mistakes
exits 129 "latency of nothing" ours latency -a true
like "$err" "-T FUNCTION or -e EVENT,EVENT" "says what is missing"
exits 129 "one event" ours latency -e sched:sched_switch true
like "$err" "expected two events" "is too few"
exits 129 "a tracer that is none of these" ours -t blk true
exits 129 "nothing to trace?" ours trace
exits 129 "a word that --graph-opts does not know" ours --graph-opts depth=2,foo true
like "$err" "unknown keyword 'foo'" "is named"
exits 129 "a key that profile does not know" ours profile -s bogus true
exits 255 "an event that is not there" ours latency -e no_such:event,sched:sched_switch -a true
exits 127 "a command that is not there" "$SONDE" ftrace latency -e sched:sched_waking,sched:sched_switch ./none

# ---- between two events
exits 0 "from waking to running" ours latency -e sched:sched_waking,sched:sched_switch --by pid=next_pid -a -- sh -c 'for i in 1 2 3 4 5; do sleep 0.02; done'
is "$(head -1 <<<"$out")" "#   DURATION     |      COUNT | GRAPH                                          |" "perf's head"
like "$out" '^     0 - 1    us \| +[0-9]+ \| #* +\|$' "rows from below a microsecond"
like "$out" '^     1 - \.\.\.   s \| +[0-9]+ \| #* +\|$' "to a second and more"
is "$(wc -l <<<"$out")" 23 "all of them"
rows=$(sed -E 's/\| +[0-9]+ \| #* +\|$/|/' <<<"$out")
exits 0 "--json" "$SONDE" ftrace latency --json -n -e raw_syscalls:sys_enter,raw_syscalls:sys_exit sleep 0.1
python3 -c '
import json, sys
d = json.loads(sys.argv[1])
assert d["unit"] == "ns" and d["count"] == sum(b["count"] for b in d["buckets"]) > 10, d
assert d["min_ns"] <= d["total_ns"] / d["count"] <= d["max_ns"] >= 90000000, d' "$out"
ok $? "adds up, and the sleep is the longest"

exits 0 "hist --latency, also where the kernel makes no histograms" "$SONDE" ftrace hist --latency raw_syscalls:sys_enter,raw_syscalls:sys_exit sleep 0.1
like "$out" '# event histogram|^#   DURATION' "the kernel's, or one of a recording"

if ! grep -qw function_graph $tracefs/available_tracers; then
	exits 255 "no function_graph" ours latency -T vfs_read true
	like "$err" "this kernel has no tracer 'function_graph'" "is said"
	done_testing
	exit
fi
# ---- functions
exits 3 "trace -T, and the command's status" ours -T vfs_read -T vfs_open -- sh -c 'read -r x </proc/self/comm; exit 3'
like "$out" '^# tracer: function$' "the kernel's own head"
like "$out" 'sh-[0-9]+ +\[000\] .*: vfs_read <-' "and lines"
is "$(grep -v '^#' <<<"$out" | grep -c -v -E ': vfs_(read|open) <-')" 0 "of these functions only"
exits 0 "trace -G" ours trace -G vfs_read --graph-opts depth=2 cat /proc/self/comm
like "$out" '^# tracer: function_graph$' "a graph"
like "$out" '\|  vfs_read\(\) \{' "of that function"
is "$(cat $tracefs/current_tracer $tracefs/max_graph_depth $tracefs/tracing_on | xargs)" "nop 0 1" "everything is as before"
exits 0 "latency -T" ours latency -T vfs_read cat /proc/self/comm
is "$(grep -v comm <<<"$out" | sed -E 's/\| +[0-9]+ \| #* +\|$/|/')" "cat
$rows" "the same rows as between events"
exits 0 "profile" ours profile -G vfs_read cat /proc/self/comm
like "$out" '^# Total \(us\)   Avg \(us\)   Max \(us\)      Count   Function$' "perf's head"
like "$out" '^ +[0-9]+\.[0-9]{3} +[0-9]+\.[0-9]{3} +[0-9]+\.[0-9]{3} +[1-9][0-9]*   vfs_read$' "and rows"
is "$(cat $tracefs/current_tracer $tracefs/tracing_on | xargs)" "nop 1" "everything is as before"
done_testing
