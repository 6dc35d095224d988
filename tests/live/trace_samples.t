#!/usr/bin/env bash
# where: host 6.1 6.12
# needs: root tracefs
# timeout: 240
# smp: 1
# report, script, flame and export on trace.dat recordings made here: stacks of the kernel and of processes, calls by their time.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root tracefs python3
cd "$SONDE_TMP" || exit 1
check() { python3 "$SONDE_SRC/tests/golden/ftrace/samples.py" "$SONDE" "$1" 2>&1; }

# Many pages of stacks: every one belongs to its event, across windows of time too.
exits 0 "system calls with stacks" "$SONDE" ftrace record -q -o k.dat -T -F -e raw_syscalls:sys_enter -f 'id == 110' \
	"$SONDE" workload syscalls 3000
said=$(check k.dat)
ok $? "as samples: $said"
like "$said" '^3000 samples 3000 with a stack' "each has one"
exits 0 "flame" "$SONDE" flame --folded -i k.dat
like "$out" 'do_syscall_64(;[a-z0-9_.]+)* [0-9]+$' "through the entry of system calls"
is "$(awk '{ n += $NF } END { print n }' <<<"$out")" 3000 "weighs 1 each"
exits 0 "report" "$SONDE" report --stdio -g none -s sym -i k.dat
like "$out" '100\.00% .*\[k\] do_syscall_64' "counts callers"

# Stacks of a process whose maps were kept.
"$SONDE" workload syscalls 1000000000 &
pid=$!
exits 0 "stacks of a process" "$SONDE" ftrace record -q -o u.dat -P $pid --proc-map -O userstacktrace \
	-e raw_syscalls:sys_enter -f 'id == 110' -- sleep 0.05
kill $pid
wait $pid 2>/dev/null
exits 0 "script" "$SONDE" script --json -i u.dat
said=$(python3 -c '
import json, sys
all = [s for s in json.load(sys.stdin) if s["event"] == "raw_syscalls:sys_enter"]
assert len(all) >= 200, len(all)
# A stack may be missing where the page of code was not there; not more.
with_name = sum("sonde" in [p["dso"] for p in s["chain"]] and "main" in [p.get("symbol") for p in s["chain"]] for s in all)
assert with_name * 10 >= len(all) * 9, (with_name, len(all), all[0])' <<<"$out" 2>&1)
ok $? "from main on, by the maps that were kept $said"

if [ "$SONDE_GUEST" != host ]; then
	exits 0 "a graph" "$SONDE" ftrace record -q -o g.dat -p function_graph -g vfs_read -g vfs_open -F -c \
		sh -c 'cat /proc/version /proc/cpuinfo /proc/meminfo >/dev/null'
	said=$(check g.dat)
	ok $? "as samples: $said"
	like "$said" '[1-9][0-9]* calls$' "calls"
	exits 0 "flame" "$SONDE" flame --folded -i g.dat
	like "$out" '^cat;vfs_read;[a-z]' "what it called"
	exits 0 "page" "$SONDE" flame -i g.dat -o g.html
	like "$err" 'g.html: [0-9]+ samples, 0 lost' "is written"
fi
done_testing
