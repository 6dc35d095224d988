#!/usr/bin/env bash
# timeout: 300
# Filters, merging, times and questions of `ftrace report` against trace-cmd 3.1.6 on the same files, by the byte.
# Left out, because trace-cmd is wrong there: --uname (prints the version too), --events of version 7 (prints nothing),
# --align-ts with instances (each buffer is shifted by another time), where packed data lie (it tells its temporary file's place).
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde

data=$SONDE_SRC/tests/data/trace
cd "$data" || exit 1
as_trace_cmd() {
	trace-cmd report "$@" 2>/dev/null | awk -f "$data/corrections.awk" | sed '/data recorded at offset/s/=.*//' >"$SONDE_TMP/want"
	"$SONDE" ftrace report "$@" 2>"$SONDE_TMP/err" | sed '/data recorded at offset/s/=.*//' >"$SONDE_TMP/got"
	cmp -s "$SONDE_TMP/want" "$SONDE_TMP/got"
	ok $? "$* ($(wc -l <"$SONDE_TMP/want") lines)" || diag "$(diff "$SONDE_TMP/want" "$SONDE_TMP/got" | head -6)"
}
if trace-cmd --help 2>&1 | grep -q 'version 3.1.6'; then
	for f in 6.1-events_v6.dat 6.12-events_v7_zstd.dat 6.1-graph_events.dat arm64-events_v7_zstd.dat; do
		for o in -e --cpus --first-event --last-event --stat --version --check-events -E -f -P --ts-diff "--ts-diff -t" --align-ts \
			--raw-ts --nodate -q -I -S "--first-event -t" "-r sched" "-n sched"; do
			# shellcheck disable=SC2086 # options are words
			as_trace_cmd $o -i $f
		done
		as_trace_cmd -F 'sched/sched_switch: next_pid==0 || COMM == "sh"' -i $f
		as_trace_cmd -v -F sched -i $f
		as_trace_cmd -F '.*: CPU == 0 && common_pid != 0' -i $f
		as_trace_cmd -F 'sched_switch: prev_comm =~ "tr.*" && next_prio > 100' -i $f
		as_trace_cmd -F 'softirq.*: vec & 1' -F sched_wakeup -i $f
	done
	for f in 6.1-function.dat 6.1-graph.dat 6.12-graph_depth3.dat 6.1-graph_events.dat; do
		for o in "-O parent" "-O indent=0" "-O offset" "-O parent -O offset" "-O ftrace:parent=0" "-O fgraph:tailprint" "-O depth" \
			"-O tailprint -O depth=1" -L "-O nosuch"; do
			# shellcheck disable=SC2086 # options are words
			as_trace_cmd $o -i $f
		done
	done
	for f in *.dat; do as_trace_cmd -w -i "$f"; done
	as_trace_cmd -w --cpu 0 -i 6.1-events_v6.dat
	as_trace_cmd -w -t -F sched -i 6.12-events_v7_zstd.dat
	is "$("$SONDE" ftrace options)" "$(trace-cmd options)" "ftrace options"
	as_trace_cmd --events -i 6.1-events_v6.dat
	as_trace_cmd --event sched_sw -i 6.1-events_v6.dat
	as_trace_cmd --stat -i 6.1-instance_and_top.dat
	as_trace_cmd --nodate -i 6.1-date.dat
	as_trace_cmd -F 'function: ip == "vfs_read"' -i 6.1-function.dat
	as_trace_cmd -i 6.1-events_v6.dat -i 6.1-graph.dat
	as_trace_cmd -i 6.1-events_v6.dat -i 6.1-instance_and_top.dat
else
	skip "trace-cmd 3.1.6 is not installed" "filters, merging, times and questions"
fi

# Where trace-cmd is silent or wrong.
f=6.1-events_v6.dat
exits 0 "a filter behind the file" "$SONDE" ftrace report -i $f -F sched_switch
is "$(grep -c -v 'sched_switch:' <<<"$out")" 1 "holds too: nothing but switches and the first line"
exits 0 "--uname" "$SONDE" ftrace report --uname $f
is "$(wc -l <<<"$out")" 2 "--uname tells the kernel only"
exits 0 "--events of version 7" "$SONDE" ftrace report --events 6.12-events_v7_zstd.dat
like "$out" "field:char prev_comm" "shows the fields"
exits 1 "an event that is not there" "$SONDE" ftrace report -F 'sched/sched_bogus: next_pid==0' $f
like "$err" "no such event" "says so"
exits 1 "a field that no event has" "$SONDE" ftrace report -F 'sched_switch: nextpid == 0' $f
like "$err" "did you mean 'next_pid'" "and what was meant"
exits 0 "a field that some of them have" "$SONDE" ftrace report -F 'sched: next_pid == 0' $f
exits 1 "half an expression" "$SONDE" ftrace report -F 'sched_switch: next_pid ==' $f
exits 1 "no expression" "$SONDE" ftrace report -F 'sched_switch:' $f
exits 1 "no name" "$SONDE" ftrace report -F ': next_pid == 0' $f
exits 0 "-T" "$SONDE" ftrace report -T -F 'sched: next_pid == 0' $f
like "$out" "sched/sched_switch:  next_pid == 0" "shows what is asked of whom"
like "$out" "sched_waking.*has no next_pid" "and who cannot answer"
exits 0 "unlike clocks" "$SONDE" ftrace report -i $f -i 6.1-clock_counter.dat
like "$err" "their order is unreliable" "are said"
# trace-cmd documents both, shifts nothing, and shows ticks where it promises seconds.
times() { awk '/\[[0-9]+\]/ { sub(/:$/, "", $3); print $3; exit }' <<<"$1"; }
exits 0 "a file shifted" "$SONDE" ftrace report -t -i $f --ts-offset 1000000000
is "$(times "$out")" "7.876300561" "by a second"
exits 0 "a file shifted back among two" "$SONDE" ftrace report -i $f --ts-offset -1000000 -i 6.1-graph.dat
is "$(awk '/events_v6.*\[[0-9]+\]/ { print $4; exit }' <<<"$out")" "6.875301:" "by a millisecond, and only that one"
exits 0 "a counter at 1 MHz" "$SONDE" ftrace report -t --ts2secs 1000000 6.1-clock_counter.dat
is "$(times "$out")" "0.000003000" "in seconds"
exits 0 "--align-ts with instances" "$SONDE" ftrace report --align-ts 6.1-instance_and_top.dat
is "$(sed -n 2p <<<"$out" | awk '{ print $4 }')" "0.000000:" "the first event of all is at zero"
for o in --stat -E --events --cpus "-e --uname --version" -f -P --check-events; do
	# shellcheck disable=SC2086
	"$SONDE" ftrace report --json $o $f | python3 -c 'import json,sys; assert json.load(sys.stdin)["cpus"] == 2'
	ok $? "--json $o parses"
done
exits 129 "-O with a value that is none" "$SONDE" ftrace report -O parent=maybe $f
like "$err" "expected 0 or 1" "says so"
exits 0 "-O of a name nearly right" "$SONDE" ftrace report -O tailprin $f
like "$err" "did you mean 'tailprint'" "says what was meant, and goes on"
"$SONDE" ftrace options --json | python3 -c 'import json,sys; assert [o["option"] for o in json.load(sys.stdin) if o["set"]] == ["indent"]'
ok $? "options --json"
# One worker or many.
"$SONDE" ftrace report --threads 1 -w 6.12-events_v7_zstd.dat >"$SONDE_TMP/one"
"$SONDE" ftrace report --threads 7 -w 6.12-events_v7_zstd.dat >"$SONDE_TMP/many"
cmp "$SONDE_TMP/one" "$SONDE_TMP/many" >&2
ok $? "nor do wake-up latencies"
"$SONDE" ftrace report --threads 1 --ts-diff 6.1-graph_events.dat >"$SONDE_TMP/one"
"$SONDE" ftrace report --threads 7 --ts-diff 6.1-graph_events.dat >"$SONDE_TMP/many"
cmp "$SONDE_TMP/one" "$SONDE_TMP/many" >&2
ok $? "differences of times do not depend on workers"
# What trace-cmd does over a network: not here, and what to do instead.
for verb in listen agent setup-guest attach; do
	exits 129 "ftrace $verb" "$SONDE" ftrace $verb -p 12
	like "$err" "unknown command '$verb'" "is said"
	like "$err" "hint: .*(copy the file|report -i HOST.dat)" "and what helps"
done
exits 129 "record -N" "$SONDE" ftrace record -N host:1 -e sched true
like "$err" "record there and copy the file" "likewise"
exits 129 "-H without --profile" "$SONDE" ftrace record -H a,b/c,d true
like "$err" "need --profile" "is nothing"
done_testing
