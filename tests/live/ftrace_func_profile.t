#!/usr/bin/env bash
# where: host 6.1 6.12
# needs: root tracefs
# timeout: 300
# smp: 1
# `ftrace profile --functions`: hits and times of functions, by the kernel's profiler where there is one, else by function_graph.
. "${SONDE_SRC:-.}/tests/lib.sh"
. "$SONDE_SRC/tests/ftrace_lib.sh"
need sonde root tracefs
cd "$SONDE_TMP" || exit 1
export TMPDIR=$SONDE_TMP/none # nothing is written on the way
f() { timeout 200 "$SONDE" ftrace profile --functions "$@"; }
if ! grep -qw function_graph $tracefs/available_tracers && [ ! -e $tracefs/function_profile_enabled ]; then
	exits 1 "neither profiler nor function_graph" f -l 'vfs_*' true
	like "$err" 'neither the function profiler nor the function_graph tracer' "is said"
	like "$err" 'hint: .*--input FILE' "and what helps"
	done_testing
	exit
fi
tracing_settle
tracing_state >before
head -c 100 /dev/zero >small
exits 0 "S2-119 S2-144: functions of a command" f -l vfs_read -l 'vfs_stat*' -F -- dd if=small of=/dev/null bs=1 count=100
like "$(head -1 <<<"$out")" '^  Function +Hit +Time +Avg +s\^2$' "S2-119 S2-144: has the kernel's head"
n=$(awk '$1 == "vfs_read" { print $2 }' <<<"$out")
[ "${n:-0}" -ge 100 ]
ok $? "S2-119 S2-144: every call is counted ($n)"
is "$(awk 'NR > 2 && $1 !~ /^vfs_(read|stat)/' <<<"$out")" "" "and no other function"
exits 3 "the command's status" f -l vfs_read -F -- sh -c 'exit 3'
tracing_state >after
is "$(diff before after | head -5)" "" "tracefs is as before"
done_testing
