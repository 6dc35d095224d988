#!/usr/bin/env bash
# where: host 6.1
# needs: root tracefs
# timeout: 400
# smp: 1
# report, script, flame and export on trace.dat recordings made here: stacks of the kernel and of processes, calls by their time.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root tracefs python3
cd "$SONDE_TMP" || exit 1
check() { python3 "$SONDE_SRC/tests/golden/ftrace/samples.py" "$SONDE" "$1" 2>&1; }

nr=3000
[ "$SONDE_GUEST" = host ] || nr=600 # emulated: slow
# Many pages of stacks: every one belongs to its event, across windows of time too.
exits 0 "system calls with stacks" "$SONDE" ftrace record -q -o k.dat -T -F -e raw_syscalls:sys_enter -f 'id == 110' \
	"$SONDE" workload syscalls $nr
said=$(check k.dat)
ok $? "as samples: $said"
like "$said" "^$nr samples $nr with a stack" "each has one"
exits 0 "flame" "$SONDE" flame --folded -i k.dat
like "$out" 'do_syscall_64(;[a-z0-9_.]+)* [0-9]+$' "through the entry of system calls"
is "$(awk '{ n += $NF } END { print n }' <<<"$out")" $nr "weighs 1 each"
exits 0 "report" "$SONDE" report --stdio -g none -s sym -i k.dat
like "$out" '100\.00% .*\[k\] do_syscall_64' "counts callers"

# Sums over the slices are sums over the events.
draw() {
	"$SONDE" export --to perfetto -i "$1" -o t.json 2>/dev/null
	python3 "$SONDE_SRC/tests/golden/ftrace/chrome.py" "$SONDE" "$1" t.json 2>&1 | tail -1
}

if [ "$SONDE_GUEST" = host ]; then
	# Stacks of a process whose maps were kept.
	"$SONDE" workload syscalls 1000000000 &
	pid=$!
	# It may not get to run in so short a time where others do.
	for _ in $(seq 20); do
		exits 0 "stacks of a process" "$SONDE" ftrace record -q -o u.dat -P $pid --proc-map -O userstacktrace \
			-e raw_syscalls:sys_enter -f 'id == 110' -- sleep 0.05
		[ "$("$SONDE" ftrace report u.dat 2>/dev/null | grep -c ' sys_enter: ')" -ge 20 ] && break
	done
	kill $pid
	wait $pid 2>/dev/null
	exits 0 "script" "$SONDE" script --json -i u.dat
	said=$(python3 -c '
import json, sys
all = [s for s in json.load(sys.stdin) if s["event"] == "raw_syscalls:sys_enter"]
assert len(all) >= 20, len(all)
# A stack may be missing where the page of code was not there; not more.
with_name = sum("sonde" in [p["dso"] for p in s["chain"]] and "main" in [p.get("symbol") for p in s["chain"]] for s in all)
assert with_name * 10 >= len(all) * 9, (with_name, len(all), all[0])' <<<"$out" 2>&1)
	ok $? "from main on, by the maps that were kept $said"

	# Who ran where, system calls, interrupts.
	exits 0 "scheduling, interrupts, system calls" "$SONDE" ftrace record -q -o e.dat -e sched:sched_switch \
		-e sched:sched_wakeup -e sched:sched_wakeup_new -e irq -e raw_syscalls -f "common_pid != $$" -- sh -c 'for i in 1 2 3 4 5; do sleep 0.02; "$0" workload syscalls 50; done' "$SONDE"
	said=$(draw e.dat)
	like "$said" '^[0-9]+ instants, [1-9][0-9]* slices, .* [1-9][0-9]* arrows' "as slices: $said"
	# With buffers that are too small.
	"$SONDE" ftrace record -q -b 8 -o l.dat -e sched:sched_switch -e raw_syscalls "$SONDE" workload syscalls $((nr * 10)) 2>/dev/null
	said=$(draw l.dat)
	like "$said" '^[0-9]+ instants, [1-9][0-9]* slices, ' "and across gaps: $said"

	exits 0 "S0-014: a trace of the scheduler" "$SONDE" record -q -a -o p.data -e sched:sched_switch -- sleep 0.3
	exits 0 "S0-014: as a profile" "$SONDE" report --stdio -s prev_comm -i p.data
	like "$out" "Samples: [0-9K]+ .*of event 'sched:sched_switch'" "S0-014: of the trace"
	like "$out" ' [0-9]+\.[0-9]+% +sleep' "S0-014: with each one's share"
	exits 0 "S0-014: the same from ftrace" "$SONDE" report --stdio -s prev_comm -i e.dat
	like "$out" ' [0-9]+\.[0-9]+% +sleep' "S0-014: with each one's share"
	exits 0 "S0-014: for programs" "$SONDE" report --json -s prev_comm -i e.dat
	want=$("$SONDE" ftrace report e.dat 2>/dev/null | grep -c ' sched_switch: ')
	is "$(python3 -c 'import json,sys; print([e["samples"] for e in json.load(sys.stdin)["events"] if e["event"] == "sched:sched_switch"][0])' <<<"$out")" \
		"$want" "S0-014: every event counts"
else
	exits 0 "a graph" "$SONDE" ftrace record -q -b 20000 -o g.dat -p function_graph -g vfs_read -g vfs_open -F -c \
		cat /proc/version
	said=$(check g.dat)
	ok $? "as samples: $said"
	like "$said" '[1-9][0-9]* calls$' "calls"
	said=$(draw g.dat)
	like "$said" '^[0-9]+ instants, [1-9][0-9]* slices, ' "as slices: $said"
	exits 0 "flame" "$SONDE" flame --folded -i g.dat
	like "$out" '^cat;vfs_read;[a-z]' "what it called"
	exits 0 "page" "$SONDE" flame -i g.dat -o g.html
	like "$err" 'g.html: [0-9]+ samples, 0 lost' "is written"
fi
done_testing
