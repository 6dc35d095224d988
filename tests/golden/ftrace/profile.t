#!/usr/bin/env bash
# Where tasks spend their time, from files: against a model of its own, and against trace-cmd 3.1.6 where that is right.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde python3
here=$SONDE_SRC/tests/golden/ftrace
cd "$SONDE_SRC/tests/data/trace" || exit 1
for f in 6.12-events_v7_zstd.dat 6.1-events_v6.dat 6.1-graph_events.dat arm64-events_v7_zstd.dat arm64-syscalls.dat 6.1-nocomm.dat; do
	python3 "$here/profile.py" "$SONDE" $f compare_with_model >"$SONDE_TMP/log" 2>&1
	ok $? "$f: $(tail -1 "$SONDE_TMP/log")" || diag "$(tail -2 "$SONDE_TMP/log")"
done
if trace-cmd --help 2>&1 | grep -q 'version 3.1.6'; then
	for f in 6.12-events_v7_zstd.dat arm64-events_v7_zstd.dat arm64-syscalls.dat; do
		python3 "$here/profile.py" "$SONDE" $f compare_with_trace_cmd >"$SONDE_TMP/log" 2>&1
		ok $? "$f: $(tail -1 "$SONDE_TMP/log")" || diag "$(tail -2 "$SONDE_TMP/log")"
	done
else
	skip "trace-cmd 3.1.6 is not installed" "profile as trace-cmd has it"
fi
# functions: as many calls as `ftrace graph` finds whole
f=6.1-graph.dat
exits 0 "a file of the graph tracer" "$SONDE" ftrace profile --input $f
is "$(sed -n 's/^  Event: func: .*() (\([0-9]*\)) .*/\1/p' <<<"$out" | awk '{ n += $1 } END { print n }')" \
	"$("$SONDE" ftrace report -R $f | grep -c funcgraph_exit)" "every call that ended, once"
# stacks: where tasks left the CPU
f=6.12-stacks.dat
exits 0 "a file with stacks" "$SONDE" ftrace profile --input $f
like "$out" '^  Event: sched_switch:S .*Total:' "has times"
like "$out" '^              100% \([0-9]+\) time:[0-9.]+ [num]?s max:' "and stacks, with times of their own"
like "$out" ' [a-z_]\w+ \(0x[0-9a-f]+\)$' "with names"
"$SONDE" ftrace profile --json --input $f | python3 -c '
import json, sys
seen = 0
for task in json.load(sys.stdin)["tasks"]:
    for r in task["times"]:
        if "stacks" in r:
            seen += 1
            assert sum(s["total_ns"] for s in r["stacks"]) <= r["total_ns"] and max(s["max_ns"] for s in r["stacks"]) <= r["max_ns"]
            assert all(s["frames"] for s in r["stacks"])
assert seen > 3, seen'
ok $? "stacks add up to no more than their event"
# the same from report; by name; by CPU; hooks; filters
f=6.12-events_v7_zstd.dat
ln -s "$SONDE" "$SONDE_TMP/trace-cmd"
is "$("$SONDE" ftrace report --profile $f)" "$("$SONDE_TMP/trace-cmd" profile --input $f)" "report --profile is what trace-cmd's name prints"
is "$("$SONDE" ftrace profile --input $f | grep -c '^task: ')" "$("$SONDE" ftrace report --profile $f | grep -c '^task: ')" "under our own name, the same tasks"
is "$("$SONDE" ftrace profile --input $f | grep -c '^# Task .*On CPU')" 1 "after a table of them"
is "$("$SONDE" ftrace profile --threads 1 --input $f)" "$("$SONDE" ftrace profile --threads 7 --input $f)" "by one worker or seven"
exits 129 "a recording for a command" "$SONDE" ftrace profile $f
like "$err" "is a recording, not a command to run" "it says so"
like "$err" "ftrace report --profile -i $f" "and what reads it"
exits 0 "--by-comm" "$SONDE" ftrace report --profile --by-comm $f
is "$(grep -c '^task: cat-' <<<"$out")" 1 "tasks of one name are one"
is "$(sed -n '/^task: cat-/,/^$/s/^  Event: sched_stat_runtime (\([0-9]*\))/\1/p' <<<"$out")" \
	"$("$SONDE" ftrace report $f | grep -c '^ *cat-.* sched_stat_runtime:')" "with the events of all"
exits 0 "-G" "$SONDE" ftrace report --profile -G $f
like "$out" '^cpu: 0$' "interrupts are the CPU's"
is "$(sed -n '/^task: /,$p' <<<"$out" | grep -c -E 'Event: (irq_handler|softirq)')" 0 "and no task's"
exits 0 "a hook" "$SONDE" ftrace report --profile -F irq -H irq:irq_handler_entry,irq/irq:irq_handler_exit,irq,pg $f
cpu=$(sed -n '/^cpu: 0/,/^$/p' <<<"$out")
is "$(sed -n 's/.*irq_handler_entry:0x1a (\([0-9]*\)).*/\1/p' <<<"$cpu")" "$("$SONDE" ftrace report $f | grep -c ' irq_handler_exit:')" "counts every pair"
is "$(grep -c sched_ <<<"$out")" 0 "and the filter leaves the rest out"
exits 0 "a hook whose event is not there" "$SONDE" ftrace report --profile -H no_such,a/irq_handler_exit,irq $f
like "$err" "no_such,a/irq_handler_exit,irq: no such event" "says so"
exits 1 "half a hook" "$SONDE" ftrace report --profile -H irq_handler_entry,irq $f
like "$err" "expected the end event" "says what is missing"
exits 1 "a hook with a flag that is none" "$SONDE" ftrace report --profile -H a,b/c,d,x $f
like "$err" "valid flags are p, s and g" "says which there are"
exits 129 "-G without --profile" "$SONDE" ftrace report -G $f
exits 129 "a file and a command" "$SONDE" ftrace profile --input $f true
exits 1 "a file that is not there" "$SONDE" ftrace profile --input none.dat
# latency between two events of a file
f=6.12-events_v7_zstd.dat
exits 0 "hist --latency of a file" "$SONDE" ftrace hist -i $f --latency irq:softirq_entry,irq:softirq_exit --by vec
is "$("$SONDE" ftrace latency --input $f -e softirq_entry,softirq_exit --by vec)" "$out" "latency --input is the same"
is "$(awk -F'|' 'NR > 1 { n += $2 } END { print n }' <<<"$out")" "$("$SONDE" ftrace report $f | grep -c ' softirq_exit:')" "and counts all of them"
exits 1 "an event that the file does not have" "$SONDE" ftrace hist -i $f --latency irq:softirq_entry,irq:softirq_bogus --by vec
exits 129 "two events, one given" "$SONDE" ftrace latency --input $f -e softirq_entry
exits 129 "hist -i with what the kernel counts" "$SONDE" ftrace hist -k pid -i $f
exits 0 "lost events" "$SONDE" ftrace profile --input 6.1-lost.dat
like "$err" "events were lost [0-9]+ times" "are said"
done_testing
