#!/usr/bin/env bash
# `sonde sched`: what it says of a known trace, and of what it cannot read.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde
cd "$SONDE_TMP" || exit 1
data=$SONDE_SRC/tests/data/trace

exits 0 "latency" "$SONDE" sched latency -i "$data/6.1-events_v6.dat"
is "$out" "
 -------------------------------------------------------------------------------------------------------------------------------------------
  Task                  |   Runtime ms  | Switches | Avg delay ms    | Max delay ms    | Max delay start           | Max delay end          |
 -------------------------------------------------------------------------------------------------------------------------------------------
  kcompactd0:33         |      0.100 ms |        1 | avg:   0.101 ms | max:   0.101 ms | max start:     6.896267 s | max end:     6.896368 s
  rcu_preempt:15        |      0.827 ms |       13 | avg:   0.082 ms | max:   0.283 ms | max start:     6.888441 s | max end:     6.888724 s
  sh:143                |     35.742 ms |       20 | avg:   0.068 ms | max:   0.112 ms | max start:     6.909828 s | max end:     6.909939 s
  trace-cmd:140         |      0.000 ms |        1 | avg:   0.058 ms | max:   0.058 ms | max start:     6.963394 s | max end:     6.963452 s
  kworker/0:2:51        |      4.392 ms |       93 | avg:   0.023 ms | max:   0.110 ms | max start:     6.877234 s | max end:     6.877343 s
  cat:144               |     40.959 ms |       74 | avg:   0.018 ms | max:   0.055 ms | max start:     6.910706 s | max end:     6.910762 s
 -----------------------------------------------------------------------------------------------------------------
  TOTAL:                |     82.020 ms |      202 |
 ---------------------------------------------------" "its table"
exits 0 "another order" "$SONDE" sched latency -s runtime "$data/6.1-events_v6.dat"
is "$(awk '/ms \|/ && !/TOTAL/ && !/Task/ { print $1 }' <<<"$out" | head -2 | paste -sd' ')" "cat:144 sh:143" "by run time"
exits 0 "only one CPU" "$SONDE" sched latency -C 77 "$data/6.1-events_v6.dat"
like "$out" 'TOTAL: +\| +0\.000 ms \| +0 \|' "that has no switches"

exits 0 "timehist" "$SONDE" sched timehist --state -i "$data/6.1-events_v6.dat" --time 6.8963,6.8965
is "$(sed -n 1,3p <<<"$out")" "           time    cpu  task name                       wait time  sch delay   run time  state
                        [tid/pid]                          (msec)     (msec)     (msec)       
--------------- ------  ------------------------------  ---------  ---------  ---------  -----" "its head"
like "$out" '^ +6\.8964[0-9]{2} \[0001\]  kcompactd0\[33\] +0\.000 +0\.100 +[0-9.]+ +S $' "a line of its range"
unlike "$out" '^ +6\.89[0-57-9]' "and no other"
exits 0 "map" "$SONDE" sched map --compact -i "$data/6.1-events_v6.dat"
like "$(head -1 <<<"$out")" '^  \*[A.][0 ]  +6\.[0-9]{6} secs [A.][0 ] => [^ ]+:[0-9]+ \(CPU 0\)$' "its first line"
exits 0 "gaps of a trace" "$SONDE" sched timehist -i "$data/6.1-lost.dat"
like "$out" '^ +[0-9.]+ lost [0-9]+ events on cpu [0-9]+$' "are lines"

exits 0 "why" "$SONDE" sched why -t 33 -i "$data/6.1-events_v6.dat"
is "$out" "kcompactd0[33]: 87.151 ms
    0.04 %        0.033 ms  running
    0.12 %        0.101 ms  ready to run, while the CPU belonged to
      0.12 %        0.101 ms  nobody: the CPU was idle and had to wake up
   99.85 %       87.018 ms  blocked
     76.94 %       67.050 ms  S 1x
       76.94 %       67.050 ms  still waiting at the end, 1x
     22.91 %       19.967 ms  1x
       22.91 %       19.967 ms  woken by an interrupt, 1x" "a table that adds up"
exits 0 "why, of nobody" "$SONDE" sched why -t 9999999 -i "$data/6.1-events_v6.dat"
like "$err" "no threads match the filters" "says so"
exits 1 "a recording without the scheduler" "$SONDE" sched latency -i "$data/6.1-systems.dat"
like "$err" "6.1-systems.dat has no sched:sched_switch events" "says so"
like "$err" "hint: sonde sched record" "and what would have some"
exits 1 "a missing file" "$SONDE" sched timehist -i none.data
like "$err" "none.data" "is named"
exits 129 "an unknown sort key" "$SONDE" sched latency -s avg,foo
like "$err" "unknown sort key 'foo'" "is named"
exits 129 "a summary has no lines" "$SONDE" sched timehist -s -w
exits 129 "an invalid list of CPUs" "$SONDE" sched map --cpus 0,x
exits 129 "an unknown verb" "$SONDE" sched latencies
like "$err" "did you mean 'latency'" "and the closest one"
exits 129 "none" "$SONDE" sched
exits 129 "two recordings" "$SONDE" sched latency a b
exits 0 "help of record" "$SONDE" sched record --help
like "$out" "sched record -- make" "is its own"

# A recording that is not there is made by the command's own recorder.
for verb in "sched why" "lock contention" "kmem stat" "mem report"; do
	# shellcheck disable=SC2086 # the words are words
	exits 1 "$verb: a missing file" "$SONDE" $verb -i nosuch.data
	like "$err" "hint: record one first: sonde ${verb% *} record -- COMMAND" "$verb: how to make one"
done

# The trace again: its tasks ran for 78 ms, so does a round, on any machine.
trace=$data/6.1-events_v6.dat
exits 0 "replay" "$SONDE" sched replay -r 2 -i "$trace"
like "$out" '^run measurement overhead: [0-9]+ nsecs$' "measures what it costs"
like "$out" '^sleep measurement overhead: [0-9]+ nsecs$' "both ways"
like "$out" '^nr_run_events:        [1-9][0-9]*$' "counts runs"
like "$out" '^nr_sleep_events:      [1-9][0-9]*$' "sleeps"
like "$out" '^nr_wakeup_events:     [1-9][0-9]*$' "and those that a thread ends"
like "$out" '^task +[0-9]+ \( +cat: +144\), nr_events: [1-9][0-9]*$' "a line for each task"
like "$out" '^#1  : [0-9]+\.[0-9]{3}, ravg: [0-9]+\.[0-9]{2}, cpu: [0-9]+\.[0-9]{2} / [0-9]+\.[0-9]{2}$' "the first round"
like "$out" '^#2  : ' "and the second"
unlike "$out" '^#3  : |swapper' "no third, and nobody replays idle time"
exits 0 "replay as JSON" "$SONDE" sched replay --json -r 1 "$trace"
is "$(python3 -c '
import json, sys
r = json.load(sys.stdin)
one = r["rounds"][0]
print(77e6 < r["run_ns"] < 80e6, one["cpu_ns"] > 0.9 * (r["run_ns"] - r["runs"] * r["run_overhead_ns"]), len(r["rounds"]))
' <<<"$out")" "True True 1" "threads use the CPU time that was recorded"
exits 129 "JSON without end" "$SONDE" sched replay --json -r 0 "$trace"

# Which interval?
trace=$data/6.1-events_v6.dat
exits 129 "critical without an interval" "$SONDE" sched critical -i "$trace"
like "$err" 'which interval\? -p PID, or --from EVENT --to EVENT' "is asked for it"
exits 129 "critical, no number" "$SONDE" sched critical -p x -i "$trace"
exits 1 "critical, no such process" "$SONDE" sched critical -p 1999999999 -i "$trace"
like "$err" 'nothing was recorded of process 1999999999' "is named"
exits 1 "critical, no such event" "$SONDE" sched critical --to nothing:here -i "$trace"
like "$err" '--to nothing:here: .* has no such event' "is named"
exits 0 "critical of a trace.dat" "$SONDE" sched critical -p 144 --rows 3 -i "$trace"
like "$out" '^ +[0-9.]+ ms 100\.00 %  cat\[144\]$' "begins with the interval"
like "$out" '^thread +running ms +no CPU ms +blocked ms' "and has a table"

# Called as perf.
ln -s "$SONDE" perf
exits 0 "perf sched -i FILE latency" ./perf sched -i "$data/6.1-events_v6.dat" latency -p
like "$out" '^  cat:144 ' "has options before the verb"
exits 0 "verbs of three letters" ./perf sched -i "$data/6.1-events_v6.dat" lat
like "$out" '^  cat:144 ' "are enough"
done_testing
