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

# ---- CPU usage ------------------------------------------------------------------------------------------------------------------
exits 1 "top without switches" "$SONDE" kwork top -i kwork.data
like "$err" 'kwork.data has no sched:sched_switch events' "says what is missing"
like "$err" 'kwork -k sched,irq,softirq record' "and how to record it"
cp "$(command -v bash)" kwork_hog
exits 0 "record switches" "$SONDE" kwork -k sched,irq,softirq record -q -o top.data -- ./kwork_hog -c 'for ((i = 0; i < 50000; i++)); do :; done; sleep 0.05; :'
exits 0 "top" "$SONDE" kwork top -i top.data
like "$out" '^Total  : +[0-9]+\.[0-9]{3} ms, [0-9]+ cpus$' "a total"
like "$out" '^%Cpu\(s\): +[0-9.]+% id, +[0-9.]+% hi, +[0-9.]+% si$' "what all CPUs did"
like "$out" '^%Cpu0   \[\|* * +[0-9.]+%\]$' "a bar for each CPU"
like "$out" '^ +PID   %CPU           RUNTIME  COMMAND         $' "a head"
like "$out" '^ +[0-9]+  +[0-9.]+  +[0-9]+\.[0-9]{3} ms  kwork_hog       $' "the task"
"$SONDE" kwork top --json -i top.data >top.json
"$SONDE" script -i top.data -F tid,cpu,time,event,trace --ns >top.txt 2>/dev/null
is "$(python3 - <<'END'
import json, re
t = json.load(open("top.json"))
parts = ("load_ns", "idle_ns", "irq_ns", "softirq_ns")
# The table is whole where each switch leaves the task that the one before went to; not where the kernel recorded none of an idle task
# (lib.sh: on_cpu_with_idle_events). Before its first switch nothing of a CPU is known.
now_on, begins, ends, gaps = {}, {}, 0, set()
for line in open("top.txt"):
    m = re.search(r"\[(\d+)\] +(\d+)\.(\d+): +(\S+): .*?(?:prev_pid=(\d+) .* next_pid=(\d+) |$)", line)
    if not m:
        continue
    cpu, ends = int(m[1]), int(m[2]) * 10**9 + int(m[3])
    if m[5]:
        if now_on.get(cpu, m[5]) != m[5]:
            gaps.add(cpu)
        now_on[cpu] = m[6]
        begins.setdefault(cpu, ends)
print(all((0 if t["lost"] or c["cpu"] in gaps else ends - begins.get(c["cpu"], ends) - 1000) <= sum(c[p] for p in parts) <= t["span_ns"] + 1000
          for c in t["cpus"]))
print(all(x["comm"] == "swapper/%d" % x["cpu"] for x in t["tasks"] if not x["tid"]))
print(abs(sum(x["runtime_ns"] for x in t["tasks"]) - sum(c["load_ns"] + c["idle_ns"] for c in t["cpus"])) <= 1000)
# The hog's own time, from its switches: with interrupts, so no less than the table's.
tids = {x["tid"] for x in t["tasks"] if x["comm"] == "kwork_hog"}
runs, since = 0, {}
for line in open("top.txt"):
    m = re.search(r"\[(\d+)\] +(\d+)\.(\d+): +sched:sched_switch: .* prev_pid=(\d+) .* next_pid=(\d+) ", line)
    if not m:
        continue
    cpu, now = m[1], int(m[2]) * 10**9 + int(m[3])
    if int(m[4]) in tids and cpu in since:
        runs += now - since[cpu]
    since.pop(cpu, None)
    if int(m[5]) in tids:
        since[cpu] = now
taken = sum(c["irq_ns"] + c["softirq_ns"] for c in t["cpus"])
hog = sum(x["runtime_ns"] for x in t["tasks"] if x["comm"] == "kwork_hog")
print(0 < hog and (hog <= runs + 1000 or bool(gaps)), hog + taken >= runs - 1000 or t["lost"] > 0)
END
)" $'True\nTrue\nTrue\nTrue True' "CPUs are whole, tasks add up to them, and the hog has the time between its switches"
exits 0 "one task" "$SONDE" kwork top -n kwork_hog -i top.data
unlike "$out" 'swapper' "no others"
exits 0 "one CPU, by task ID" "$SONDE" kwork top -C 0 -s tid -i top.data
unlike "$out" '^%Cpu1' "no other CPU"
is "$(sed -n 's/^ *\([0-9]*\)  .* ms  .*/\1/p' <<<"$out" | sort -cn && echo sorted)" sorted "in their order"
exits 129 "an unknown key of top" "$SONDE" kwork top -s max -i top.data
like "$err" "keys: rate, runtime, tid" "is answered with those there are"
exits 129 "-b" "$SONDE" kwork top -b
like "$err" "who -b" "is refused with what to use instead"
exits 129 "tasks in a table of work" "$SONDE" kwork report -k sched -i top.data
like "$err" "'kwork top' shows" "names the table that has them"

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
