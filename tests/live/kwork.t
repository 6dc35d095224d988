#!/usr/bin/env bash
# where: host
# needs: root
# timeout: 120
# kwork: interrupts, softirqs and work items of this kernel, beside perf on the same file, and from a trace.dat.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events python3
[ -e $tracefs/events/irq/softirq_entry ] || skip_all "kernel without irq:softirq_entry"
cd "$SONDE_TMP" || exit 1

# Timers of others make softirqs; a write to disk makes work.
cat >work.sh <<'END'
for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.02; dd if=/dev/zero of=disk bs=64k count=1 conv=fsync 2>/dev/null; done
END
exits 0 "record" "$SONDE" kwork record -q -o kwork.data -- bash work.sh
events=$("$SONDE" evlist -i kwork.data)
for name in irq:irq_handler_entry irq:softirq_raise irq:softirq_exit workqueue:workqueue_execute_end; do
	like "$events" "^$name\$" "records $name"
done
exits 0 "record one kind" "$SONDE" kwork -k irq record -q -o irq.data -- true
events=$("$SONDE" evlist -i irq.data)
like "$events" '^irq:irq_handler_exit$' "interrupts"
unlike "$events" 'softirq|workqueue' "and nothing else"

exits 0 "report" "$SONDE" kwork report -S -i kwork.data
like "$out" '^  \(s\)[A-Z_]+:[0-9]+ +\| 000[0-9] \| +[0-9]+\.[0-9]{3} ms \| +[1-9][0-9]* \| ' "softirqs by name and CPU"
unlike "$out" '\(w\)(0x| )' "every work item by the name of its function"
like "$out" '^  Total count            : +[1-9][0-9]*$' "sums"
exits 0 "report as JSON" "$SONDE" kwork report --json -i kwork.data
printf '%s\n' "$out" >report.json
exits 0 "timehist as JSON" "$SONDE" kwork timehist --json -i kwork.data
printf '%s\n' "$out" >list.json
is "$(python3 - <<'END'
import collections, json
r, l = json.load(open("report.json")), json.load(open("list.json"))
runs, times = collections.Counter(), collections.Counter()
for x in l["list"]:
    runs[x["name"], x["cpu"]] += 1
    times[x["name"], x["cpu"]] += x["runtime_ns"]
want = collections.Counter()
spent = collections.Counter()
for x in r["work"]:
    want[x["name"], x["cpu"]] += x["runs"]
    spent[x["name"], x["cpu"]] += x["runtime_ns"]
print(+runs == +want, +times == +spent, sum(want.values()) == r["runs"] > 0, sum(spent.values()) == r["runtime_ns"])
print(all(x["max_runtime_ns"] <= x["runtime_ns"] for x in r["work"]), r["runtime_ns"] < r["span_ns"] * 1024)
END
)" $'True True True True\nTrue True' "the table adds up what the list has, and sums agree"
exits 0 "of one kind" "$SONDE" kwork report -k workqueue -i kwork.data
unlike "$out" '\(s\)' "no softirqs"
exits 0 "of one name" "$SONDE" kwork timehist -n RCU -i kwork.data
unlike "$(grep '^ .*\[' <<<"$out" | grep -v '(s)RCU:')" '.' "nothing else"
exits 129 "an unknown kind" "$SONDE" kwork report -k softirqs -i kwork.data
like "$err" "unknown kind of work 'softirqs'" "is named"
exits 129 "an unknown key" "$SONDE" kwork latency -s runtime -i kwork.data
like "$err" "keys: avg, max, count" "with those there are"
exits 0 "a recording without such events" "$SONDE" record -q -e page-faults -o other.data -- true
exits 0 "is read" "$SONDE" kwork report -i other.data
like "$err" "no interrupt or work queue events in the recording" "and the warning says what is missing"

# ---- the same numbers from a trace.dat ----------------------------------------------------------------------------------------
needs_or_skip "trace.dat" tracefs || {
	exits 0 "ftrace record" "$SONDE" ftrace record -q -e irq -e workqueue -o kwork.dat bash work.sh
	exits 0 "report of a trace.dat" "$SONDE" kwork report kwork.dat
	like "$out" '^  \(s\)[A-Z_]+:[0-9]+ ' "has softirqs"
}

# ---- perf on the same file ------------------------------------------------------------------------------------------------------
# The order of equals is perf's secret. Its load is a share where the sign says percent, its delays are of the last raise, and now and then it prints
# a work item's name from memory that it has given back ("bpf_prog_free_deferP"): those are left out.
rows() { LC_ALL=C sed -E 's/ *$//; s/\([0-9.]*% load average\)/(load)/; s/\(w\).{27}/(w)/' | LC_ALL=C sort; }
needs_or_skip "perf's tables" perf || for args in "report" "report -S" "-k irq report" "-k workqueue report -S" "report -C 0"; do
	# shellcheck disable=SC2086
	perf kwork $args -i kwork.data 2>/dev/null | grep -v INFO: | rows >theirs
	# shellcheck disable=SC2086
	"$SONDE" kwork $args -i kwork.data 2>/dev/null | grep -v INFO: | rows >ours
	# Where no disk interrupted meanwhile (a /tmp in memory), a table of interrupts is empty.
	least=3
	[[ $args == *irq* ]] && [ -z "$("$SONDE" script -i kwork.data 2>/dev/null | grep -m 1 irq:irq_handler_entry)" ] && least=0
	[ "$(grep -c . theirs)" -gt $least ] && cmp -s ours theirs
	ok $? "kwork $args: what perf prints" || diag "$(diff theirs ours | head -20)"
done
needs_or_skip "perf's list" perf || {
	perf kwork timehist -i kwork.data 2>/dev/null | cut -b1-92 | rows >theirs
	"$SONDE" kwork timehist -i kwork.data | cut -b1-92 | rows >ours
	[ "$(grep -c . theirs)" -gt 10 ] && cmp -s ours theirs
	ok $? "kwork timehist: what perf prints, but for delays" || diag "$(diff theirs ours | head -20)"
	perf kwork latency -i kwork.data 2>/dev/null | sed -n 2,3p >theirs
	"$SONDE" kwork latency -i kwork.data | sed -n 2,3p >ours
	cmp -s ours theirs
	ok $? "kwork latency: perf's head" || diag "$(diff theirs ours)"
}
done_testing
