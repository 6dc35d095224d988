#!/usr/bin/env bash
# where: 6.1
# needs: root tracefs
# timeout: 300
# smp: 2
# Rows of the acceptance matrix: scheduler events that need two nodes of memory, or settings of the whole machine. Each is made to happen, counted,
# recorded and printed, and its values are those of the tasks that caused it. A guest with two CPUs has a node for each.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root tracefs guest perf_events
cd "$SONDE_TMP" || exit 1
. "$SONDE_SRC/tests/sched_lib.sh"
events="sched_kthread_stop sched_kthread_stop_ret sched_process_hang sched_move_numa sched_stick_numa sched_swap_numa"
sched_watch $events
is "$(cat /sys/devices/system/node/node0/cpulist) $(cat /sys/devices/system/node/node1/cpulist)" "0 1" "S3-035 S3-036 S3-037: two nodes with a CPU each"

huge=/sys/kernel/mm/transparent_hugepage/enabled
echo always >$huge
thread() { khugepaged=$(pgrep -x khugepaged); }
wait_until thread
ok $? "S3-056 S3-057: khugepaged runs"
# Two read an empty trace_pipe through one description: the second waits for the first.
mkdir "$sched_instance-empty"
"$sched_events" hang "$sched_instance-empty/trace_pipe" >hang &
hang=$!
wait_until grep -q pid= hang
hung=$(sed -n 's/^pid=//p' hang)
asleep() { grep -q '^State:.*D' "/proc/$hung/status"; }
wait_until asleep
ok $? "S3-038: a task is in state D"

# seen REGEX: until such an event comes; whoever looks again and again would keep the CPU busy that must be idle
seen() { timeout 100 grep -Eqm1 -- "$1" "$sched_instance/trace_pipe"; }
# until_seen WHAT REGEX: a program runs until its tasks, FIRST and SECOND, have caused the event of that name; other tasks may do so, too
until_seen() {
	local status first second regex
	"$sched_events" "$1" >"numa.$1" &
	until grep -q '^second=' "numa.$1"; do sleep 0.1; done
	first=$(sed -n 's/^first=//p' "numa.$1") second=$(sed -n 's/^second=//p' "numa.$1")
	regex=${2//FIRST/$first}
	seen " sched_${1}_numa: ${regex//SECOND/$second}"
	status=$?
	kill $!
	wait $! 2>/dev/null
	return $status
}
force() {
	# The thread that makes huge pages is stopped when there shall be none.
	echo never >/sys/kernel/mm/transparent_hugepage/enabled
	echo 1 >/proc/sys/kernel/hung_task_timeout_secs
	echo 1 >/proc/sys/kernel/numa_balancing
	echo 20 >/sys/kernel/debug/sched/numa_balancing/scan_delay_ms
	echo 20 >/sys/kernel/debug/sched/numa_balancing/scan_period_min_ms
	echo 40 >/sys/kernel/debug/sched/numa_balancing/scan_period_max_ms
	until_seen move "pid=FIRST .*dst_nid=1" &&
		until_seen stick "src_pid=FIRST .* src_cpu=0 .* dst_pid=(0|SECOND) " &&
		until_seen swap "(src_pid=FIRST .* dst_pid=SECOND |src_pid=SECOND .* dst_pid=FIRST )" &&
		seen " sched_process_hang: "
}
export -f seen until_seen force
export sched_events sched_instance
observe "$events" bash -c force
ok $? "S3-035 S3-036 S3-037 S3-038 S3-056 S3-057: all of them, by stat, record and ftrace record at once"
echo 0 >/proc/sys/kernel/numa_balancing
echo 120 >/proc/sys/kernel/hung_task_timeout_secs
echo always >$huge
kill $hang
wait
wait_until rmdir "$sched_instance-empty" 2>/dev/null

shows S3-057 sched_kthread_stop "comm=khugepaged pid=$khugepaged"
shows S3-056 sched_kthread_stop_ret "ret=0"
shows S3-038 sched_process_hang "comm=hung pid=$hung"
task() { sed -n "s/^$2=//p" "numa.$1"; }
one=$(task move first)
shows S3-037 sched_move_numa "pid=$one tgid=$one ngid=0 src_cpu=0 src_nid=0 dst_cpu=1 dst_nid=1"
one=$(task stick first) two=$(task stick second)
shows S3-036 sched_stick_numa "src_pid=$one src_tgid=$one src_ngid=0 src_cpu=0 src_nid=0 dst_pid=(0|$two) .*dst_cpu=(-1|1) dst_nid=(-1|1)"
one=$(task swap first) two=$(task swap second)
shows S3-035 sched_swap_numa "(src_pid=$one src_tgid=$one .* dst_pid=$two dst_tgid=$two|src_pid=$two src_tgid=$two .* dst_pid=$one dst_tgid=$one) dst_ngid=0 dst_cpu=[01] dst_nid=[01]"
done_testing
