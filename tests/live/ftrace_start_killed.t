#!/usr/bin/env bash
# where: host 6.1 6.12
# needs: root tracefs
# timeout: 900
# `ftrace start` killed with SIGKILL at every step of its set-up (a write to tracefs or to the journal, the making for an instance), before and
# after the step, with its watchdog alive and killed too: everything is as before, at once or after `reset --stale`.
# SONDE_KILLS: at most so many steps are tried (all on the host, about 12 in a guest).
. "${SONDE_SRC:-.}/tests/lib.sh"
. "$SONDE_SRC/tests/ftrace_lib.sh"
need sonde root tracefs
shim=$(dirname "$SONDE")/tests/kill_shim.so
[ -e "$shim" ] || { echo "1..0 # SKIP no kill_shim.so"; exit 0; }
cd "$SONDE_TMP" || exit 1
run=/run/sonde/ftrace
kills=${SONDE_KILLS:-$([ "$SONDE_GUEST" = host ] && echo 1000 || echo 12)}

# An instance of somebody else that is changed, and one that is made.
theirs=theirs-$$ made=made-$$
i=$tracefs/instances/$theirs
mkdir "$i" || { ok 1 "an instance for the test"; done_testing; }
trap 'rmdir "$i"; rm -rf "$SONDE_TMP"' EXIT
echo 'pid != 0' >"$i/events/sched/sched_process_exec/filter"
echo 256 >"$i/buffer_size_kb"
options=(-B "$theirs" -e sched:sched_process_exec -f 'pid != 7' -R stacktrace -e irq -b 512 -C mono -O noirq-info -T
	-B "$made" -e sched:sched_switch -M 1)
top=$i
# In a guest the top-level buffer is ours too.
if [ "$SONDE_GUEST" != host ]; then
	tracing_settle
	top=$tracefs
	options=(-e sched:sched_switch -f 'next_pid != 0' -b 512 -O noirq-info "${options[@]}")
fi
# state [SYSTEM...]: all there is before and after everything, and what start can reach at each step.
# Others may trace on the host meanwhile: their instances and probes come and go.
state() {
	if [ "$SONDE_GUEST" = host ]; then
		tracing_state "$top" "$@" | grep -vE '^\./events/(sonde_|probe|kprobes|uprobes|synthetic)'
		(cd $tracefs/instances && ls -d "$theirs" "$made" 2>/dev/null)
	else
		tracing_state "$top" "$@"
		ls $tracefs/instances
	fi
}
journals() { grep -ls "start .*$theirs" $run/*.journal; }
state >before.all
state sched irq >before

# killed STEP WHEN WATCHDOG: 1 when the set-up has fewer steps than that.
killed() {
	env KILL_AT="$1" KILL_WHEN="$2" ${3:+KILL_WATCHDOG=1} LD_PRELOAD="$shim" "$SONDE" ftrace start "${options[@]}" >/dev/null 2>err &
	local pid=$!
	wait $pid 2>/dev/null
	[ $? = 137 ]
}
undone() { [ -z "$(journals)" ]; }

# Under emulation each takes seconds: two of the four ways.
ways=("before" "after" "before dog" "after dog")
[ "$SONDE_GUEST" = host ] || ways=("before dog" "after")
bad=0 last=0 stale=0 complete=0
step=1
for ((n = 1; n <= 400; n += step)); do
	for how in "${ways[@]}"; do
		# shellcheck disable=SC2086
		if ! killed $n $how; then
			complete=$n
			break 2
		fi
		last=$n
		if [[ $how == *dog ]]; then
			# Nobody undoes it: what is left is told, and undone by hand.
			if [ -n "$(journals)" ] && ! grep -qs '^P' $(journals); then
				"$SONDE" ftrace status >status
				grep -q "^ *dead .*ftrace start .*$theirs" status || { bad=$((bad + 1)); diag "step $n, $how: status does not tell"; }
				stale=$((stale + 1))
			fi
			"$SONDE" ftrace reset --stale 2>stale.err || { bad=$((bad + 1)); diag "step $n, $how: $(cat stale.err)"; }
		fi
		# The set-up was complete and noted as meant to stay: that is no leftover.
		if [ -n "$(journals)" ] && grep -qs '^P' $(journals); then
			"$SONDE" ftrace reset -B "$made" -d --force 2>/dev/null
			sed -i '/^P/d' $(journals) 2>/dev/null # the watchdog may be faster
			"$SONDE" ftrace reset --stale 2>/dev/null
		fi
		wait_until undone || { bad=$((bad + 1)); diag "step $n, $how: the journal stays: $(journals)"; }
		state sched irq >after
		cmp -s before after || { bad=$((bad + 1)); diag "step $n, $how: $(diff before after | head -4)"; }
	done
	# In a guest not all, but evenly over what the first try has shown.
	[ "$SONDE_GUEST" = host ] || step=$((n < 4 ? 1 : 60 / kills + 1))
done
is $bad 0 "killed at up to $last steps, in ${#ways[@]} ways: everything is as before"
[ $last -ge 20 ]
ok $? "there were many steps ($last)"
[ $stale -gt 0 ]
ok $? "some were left to reset --stale ($stale)"

# Without a kill it is all there, and reset takes it away.
[ $complete -gt 0 ]
ok $? "the last try was complete"
is "$(cat "$i/trace_clock" | grep -o '\[.*\]')" "[mono]" "then everything is set up"
exits 0 "status" "$SONDE" ftrace status
like "$out" "started +[0-9]+ +.*ftrace start .*$theirs" "it is meant to stay"
sed -i '/^P/d' $(journals)
exits 0 "undone as if it were dead" "$SONDE" ftrace reset --stale
state >after
is "$(diff before.all after | head -5)" "" "everything is as before"
done_testing
