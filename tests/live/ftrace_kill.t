#!/usr/bin/env bash
# where: host 6.1 6.12
# needs: root tracefs
# timeout: 300
# smp: 1
# `ftrace record` killed with SIGKILL at any moment, start-up included: nothing is left, nothing of others is touched, the
# file is readable. SONDE_KILLS says how often (30 on the host, 20 in a guest).
. "${SONDE_SRC:-.}/tests/lib.sh"
. "$SONDE_SRC/tests/ftrace_lib.sh"
need sonde root tracefs
cd "$SONDE_TMP" || exit 1

kills=${SONDE_KILLS:-$([ "$SONDE_GUEST" = host ] && echo 30 || echo 20)}
mine=foreign-$$
run=/run/sonde/ftrace

# Somebody else's state: an instance with an event, a filter, a trigger and a size, and a probe.
i=$tracefs/instances/$mine
mkdir "$i" || { ok 1 "an instance for the test"; done_testing; }
echo 1 >"$i/events/sched/sched_process_exec/enable"
echo 'pid != 0' >"$i/events/sched/sched_process_exec/filter"
echo stacktrace >"$i/events/sched/sched_process_exit/trigger"
echo 512 >"$i/buffer_size_kb"
echo mono >"$i/trace_clock"
probe=
if [ -e $tracefs/uprobe_events ]; then
	probe=sonde_kill_$$
	echo "p:$probe/x /bin/true:0x1000" >>$tracefs/uprobe_events || probe=
fi
cleanup() {
	echo '!stacktrace' >"$i/events/sched/sched_process_exit/trigger"
	echo 0 >"$i/events/sched/sched_process_exec/enable"
	rmdir "$i"
	[ -z "$probe" ] || echo "-:$probe/x" >>$tracefs/uprobe_events
	rm -rf "$SONDE_TMP"
}
trap cleanup EXIT

# Everything that says how a buffer is set up. In a guest nobody else works: the whole of tracefs then.
state() {
	local top=$i
	[ "$SONDE_GUEST" = host ] || top=$tracefs
	tracing_state "$top"
	grep -s "$mine\|$probe/x" $tracefs/uprobe_events
	cat $tracefs/saved_cmdlines_size 2>/dev/null
}
[ "$SONDE_GUEST" = host ] || tracing_settle
size=$(($(cat $tracefs/saved_cmdlines_size 2>/dev/null || echo 128) * 2))
state >before

# How long a start takes here: the kills fall evenly on that and a little more.
t0=$(date +%s%N)
"$SONDE" ftrace record -q -o first.dat -e sched -- true
span=$((($(date +%s%N) - t0) / 1000000 * 3 / 2 + 100))

left=0 unread=0 files=0
for ((n = 0; n < kills; n++)); do
	out=k$((n % 4)).dat
	rm -rf "$out" "$out.parts"
	case $((n % 4)) in
	0) set -- -e sched -e raw_syscalls ;;
	1) set -- -e sched:sched_switch -f 'next_pid != 0' -R stacktrace -B "sonde-kill-$$" -e irq ;;
	2) set -- -e sched -b 2M -C mono --cmdlines-size $size --file-version 6 ;;
	3) set -- -e 'sched:sched_wak*' -T -O noirq-info ;;
	esac
	# The top buffer too where it is ours alone.
	[ "$SONDE_GUEST" = host ] || [ $((n % 3)) != 0 ] || set -- --top -M 1 "$@"
	"$SONDE" ftrace record -q -o "$out" "$@" -- sleep 5 >/dev/null 2>"err$((n % 4))" &
	pid=$!
	ms=$(((RANDOM * 32768 + RANDOM) % span))
	# The last one when it surely records: a machine may have become slower since a start was timed.
	if [ $n = $((kills - 1)) ]; then
		wait_until test -e "$out.parts/plan"
	fi
	sleep "$((ms / 1000)).$(printf '%03d' $((ms % 1000)))"
	kill -KILL $pid 2>/dev/null
	wait $pid 2>/dev/null
	# The watchdog's time to work: it holds the journal until it is done.
	for ((w = 0; w < 600; w++)); do
		compgen -G "$run/$pid-*.journal" >/dev/null || [ -e "$out.parts" ] || break
		sleep 0.05
	done
	if compgen -G "$run/$pid-*.journal" >/dev/null || [ -e "$out.parts" ] ||
		compgen -G "$tracefs/instances/sonde-$pid-*" >/dev/null || [ -e "$tracefs/instances/sonde-kill-$$" ]; then
		left=$((left + 1))
		diag "left after kill $n: $(ls -d "$run/$pid"-* "$tracefs"/instances/sonde-* "$out".* 2>/dev/null | tr '\n' ' ')"
		diag "$(cat "err$((n % 4))")"
	fi
	if [ -e "$out" ]; then
		files=$((files + 1))
		"$SONDE" ftrace report "$out" >/dev/null 2>report.err && [ ! -s report.err ] ||
			{ unread=$((unread + 1)); diag "report: $(cat report.err)"; }
	fi
done
is $left 0 "$kills kills: no journal, no instance, no half a file is left"
is $unread 0 "$files files that came of it can be read"
[ $files -gt 0 ]
ok $? "and there are some"
state >after # not <(...): a guest has no /dev/fd
is "$(diff before after | head -20)" "" "nothing else has changed"

# The command that was being traced goes on: it is not ours to end.
exits 0 "and recording works as before" "$SONDE" ftrace record -q -o after.dat -e sched -- true
done_testing
