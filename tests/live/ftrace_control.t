#!/usr/bin/env bash
# where: host
# needs: root tracefs
# timeout: 300
# start, stop, show, clear, extract and the rest on an instance of our own; texts as trace-cmd prints them; leftovers.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root tracefs
cd "$SONDE_TMP" || exit 1
b=sonde-c-$$
i=$tracefs/instances/$b
f() { "$SONDE" ftrace "$@"; }
trap 'for e in "$tracefs/instances/sonde-c-$$"*; do [ ! -d "$e" ] || { echo 0 >"$e/events/enable"; rmdir "$e"; }; done; rm -rf "$SONDE_TMP"' EXIT

# ---- start to reset
exits 0 "start makes the instance" f start -B "$b" -e sched:sched_process_exec -f 'pid != 1' -e irq -C mono -b 512
like "$(cat "$i/tracing_on") $(cat "$i/events/irq/enable") $(cat "$i/buffer_size_kb")" '^1 1 51[0-9]$' "and leaves it on"
like "$(cat "$i/trace_clock")" '\[mono\]' "with its clock"
/bin/true
exits 0 "stop" f stop -B "$b"
is "$(cat "$i/tracing_on")" 0 "nothing more is written"
exits 0 "show" f show -B "$b"
is "$out" "$(cat "$i/trace")" "prints the buffer"
like "$out" 'sched_process_exec: ' "with the event"
exits 0 "show of a CPU" f show -B "$b" -c 0
is "$out" "$(cat "$i/per_cpu/cpu0/trace")" "that CPU's"
exits 0 "show --json" f show -B "$b" --json
like "$out" '"text": "# tracer: nop' "as a string"
for setting in tracing_on:tracing_on current_tracer:current_tracer buffer_size:buffer_size_kb buffer_total_size:buffer_total_size_kb \
	cpumask:tracing_cpumask clock:trace_clock events:set_event options:trace_options; do
	is "$(f show -B "$b" "--${setting%:*}")" "$(cat "$i/${setting#*:}")" "show --${setting%:*}"
done
is "$(f show -B "$b" --filter sched_process_exec)" "pid != 1" "show --filter"
exits 0 "restart" f restart -B "$b"
is "$(cat "$i/tracing_on")" 1 "it goes on"
exits 0 "mark" f mark -B "$b" hello world
like "$(f show -B "$b")" 'tracing_mark_write: hello world' "a line in the trace"
exits 0 "mark --raw" f mark -B "$b" --raw 7 data
like "$(f show -B "$b")" '# 7 buf: 64 61 74 61' "raw data in the trace"
"$SONDE" ftrace show -B "$b" -p >pipe &
f mark -B "$b" from the pipe
wait_until grep -q 'from the pipe' pipe
like "$(cat pipe)" 'from the pipe' "show -p prints what comes"
kill $!
wait
f mark -B "$b" one more
exits 0 "extract" f extract -B "$b" -o x.dat
like "$(f report x.dat)" 'print: +tracing_mark_write: one more' "the buffer as a file"
[ -d "$i" ]
ok $? "the instance stays"
exits 0 "set, without clearing" f set -B "$b" -O stacktrace
is "$(cat "$i/options/stacktrace")" 1 "one more setting"
f mark -B "$b" to be cleared
exits 0 "clear" f clear -B "$b"
unlike "$(f show -B "$b")" 'to be cleared' "empties the buffer"
exits 0 "status" f status
like "$out" "started +[0-9]+ +.*ftrace start -B $b" "who started it"
like "$out" "$b .*events? enabled" "and what is on"
exits 0 "status as JSON" f status --json
printf '%s' "$out" | python3 -c 'import json,sys; d=json.load(sys.stdin); assert any(r["state"]=="started" for r in d["runs"])'
ok $? "can be parsed"
echo 'stacktrace:3' >"$i/events/sched/sched_switch/trigger"
if ! needs_or_skip "stat as trace-cmd's" trace-cmd; then
	is "$(f stat -B "$b")" "$(trace-cmd stat -B "$b")" "stat is what trace-cmd prints"
	for how in "-e" "-t" "-C" "-o" "-e ^sched:sched_sw -F" "-e sched_switch -F --full" "-e sched:sched_wak -R" "-e sched_switch -l"; do
		# shellcheck disable=SC2086
		is "$(f list $how | md5sum)" "$(trace-cmd list $how | md5sum)" "list $how is what trace-cmd prints"
	done
fi
exits 1 "reset asks first" f reset -B "$b"
like "$err" '[-][-]force' "and says how to go on"
exits 0 "what it would do" f reset -B "$b" --dry-run
like "$out" "^echo 'nop' >+ $i/current_tracer" "is printed"
is "$(cat "$i/events/irq/enable")" 1 "and not done"
exits 0 "reset" f reset -B "$b" --force
is "$(cat "$i/events/enable") $(cat "$i/events/sched/sched_process_exec/filter") $(cat "$i/tracing_on")" "0 none 1" "everything to defaults"
like "$(cat "$i/events/sched/sched_switch/trigger")" '^# Available' "triggers too"
exits 0 "and remove it" f reset -B "$b" -d --force
[ ! -e "$i" ]
ok $? "it is gone"
exits 1 "an instance that is not there" f show -B "$b"
like "$err" "no instance '$b'" "is said"
journals() { grep -ls -- "start -B $b\|set -B $b" /run/sonde/ftrace/*.journal; }
is "$(journals)" "" "what was started there is forgotten with it"
exits 0 "status" f status
unlike "$out" "ftrace start -B $b" "has no entry of it"

# ---- the same when somebody else removes the instance
exits 0 "start" f start -B "$b" -e sched:sched_process_exec
exits 0 "status" f status
like "$out" "started +[0-9]+ +.*ftrace start -B $b" "has it while it is there"
echo 0 >"$tracefs/instances/$b/tracing_on"
rmdir "$tracefs/instances/$b"
exits 0 "status" f status
unlike "$out" "ftrace start -B $b" "and not when it is gone"
exits 0 "reset --stale" f reset --stale
like "$err" "forgot [1-9][0-9]* runs? of 'ftrace start'" "forgets it"
is "$(journals)" "" "and the journal is gone"

# ---- what a run leaves that is killed together with its watchdog
# A condition: the run of this process has recorded more than a few events.
traced() { cat "$tracefs"/instances/sonde-"$1"-*/per_cpu/*/stats 2>/dev/null | awk '/^(entries|read events):/ { n += $NF } END { exit !(n > 50) }'; }
"$SONDE" ftrace record -q -o dead.dat -e sched -- sleep 300 >/dev/null 2>&1 &
pid=$!
wait_until traced $pid
dog=$(pgrep -P $pid -x sonde-watchdog)
isnt "$dog" "" "there is a watchdog"
kill -KILL "$dog"
kill -KILL $pid
wait $pid 2>/dev/null
exits 0 "status" f status
like "$out" "dead +$pid " "tells of the dead run"
mkdir "$tracefs/instances/sonde-c-$$-other"
exits 0 "reset --stale" f reset --stale
like "$err" "undoing what $pid left" "says what it undoes"
[ -z "$(ls -d "$tracefs"/instances/sonde-$pid-* /run/sonde/ftrace/$pid-*.journal 2>/dev/null)" ]
ok $? "instance and journal are gone"
[ -d "$tracefs/instances/sonde-c-$$-other" ]
ok $? "another instance is not"
[ "$(f report dead.dat | wc -l)" -gt 10 ]
ok $? "and the recording is a file"

# ---- restore
"$SONDE" ftrace record -q -o cut.dat -e sched -- sleep 300 >/dev/null 2>&1 &
pid=$!
wait_until traced $pid
cp -r cut.dat.parts copy.parts
kill -INT $pid
wait $pid 2>/dev/null
exits 0 "restore" f restore -o copy.dat copy.parts
exits 0 "a file that can be read" f report copy.dat
exits 1 "what is no recording" f restore /tmp
mkdir bad.parts && echo 'output	x' >bad.parts/plan
exits 1 "a plan that is broken" f restore bad.parts

# ---- what this kernel has not
if [ ! -e $tracefs/snapshot ]; then
	exits 1 "snapshot" f snapshot -s
	like "$err" 'CONFIG_TRACER_SNAPSHOT' "says what is missing"
fi
if [ ! -e $tracefs/stack_trace ]; then
	exits 1 "stack" f stack
	like "$err" 'CONFIG_STACK_TRACER' "says what is missing"
fi
exits 0 "check-events" f check-events
like "$err" ', 0 not understood' "every format is understood"
exits 0 "dump" f dump x.dat
like "$out" "buffer \"$b\", \"mono\" clock" "what is in a file"
exits 0 "dump -v" f dump -v x.dat
like "$out" 'valid' "it is whole"
done_testing
