#!/usr/bin/env bash
# where: host
# needs: root tracefs
# timeout: 300
# Rows of the acceptance matrix: scheduler events that no ordinary program causes. Each is made to happen, counted, recorded and printed, and
# its values are those of the tasks that caused it. matrix_sched_guest.t has those that need settings of the whole machine.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root tracefs perf_events
cd "$SONDE_TMP" || exit 1
. "$SONDE_SRC/tests/sched_lib.sh"
export -f wait_until sched_seen
export sched_events sched_instance

# A mutex owner gets the priority of the real-time thread that waits for it (SCHED_FIFO 10 is 89 in the kernel), and loses it again.
sched_watch sched_process_free sched_wake_idle_without_ipi
observe "sched_pi_setprio sched_wait_task sched_process_free" bash -c '
	"$sched_events" pi >pi && "$sched_events" ptrace >ptrace && "$sched_events" free >free || exit 1
	# The kernel frees a task some time after it has been waited for.
	wait_until sched_seen "sched_process_free: comm=freed pid=$(sed -n s/^pid=//p free) "'
ok $? "S3-039 S3-048 S3-050: the three of them, by stat, record and ftrace record at once"
pi=$(sed -n 's/^pid=//p' pi) nice=$(sed -n 's/^prio=//p' pi)
shows S3-039 sched_pi_setprio "comm=sched_events pid=$pi oldprio=$nice newprio=89"
like "$reported" " sched_pi_setprio: +comm=sched_events pid=$pi oldprio=89 newprio=$nice\$" "S3-039: and back, in the end"
shows S3-048 sched_wait_task "comm=traced pid=$(sed -n 's/^pid=//p' ptrace) prio=[0-9]+"
shows S3-050 sched_process_free "comm=freed pid=$(sed -n 's/^pid=//p' free) prio=[0-9]+"

# A CPU that polls while it is idle is woken by a flag.
if ! grep -qsx POLL /sys/devices/system/cpu/cpu0/cpuidle/state0/name || [ ! -w /dev/cpu_dma_latency ]; then
	skip "idle CPUs cannot be made to poll here" "S3-034: sched:sched_wake_idle_without_ipi"
elif ! needs_or_skip "S3-034: sched:sched_wake_idle_without_ipi" cpus:2; then
	observe sched_wake_idle_without_ipi bash -c '
		# What happened before the recorders were there does not count.
		echo >"$sched_instance/trace"
		try() { "$sched_events" poll >poll && sched_seen " sched_wake_idle_without_ipi: cpu="; }
		wait_until try'
	ok $? "S3-034: by stat, record and ftrace record at once"
	shows S3-034 sched_wake_idle_without_ipi "cpu=[0-9]+"
	is "$(grep -o 'sched_wake_idle_without_ipi: *cpu=.*' <<<"$reported" | sed 's/.*=//' | grep -vxFf <(seq 0 $(($(getconf _NPROCESSORS_CONF) - 1))))" "" \
		"S3-034: every CPU is one of this machine"
fi
done_testing
