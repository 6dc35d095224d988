#!/usr/bin/env bash
# where: host 6.1
# needs: root tracefs
# timeout: 300
# smp: 1
# `ftrace profile`: a command that sleeps, and what is left behind.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root tracefs python3 taskset
cd "$SONDE_TMP" || exit 1
# One CPU for all, which is never idle: on some machines (the host of these tests) an idle CPU does not tell whom it switches to, and who ends on
# another CPU may still be about to when the recorder stops.
nice -n 19 taskset -c 0 "$SONDE" workload noploop 140 & # it takes what the others leave
busy=$!
trap 'kill $busy 2>/dev/null' EXIT
f() { timeout 100 taskset -c 0 "$SONDE" ftrace "$@"; }
export TMPDIR=$SONDE_TMP/none # nothing is written on the way
ln -s "$SONDE" trace-cmd
# As trace-cmd: its text, in nanoseconds.
exits 3 "a command's status is ours" timeout 100 taskset -c 0 ./trace-cmd profile -o text.txt sh -c 'sleep 0.3; exit 3'
is "$out" "" "-o: nothing but the file"
sleeper=$(awk '/^task: / { on = /^task: sleep-/ } on' text.txt)
total=$(sed -n 's/^  Event: sched_switch:S ([0-9]*) Total: \([0-9]*\) .*/\1/p' <<<"$sleeper" | sort -n | tail -1)
[ "${total:-0}" -ge 290000000 ]
ok $? "sleep 0.3 was away for 0.3 s (${total:-?} ns)" || diag "$err" "$(grep -i lost text.txt | head -3)" "$(head -40 <<<"$sleeper")"
like "$sleeper" '^  On CPU: [1-9][0-9]* \([1-9]' "and on the CPU too"
like "$(cat text.txt)" 'do_nanosleep' "the stack says where it slept"
like "$sleeper" '^  Event: sys_enter:[0-9]+ \(' "and its system calls are timed"
if grep -qw function_graph $tracefs/available_tracers; then
	like "$(cat text.txt)" '^  Event: func: .*\(\) \([0-9]+\) Total:' "functions, one level of them"
else
	skip "this kernel has no function_graph" "functions, one level of them"
fi
# Under our own name: a table first, units, and with -F or -P only the tasks that were asked for.
exits 0 "-F" f profile -F sh -c 'sleep 0.1 & wait'
like "$(head -1 <<<"$out")" '^# Task +PID +On CPU +Blocked +Preempted +Woken$' "has a table first"
like "$(sed -n 2p <<<"$out")" '^  sh +[0-9]+( +[0-9.]+ [num]?s){4}$' "with times that people can read"
is "$(grep -c '^task: ' <<<"$out") $(grep -c '^task: sh-' <<<"$out")" "1 1" "the command, and nobody who ran before or after it"
unlike "$out" 'sched_wakeup:0x' "a task's number is not in hex"
like "$out" 'Total: [0-9.]+ [num]?s Avg: [0-9.]+ [num]?s Max: [0-9.]+ [num]?s \(at [0-9]+\.[0-9]{6}\)' "all times have units"
exits 0 "-F -c" f profile -F -c sh -c 'sleep 0.1; exit 0'
is "$(grep -o '^task: [a-z]*' <<<"$out" | sort | tr '\n' ' ')" "task: sh task: sleep " "the command and its children"
exits 0 "-P" f profile -P $busy sleep 0.1
is "$(grep '^task: ' <<<"$out" | grep -vc -- "-$busy\$")" 0 "one task, and nobody else"
exits 0 "--json, only the given" f profile --json -S -e sched:sched_switch sleep 0.1
python3 -c '
import json, sys
times = [r for t in json.loads(sys.argv[1])["tasks"] if t.get("comm") == "sleep" for r in t["times"]]
assert any(r["what"] == "sched_switch:S" and r["total_ns"] >= 90000000 for r in times), times
assert not any(r["what"].startswith("sys_enter") for r in times), times' "$out"
ok $? "has the sleep, and no system calls"
exits 0 "a hook" f profile -S -H raw_syscalls:sys_enter,id,common_pid/raw_syscalls:sys_exit,id,p -P 1 -o hook.txt sleep 0.1
exits 0 "record --profile" f record --profile -q -o t.dat sleep 0.2
exits 0 "and report --profile" f report --profile t.dat
like "$out" '^task: sleep-' "knows the command"
exits 129 "a hook that is none" f profile -H sys_enter,id true
exits 1 "an event that is not there" f profile -S -H no_such_event,id/sys_exit,id true
exits 127 "a command that is not there" f profile ./none
is "$(find "$SONDE_TMP" -name 'sonde-ftrace-*')" "" "no recording is left"
is "$(f status --json | python3 -c 'import json,sys; print([r for r in json.load(sys.stdin).get("runs", []) if "profile" in str(r)])')" "[]" "and no run"
done_testing
