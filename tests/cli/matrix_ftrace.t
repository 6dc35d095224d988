#!/usr/bin/env bash
# Rows of the acceptance matrix: `ftrace report`, on files that trace-cmd 3.1.6 recorded in guests (tests/data/trace).
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde python3
data=$SONDE_SRC/tests/data/trace
cd "$SONDE_TMP" || exit 1
mkdir bin && ln -s "$SONDE" bin/sonde && ln -s "$SONDE" bin/trace-cmd
export PATH=$PWD/bin:$PATH
# every NAME PATTERN: each line of $lines matches, and there are some
every() {
	[ -n "$lines" ] && ! printf '%s\n' "$lines" | grep -Evq -- "$2"
	ok $? "$1" || { diag "pattern: $2"; printf '%s\n' "$lines" | grep -Ev -- "$2" | head -3 | sed 's/^/# /'; }
}

# ---- events
cp "$data/6.1-events_v7_none.dat" trace.dat
exits 0 "S3-007: ftrace report of ./trace.dat" sonde ftrace report
events=$out
exits 0 "S3-007: the same, called trace-cmd" trace-cmd report
is "$out" "$events" "S3-007: and the same text"
is "$(head -1 <<<"$events")" "cpus=2" "S3-007: says how many CPUs"
times=$(sed -n 's/^ *[^ ].*-[0-9]* *\[[0-9]*\] *\([0-9.]*\): .*/\1/p' <<<"$events")
[ "$(wc -l <<<"$times")" = "$(($(wc -l <<<"$events") - 1))" ]
ok $? "S3-007: every line has a time"
is "$times" "$(sort -n <<<"$times")" "S3-007: in time order over both CPUs"
is "$(grep -oE '\] +[0-9.]+:' <<<"$events" | wc -l) $(grep -oE '\[00[01]\]' <<<"$events" | sort -u | xargs)" "$(wc -l <<<"$times") [000] [001]" "S3-007: of both CPUs"
sonde ftrace report 2>complaint | head -10 >first
is "$(wc -l <first) $(cat complaint)" "10 " "S3-060: ftrace report | head -10: ten lines, and nobody complains"
is "$(cat first)" "$(head -10 <<<"$events")" "S3-060: the first ten"

lines=$(grep ' sched_switch:' <<<"$events")
every "S3-061: sched_switch: who leaves, its priority and state, who comes" \
	' sched_switch:         [^ ].*:[0-9]+ \[[0-9]+\] [A-Za-z|+]+ ==> [^ ].*:[0-9]+ \[[0-9]+\]$'
lines=$(grep ' sched_switch: .* ==> ' <<<"$events" | grep -E 'sched_switch: +swapper/')
every "S3-062: the idle task is swapper/CPU inside, <idle> in front" '^ +<idle>-0 +\[00([01])\] .* swapper/\1:0 \[120\] R ==> '
lines=$(grep ' sched_migrate_task:' <<<"$events")
every "S3-067: an event by the kernel's print format" ' sched_migrate_task: +comm=.* pid=[0-9]+ prio=[0-9]+ orig_cpu=[0-9]+ dest_cpu=[0-9]+$'
lines=$(grep -E 'sched_wakeup: +kworker/' <<<"$events")
every "S3-069: a name with a colon: the pid is behind the last one" 'sched_wakeup: +kworker/[0-9u]+:[0-9]+H?:[0-9]+ \[[0-9]+\] CPU:00[01]$'
# TASK is the last name of the pid, the payload the name of the moment: before its exec a command is still trace-cmd.
lines=$(sonde ftrace report "$data/6.1-pid_F.dat" | grep ' sched_switch: *trace-cmd:3367 ')
every "S3-066: TASK is the last name of a pid, the payload the name of the moment" '^ +cat-3367 .* sched_switch: +trace-cmd:3367 '
# A task that exits leaves the CPU as a zombie or dead, and no other does.
python3 - <<'EOF'
import re, subprocess
text = subprocess.run(["sonde", "ftrace", "report"], capture_output=True, text=True).stdout
left, exited = set(), set()
for line in text.splitlines():
    switch = re.search(r"sched_switch: +.*:(\d+) \[\d+\] (\S+) ==>", line)
    if switch and set(switch[2].upper()) & set("XZ"):
        left.add(switch[1])
    gone = re.search(r"sched_process_exit: .*pid=(\d+)", line)
    if gone:
        exited.add(gone[1])
assert exited and left == exited, (left, exited)
EOF
ok $? "S3-070: a task that exited leaves with x or z"

# ---- functions
exits 0 "S3-012 S3-014: report of function events" sonde ftrace report "$data/6.1-function.dat"
lines=$(grep ' function: ' <<<"$out")
every "S3-012: task, CPU, time, function" '^ +[^ ].*-[0-9]+ +\[[0-9]{3}\] +[0-9]+\.[0-9]{6}: function: +vfs_[a-z_]+$'
every "S3-014: which process on which CPU calls it" '^ +[^ ]+-[0-9]+ +\[00[01]\] '
lines=$(grep -E '^ *[^ ]+-0 ' <<<"$events")
every "S3-013: pid 0 is <idle>" '^ +<idle>-0 +\[00[01]\] '

# ---- function graph
exits 0 "S3-020: report of a function graph" sonde ftrace report "$data/6.1-graph.dat"
lines=$(grep ' funcgraph_entry:' <<<"$out" | grep '{$')
every "S3-020: an entry: no duration, the bar, two blanks a level, a brace" ' funcgraph_entry: {19}\|  (  )*[a-zA-Z_][a-zA-Z0-9_.]*\(\) \{$'
lines=$(grep ' funcgraph_entry:' <<<"$out" | grep -v '{$')
every "S3-021: a leaf is one line, with its duration" ' funcgraph_entry:      [ +!#*@$] ? *[0-9.]+ us +\|  (  )*[a-zA-Z_][a-zA-Z0-9_.]*\(\);$'
lines=$(grep ' funcgraph_exit:' <<<"$out")
every "S3-022: an exit: the duration and a brace" ' funcgraph_exit:       [ +!#*@$] ? *[0-9.]+ us +\|  (  )*\}$'
python3 - "$data/6.1-graph.dat" <<'EOF'
import re, subprocess, sys
text = subprocess.run(["sonde", "ftrace", "report", sys.argv[1]], capture_output=True, text=True).stdout
stacks, checked = {}, 0
for line in text.splitlines():
    entry = re.search(r"\|  ((?:  )*)(\S+)\(\) \{$", line)
    leave = re.search(r"funcgraph_exit: .*\|  ((?:  )*)\}$", line)
    leaf = re.search(r"\|  ((?:  )*)\S+\(\);$", line)
    stack = stacks.setdefault(re.search(r"-(\d+)", line)[1] if "-" in line else "", [])
    if entry:
        stack.append(entry[1])
    elif leave and stack:
        assert stack.pop() == leave[1], line
        checked += 1
    elif leaf and stack:
        assert len(leaf[1]) == len(stack[-1]) + 2, line
assert checked > 50, checked
EOF
ok $? "S3-022 S3-021: a brace closes at the depth of its entry, a leaf stands one deeper"
# Marks: what the duration says.
marks() { # the marks there are; lines whose mark is not that of their duration
	python3 -c '
import re, sys
seen = set()
for line in sys.stdin:
    m = re.search(r"funcgraph_(?:entry|exit): +([+!#*@$])? *([0-9.]+) us ", line)
    if not m: continue
    us = float(m[2])
    want = next((c for limit, c in ((1e6, "$"), (1e5, "@"), (1e4, "*"), (1e3, "#"), (100, "!"), (10, "+")) if us > limit), None)
    seen.add(m[1])
    if m[1] != want: print("wrong:", line.rstrip())
print(" ".join(sorted(c or "none" for c in seen)))'
}
is "$(sonde ftrace report "$data/6.1-graph.dat" | marks)" "! + none" "S3-023 S3-024 S3-025 S3-026 S3-027: + over 10 us, ! over 100 us, nothing below"
# ---- filters, and what a file tells beside its events
cp "$data/6.1-systems.dat" trace.dat
trace-cmd report >all.txt
exits 0 "S0-089: report -F" trace-cmd report -F 'kmalloc: bytes_req > 1000'
is "$(sed 1d <<<"$out")" "$(grep ': kmalloc: ' all.txt | awk 'match($0, /bytes_req=[0-9]+/) && substr($0, RSTART + 10, RLENGTH - 10) + 0 > 1000')" "S0-089: those kmalloc events, all of them, and nothing else"
[ "$(wc -l <<<"$out")" -ge 3 ]
ok $? "S0-089: there are some"
sonde ftrace report -t "$data/6.12-events_v7_zstd.dat" >irq.txt
longest=$(python3 - irq.txt <<'END'
import re, sys
start, worst = {}, (0, None)
for line in open(sys.argv[1], errors='replace'):
    m = re.search(r'\[(\d+)\] +([0-9.]+): irq_handler_(entry|exit): +irq=(\d+)', line)
    if m and m[3] == 'entry':
        start[m[1], m[4]] = float(m[2])
    elif m and (m[1], m[4]) in start:
        worst = max(worst, (round((float(m[2]) - start.pop((m[1], m[4]))) * 1e9), int(m[4])))
print('irq_handler_entry:0x%x' % worst[1], worst[0])
END
)
is "$(sonde ftrace report --profile -G -i "$data/6.12-events_v7_zstd.dat" | sed -n 's/^  Event: \(irq_handler_entry:[^ ]*\) .* Max: \([0-9]*\)(.*/\1 \2/p' | sort -k2nr | head -1)" "$longest" "S0-087: which interrupt took longest, and how long"
for f in 6.1-pid_F 6.1-instance_v6; do
	sonde ftrace report --verbose "$data/$f.dat" 2>/dev/null | head -5 >head.txt
	like "$(cat head.txt)" "^version = $([ $f = 6.1-pid_F ] && echo 7 || echo 6)\$" "S3-017: $f: its version"
	like "$(cat head.txt)" '^cpus=2$' "S3-017: $f: number of CPUs"
done
like "$(cat head.txt)" '^CPU 0 is empty$' "S3-017: and CPUs without events"
is "$(sonde ftrace report "$data/6.1-pid_F.dat" | head -1)" "cpus=2" "S3-017: only that when nobody asks for more"

# ---- files of other kernels: formats and states that none of the guests has, put into a recording
python3 - "$data/6.1-events_v6.dat" old.dat states.dat <<'END'
import struct, sys
data = open(sys.argv[1], 'rb').read()
at = data.index(b'name: sched_wakeup\n')
size = struct.unpack_from('<Q', data, at - 8)[0]
text = data[at:at + size]
head, fmt = text[:text.index(b'print fmt:')], text[text.index(b'print fmt:'):]
# As kernels before 4.3 had it. The value lies where the CPU is: 1 for CPU 1.
head = head[:-1] + b'\tfield:int success;\toffset:32;\tsize:4;\tsigned:1;\n\n'
fmt = b'print fmt: "%d", REC->pid'
old = head + fmt + b' ' * (size - len(head) - len(fmt) - 1) + b'\n'
assert len(old) == size, (len(old), size)
open(sys.argv[2], 'wb').write(data[:at] + old + data[at + size:])
at = data.index(b'name: sched_switch\nID: ')
ident = int(data[at + 23:at + 30].split(b'\n')[0])
out, nr, pos = bytearray(data), 0, data.index(b'flyrecord')
states = [0x42, 0x3, 0x102, 0x81, 0x40]
while nr < len(states):
    pos = data.index(struct.pack('<H', ident), pos + 1)
    # a record: the task that runs is the one that leaves, and both names are names
    if pos % 4 or data[pos + 4:pos + 8] != data[pos + 24:pos + 28] or not data[pos + 8:pos + 9].isalpha():
        continue
    struct.pack_into('<q', out, pos + 32, states[nr])
    nr += 1
open(sys.argv[3], 'wb').write(out)
END
lines=$(sonde ftrace report old.dat | grep ': sched_wakeup: ')
every "S3-065: sched_wakeup of an old kernel" '^.*: sched_wakeup: +[^ ]+:[0-9]+ \[[0-9]+\] success=([0-9]+) CPU:00\1$'
like "$lines" ': sched_wakeup: +[^ ]+:[0-9]+ \[[0-9]+\] success=1 CPU:001' "S3-065: success=1 CPU:001"
peer=/usr/bin/trace-cmd
if [ -x $peer ]; then
	is "$(sonde ftrace report old.dat | grep ': sched_wakeup: ' | md5sum)" "$($peer report -i old.dat 2>/dev/null | grep ': sched_wakeup: ' | md5sum)" "S3-065: as trace-cmd prints it"
	is "$(sonde ftrace report -N states.dat | grep ': sched_switch: ' | md5sum)" "$($peer report -N -i states.dat 2>/dev/null | grep ': sched_switch: ' | md5sum)" "S3-068: the kernel's own text, as trace-cmd prints it"
fi
paste -d'~' <(sonde ftrace report -N states.dat | grep ': sched_switch: ' | sed 's/.*prev_state=\([^ +]*\).*/\1/') \
	<(sonde ftrace report states.dat | grep ': sched_switch: ' | sed 's/.*\] \([^ ]*\) ==> .*/\1/') >pairs.txt
is "$(awk -F'~' '$1 != $2' pairs.txt | head -3)" "" "S3-068: our layout has the letters of the kernel's text"
like "$(tr '\n' ' ' <pairs.txt)" 'S\|D~S\|D ' "S3-068: two states at once"
like "$(sonde ftrace report -N states.dat)" ' prev_state=D\+ ' "S3-068: and preempted in one (trace-cmd's layout has no +)"
done_testing
