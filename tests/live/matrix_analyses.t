#!/usr/bin/env bash
# where: host 6.1 6.12
# needs: root
# timeout: 120
# Rows of the acceptance matrix about perf's commands that analyse one kind of event, called as perf.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events
cd "$SONDE_TMP" || exit 1
mkdir bin && ln -s "$SONDE" bin/perf
export PATH=$PWD/bin:$PATH

# lock: a convoy of three threads behind the lock of a file is the longest wait.
if [ -e $tracefs/events/lock/contention_begin ] && "$SONDE" workload convoy 1 >/dev/null 2>&1; then
	exits 0 "S4-288: perf lock record" perf lock record -o lock.data -- "$SONDE" workload convoy 50 -t 3
	exits 0 "S4-288: perf lock contention" perf lock contention -i lock.data
	like "$(printf '%s\n' "$err" | sed -n 3p)" "^ +3 +[0-9.]+ m?s +.* rwsem:W   [a-z_0-9]*write[a-z_0-9]*\+0x" "S4-288: three threads waited to write"
else
	skip "no contention events, or no userfaultfd" "S4-288: perf lock record"
fi

# kmem: every mount namespace has a structure of its own.
exits 0 "S4-285: perf kmem record" perf kmem record -m 4096 -o kmem.data -- sh -c 'for i in 1 2 3 4 5 6 7 8; do unshare -m true; done'
exits 0 "S4-285: perf kmem stat" perf kmem --caller -s hit -i kmem.data stat
like "$out" "^ [a-z_]*mnt_ns\+[0-9a-f]+ .*\| +([89]|[1-9][0-9]+) \| " "S4-285: its eight allocations, by the function that made them"
like "$out" "^Total bytes allocated: +[1-9][0-9]*$" "S4-285: and the sums"
done_testing
