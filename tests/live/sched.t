#!/usr/bin/env bash
# where: host 6.1
# needs: root
# The verbs of sched over recordings of this kernel: against perf on the same file, and against sums over its events.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events
cd "$SONDE_TMP" || exit 1
ln -s "$SONDE" perf
try_cpu_with_idle_events

cp "$(command -v bash)" hog_one && cp hog_one hog_two
# Two that share a CPU: each has to wait for the other. They end when both have had their share of it.
cat >work.sh <<'END'
cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
taskset -cp "$cpu" $$ >/dev/null
for name in hog_one hog_two; do
	./$name -c 'for ((i = 0; i < 30000; i++)); do :; done' &
done
wait
sleep 0.05
END
exits 0 "S4-292: record" "$SONDE" sched record -q -o sched.data -- bash work.sh
events=$("$SONDE" evlist -i sched.data)
for name in switch waking migrate_task process_fork wakeup_new stat_runtime; do
	like "$events" "^sched:sched_$name\$" "records sched_$name"
done
unlike "$events" '^sched:sched_wakeup$' "and sched_wakeup only where there is no sched_waking"

exits 0 "S4-292: latency" "$SONDE" sched latency -i sched.data
like "$out" '^  hog_one:[0-9]+ +\| +[0-9]+\.[0-9]{3} ms \| +[0-9]+ \| avg: +[0-9.]+ ms \| max: +[0-9.]+ ms \| max start: +[0-9.]+ s \| max end: +[0-9.]+ s$' "a row has perf's columns"
like "$out" '^  TOTAL: +\| +[0-9]+\.[0-9]{3} ms \| +[0-9]+ \|$' "and there is a sum"
both=$("$SONDE" sched latency -p --json sched.data 2>/dev/null | python3 -c '
import json, sys
rows = {r["comm"]: r for r in json.load(sys.stdin)["tasks"]}
one, two = rows["hog_one"], rows["hog_two"]
# On one CPU one waits while the other runs.
print(one["delay_ns"] > two["runtime_ns"] * 0.2 or two["delay_ns"] > one["runtime_ns"] * 0.2)')
is "$both" True "two that share a CPU wait for each other"

exits 0 "S4-292: timehist" "$SONDE" sched timehist -i sched.data
like "$out" '^ +[0-9]+\.[0-9]{6} \[[0-9]{4}\]  hog_one\[[0-9]+\] +[0-9.]+ +[0-9.]+ +[0-9.]+ $' "a line for each run"
exits 0 "timehist, summary" "$SONDE" sched timehist -s -i sched.data
like "$out" '^ +hog_two\[[0-9]+\] +[0-9]+ +[0-9]+ +[0-9.]+ ' "a row for each thread"
terminated=${out#*Terminated tasks:}
like "$terminated" 'hog_one' "one that has ended is among those"
exits 0 "timehist, wake-ups, migrations, next and state" "$SONDE" sched timehist -wnM --state -i sched.data
like "$out" 'awakened: ' "wake-ups"
like "$out" ' [SDRXZ]  next: [^ ]+' "states and who came next"
tid=$(sed -n 's/.* hog_one\[\([0-9]*\)\].*/\1/p' <<<"$out" | head -1)
exits 0 "timehist, one thread" "$SONDE" sched timehist -t "$tid" -i sched.data
like "$out" "hog_one\\[$tid\\]" "its lines"
unlike "$out" 'hog_two' "and no others"
exits 0 "S4-292: map" "$SONDE" sched map -i sched.data
like "$out" '^  .*\*[A-Z][0-9] .* secs [A-Z][0-9] => hog_one:[0-9]+' "short names are explained"
exits 0 "S4-292: script" "$SONDE" sched script -i sched.data
like "$out" 'sched:sched_switch: prev_comm=hog_one' "the events themselves"

# Called as perf: options before the verb, verbs of three letters.
exits 0 "perf sched -i FILE lat" ./perf sched -i sched.data lat
like "$out" '^  hog_one:[0-9]+ ' "is latency"

# A trace.dat of the same kernel.
exits 0 "ftrace record" "$SONDE" ftrace record -q -e sched -o trace.dat -- bash work.sh
exits 0 "latency of a trace.dat" "$SONDE" sched latency -i trace.dat
like "$out" '^  hog_two:[0-9]+ +\|' "has the same rows"
exits 0 "timehist of a trace.dat" "$SONDE" sched timehist -i trace.dat
like "$out" 'hog_two\[[0-9]+\]' "and lines"

# Stacks where threads left the CPU.
exits 0 "record -g" "$SONDE" sched record -q -g -o stacks.data -- sleep 0.05
exits 0 "timehist with stacks" "$SONDE" sched timehist -i stacks.data
like "$out" 'sleep\[[0-9]+\] .*nanosleep' "where sleep sleeps"
unlike "$out" ' (__)?schedule <- ' "without the scheduler itself"

exits 0 "why" "$SONDE" sched why -t "$(sed -n 's/.* sleep\[\([0-9]*\)\].*/\1/p' <<<"$out" | head -1)" -i stacks.data
like "$out" '^ +[0-9.]+ % +[0-9.]+ ms  S [0-9]+x: .*nanosleep' "says where it was blocked"
like "$out" ' ms  woken by an interrupt, [0-9]+x' "and what woke it"
exits 0 "why of two that share a CPU" "$SONDE" sched why --threads 0 --rows 0 -i sched.data
one=$(awk '/^[^ ]/ { on = /^hog_one/ } on' <<<"$out")
like "$one" '^ +[0-9.]+ % +[0-9.]+ ms  hog_two\[[0-9]+\]$' "one was ready while the other ran"
sums=$("$SONDE" sched why --json -i sched.data 2>/dev/null | python3 -c '
import json, sys
bad = 0
threads = json.load(sys.stdin)
for t in threads:
    bad += t["running_ns"] + t["ready_ns"] + t["blocked_ns"] + t["unknown_ns"] != t["wall_ns"]
    bad += sum(r["ns"] for r in t["ready"]) != t["ready_ns"]
    bad += sum(r["ns"] for r in t["blocked"]) != t["blocked_ns"]
    bad += any(sum(w["ns"] for w in b["woken_by"]) != b["ns"] for b in t["blocked"])
print(len(threads) > 3, bad)')
is "$sums" "True 0" "every thread's times add up, to the nanosecond"

# Losses: rings of one page cannot hold what comes while the reader is stopped.
"$SONDE" sched record -q -m 1 -o lossy.data -- bash -c '
	kill -STOP $PPID
	for ((i = 0; i < 200; i++)); do /bin/true; done
	kill -CONT $PPID; sleep 0.1' 2>/dev/null
exits 0 "a lossy recording" "$SONDE" sched timehist -i lossy.data
like "$out" '^ +[0-9.]+ lost [0-9]+ events on cpu [0-9]+$' "gaps are lines"
like "$err" 'events were lost while recording' "and a warning"
exits 0 "latency of it" "$SONDE" sched latency -i lossy.data
like "$out" '^  INFO: [0-9.]+% lost events \([0-9]+ out of [0-9]+, in [0-9]+ chunks\)$' "says so below the table"

# Another reader's view of the same file.
if ! needs_or_skip "against perf" perf python3; then
	for verb in latency timehist map; do
		said=$(python3 "$SONDE_SRC/tests/live/sched_oracle.py" "$verb" "$SONDE" sched.data 2>&1)
		like "$said" '^[0-9]{2,} compared, 0 differ$' "$verb agrees with perf: $(tail -1 <<<"$said")"
		diag "$said"
	done
fi
done_testing
