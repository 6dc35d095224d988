#!/usr/bin/env bash
# where: host 6.12
# needs: root tracefs
# timeout: 300
# `ftrace record` inside a PID namespace: lists of tasks hold the kernel's PIDs, not those that fork() returns there.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root tracefs
if ! unshare -mpf --mount-proc true 2>/dev/null; then
	echo "1..0 # SKIP no pid namespaces"
	exit 0
fi
cd "$SONDE_TMP" || exit 1
inside() { unshare -mpf --mount-proc bash -c "mountpoint -q $tracefs || mount -t tracefs t $tracefs; $*"; }
rep() { "$SONDE" ftrace report t.dat 2>&1; }

exits 0 "-F in a namespace" inside "'$SONDE' ftrace record -o t.dat -F -e raw_syscalls:sys_enter -f 'id == 110' '$SONDE' workload syscalls 700"
is "$(rep | grep -c ': sys_enter:')" 700 "records the command"
is "$(rep | grep ': sys_enter:' | sed -E 's/^ *[^ ]+-([0-9]+) .*/\1/' | sort -u | wc -l)" 1 "and nobody else"
exits 0 "without -F" inside "'$SONDE' ftrace record -o t.dat -e raw_syscalls:sys_enter -f 'id == 110' '$SONDE' workload syscalls 50"
[ "$(rep | grep -c ': sys_enter:')" -ge 50 ]
ok $? "everything is recorded"
exits 1 "-P in a namespace" inside "sleep 30 & '$SONDE' ftrace record -o t.dat -P \$! -e sched:sched_switch true"
like "$err" 'ftrace record: -P [0-9]+ inside a PID namespace: .*PIDs of the host' "is refused"
like "$err" 'hint: .*-F' "with what helps"
# The recorder leaves out itself and its threads, not the host's tasks that have their numbers.
exits 0 "who is left out" inside "'$SONDE' ftrace record -q -o t.dat -e raw_syscalls:sys_enter sh -c 'cat $tracefs/instances/sonde-*/set_event_notrace_pid'"
first=$(sort -n <<<"$out" | head -1)
[ "${first:-0}" -gt 20 ]
ok $? "the recorder, by its number outside ($first)"
is "$(ls $tracefs/instances | grep -c -- '-pids$')" 0 "no instance is left"
done_testing
