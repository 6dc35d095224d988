#!/usr/bin/env bash
# where: host 6.12
# needs: root tracefs
# timeout: 300
# `ftrace record --with-samples`: two files of one run by one clock, merged by time; unlike clocks are refused.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root tracefs perf_events python3
cd "$SONDE_TMP" || exit 1
f() { "$SONDE" ftrace "$@"; }
calls=$([ "$SONDE_GUEST" = host ] && echo 100000 || echo 60000)

for clock in mono mono_raw; do
	exits 0 "$clock: events and samples" f record -o t.dat -C $clock --with-samples -b 32M -F -e raw_syscalls:sys_enter -f 'id == 110' -- "$SONDE" workload syscalls "$calls"
	like "$err" 'samples: t.dat.perf' "$clock: tells where they are"
	f report --json --samples t.dat.perf t.dat >both.json
	is $? 0 "$clock: the report of both"
	python3 - both.json "$calls" <<'END'
import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
times = [r["time_ns"] for r in rows]
events = [r for r in rows if "event" in r]
samples = [r for r in rows if "sample" in r]
assert times == sorted(times), "not in order"
assert len(events) == int(sys.argv[2]), len(events)
assert samples and len(events) + len(samples) == len(rows)
# One clock: the command was sampled while it made its calls.
inside = [s for s in samples if events[0]["time_ns"] < s["time_ns"] < events[-1]["time_ns"]]
assert inside, (len(samples), samples[0], events[0]["time_ns"], events[-1]["time_ns"])
assert {s["pid"] for s in inside} == {events[0]["pid"]}, "of another task"
assert all(s["symbol"] and s["object"] for s in samples)
END
	ok $? "$clock: every event, the samples between them, of one task"
	n=$(grep -c '"sample"' both.json)
	is "$(f report --samples t.dat.perf t.dat | grep -Ec '^ +[^ ]+-[0-9]+ +\[[0-9]{3}\] +[0-9]+\.[0-9]{6}: c[a-z-]+:[^ ]* +[^ ]+ \(.*\)$')" "$n" "$clock: as lines"
	is "$("$SONDE" script -F time t.dat.perf | grep -c .)" "$n" "$clock: as many as script shows"
	cp t.dat.perf $clock.perf
done
# Who records: one process, with watchdogs that it forks and that look like it, and the command.
"$SONDE" ftrace record -q -o w.dat --with-samples -F -e raw_syscalls:sys_enter -f 'id == 110' -- "$SONDE" workload syscalls 1000000000 &
pid=$!
sampled() { "$SONDE" script -F comm w.dat.perf 2>/dev/null | grep -q sonde; }
wait_until sampled
children() { for p in $(cat /proc/$pid/task/*/children); do tr '\0' ' ' <"/proc/$p/cmdline" && echo; done; }
like "$(children)" '^[^ ]+ workload syscalls' "the command runs"
is "$(children | grep -Ev '^[^ ]+ (ftrace record -q -o w.dat|workload syscalls) ')" "" "no second recorder"
kill -INT $pid
wait $pid
is $? 130 "Ctrl-C ends it"
like "$(f report w.dat 2>/dev/null | tail -1)" 'sys_enter' "and the trace is saved, too"
echo '#!/none' >none && chmod +x none
exits 127 "a command that cannot be run" f record -q -o n.dat --with-samples -F -e raw_syscalls:sys_enter ./none
[ ! -e n.dat.perf ] && [ ! -e n.dat ]
ok $? "leaves no samples of nothing"
exits 0 "another clock" f record -q -o local.dat -e sched:sched_process_exit true
exits 1 "samples of another clock" f report --samples mono.perf local.dat
like "$err" "uses the clock 'mono', 'local.dat' uses 'local'" "are refused, and it says which"
exits 1 "one of the two that fit" f report --samples mono.perf t.dat
like "$err" "'mono', 't.dat' uses 'mono_raw'" "is not the other"
exits 129 "-C local" f record -C local --with-samples -e sched true
like "$err" 'mono or -C mono_raw' "names those that can be used"
exits 129 "not with several files" f record --with-samples --switch-output 1M -e sched true
done_testing
