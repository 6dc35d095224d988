#!/usr/bin/env bash
# where: 6.1
# needs: root tracefs
# timeout: 180
# smp: 2
# function_graph on two CPUs: what the kernel shows, and our recording of the same: nesting is of one CPU and one task.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root tracefs guest tracer:function_graph
cd "$SONDE_TMP" || exit 1
t=$tracefs
f() { "$SONDE" ftrace "$@"; }
is "$(nproc)" 2 "two CPUs"

# Two programs on each CPU take turns, so that tasks change on both.
work() {
	local cpu i
	for cpu in 0 1; do
		taskset -c $cpu bash -c 'for i in 1 2 3; do cat /proc/version; sleep 0.05; done' >/dev/null &
		taskset -c $cpu bash -c 'for i in 1 2 3; do cat /proc/uptime; sleep 0.05; done' >/dev/null &
	done
	wait
}
few=(-l vfs_read -l rw_verify_area -l 'seq_read*' -l 'proc_reg_read*' -l 'uptime_proc_show' -l 'version_proc_show' -l 'filemap_read')
exits 0 "S4-357: start" f start -p function_graph -g vfs_read "${few[@]}"
work
exits 0 "S4-357: stop" f stop
f show >show.txt
for cpu in 0 1; do
	like "$(cat show.txt)" "^ $cpu\)  +\|  +vfs_read\(\) \{" "S4-357: lines of CPU $cpu, its number in front"
	like "$(cat show.txt)" "^ $cpu\)  .*=>  +" "S4-357: and where it went on to another task"
done
like "$(cat show.txt)" "^ -{20,}" "S4-357: a ruled line around that"
f reset --force

cat >work.sh <<'W'
for cpu in 0 1; do
	taskset -c $cpu sh -c 'for i in 1 2 3; do cat /proc/version; done' >/dev/null &
done
wait
W
exits 0 "S4-357: recorded" f record -q -p function_graph -g vfs_read "${few[@]}" -o g.dat -- bash work.sh
f report g.dat >report.txt 2>err.txt
for cpu in 00 01; do
	like "$(cat report.txt)" "\[0$cpu\] .* vfs_read\(\) \{" "S4-357: CPU $cpu is in the report"
done
trace-cmd report -i g.dat >theirs.txt 2>/dev/null
cmp -s report.txt theirs.txt
ok $? "S4-357: as trace-cmd prints it"
# What is nested lies between the braces of its own task, whatever the other CPU printed in between.
exits 0 "S4-357: nothing is nested under another task's function" python3 - report.txt <<'P'
import re, sys
depth, lines, changes, last = {}, 0, 0, None
for line in open(sys.argv[1]):
    m = re.match(r" *(\S.*)-(\d+) +\[(\d+)\].*\|  ( *)(\S.*)$", line)
    if not m:
        continue
    task, cpu, indent, what = m[2], m[3], len(m[4]) // 2, m[5]
    now = depth.get(task, 0)
    if what.startswith("}"):
        now -= 1
    if indent != now:
        sys.exit("depth %d, not %d: %s" % (indent, now, line))
    depth[task] = now + (what.endswith("{"))
    lines += 1
    changes += last is not None and last != cpu
    last = cpu
if lines < 20 or not changes:
    sys.exit("%d lines, %d changes of CPU" % (lines, changes))
P
is "$(cat $t/current_tracer)" nop "and nothing stays"
done_testing
