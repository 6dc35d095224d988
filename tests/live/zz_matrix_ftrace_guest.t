#!/usr/bin/env bash
# where: 6.1
# needs: root tracefs
# timeout: 300
# smp: 1
# Rows of the acceptance matrix that need function tracers, snapshots or the stack tracer: in a guest, on the top buffer.
. "${SONDE_SRC:-.}/tests/lib.sh"
trap 'printf "# T %s %s %s\n" "$EPOCHREALTIME" "$LINENO" "${BASH_COMMAND:0:70}" >&9' DEBUG; exec 9>&1
need sonde root tracefs guest tracer:function_graph
cd "$SONDE_TMP" || exit 1
mkdir bin && ln -s "$SONDE" bin/sonde && ln -s "$SONDE" bin/trace-cmd
export PATH=$PWD/bin:$PATH
t=$tracefs
f() { sonde ftrace "$@"; }
lines() { grep -v '^#' | grep -v '^$'; }
reset() { f reset --force; }

# ---- the tracers and files there are
is "$(f list -t)" "$(cat $t/available_tracers)" "S0-075: list -t"
tracers=$(f list -t)
for name in blk mmiotrace function_graph function nop; do
	like "$tracers" "(^| )$name( |\$)" "S0-075 S0-081 S0-078: tracer $name"
done
missing=
for name in available_events available_filter_functions available_tracers buffer_size_kb buffer_total_size_kb current_tracer dyn_ftrace_total_info \
	enabled_functions events free_buffer instances kprobe_events kprobe_profile max_graph_depth options per_cpu printk_formats README \
	saved_cmdlines saved_cmdlines_size set_event set_ftrace_filter set_ftrace_notrace set_ftrace_pid set_graph_function snapshot \
	stack_max_size stack_trace stack_trace_filter trace trace_clock trace_marker trace_options trace_pipe tracing_cpumask tracing_on \
	tracing_thresh uprobe_events uprobe_profile; do
	grep -qx "$name" <<<"$(ls $t)" || missing="$missing $name"
done
is "$missing" "" "S2-108: ls shows the control files"
f list -f >functions
is "$(md5sum <functions)" "$(md5sum <$t/available_filter_functions)" "S2-110 S3-009 S3-028: list -f"
like "$(trace-cmd list -f | grep '^skb_copy' | head -20)" '^skb_copy_bits' "S3-029 S3-030: trace-cmd list -f | grep ^skb_copy: names at the start of the line"
sites=$(cut -d' ' -f1 $t/dyn_ftrace_total_info)
n=$(wc -l <functions)
[ "$sites" -ge "$n" ] && [ "$n" -gt $((sites * 8 / 10)) ]
ok $? "S2-172: about as many call sites as functions ($sites, $n)"

# ---- function
exits 0 "S2-173 S3-001 S3-003 S3-004 S4-344: start -p function -l" f start -p function -l vfs_open
is "$(cat $t/current_tracer) $(cat $t/set_ftrace_filter)" "function vfs_open" "S2-173 S2-131 S3-003 S3-004 S4-344: tracer and filter are set"
like "$(cat $t/enabled_functions)" '^vfs_open ' "S2-116: enabled_functions has it"
cat /proc/version >/dev/null
f stop
trace=$(f show)
is "$trace" "$(cat $t/trace)" "S2-106 S2-179: show"
is "$(lines <<<"$trace" | grep -vc 'vfs_open <-')" 0 "S3-001 S3-004: only that function"
like "$(head -12 <<<"$trace")" '^# tracer: function$' "S2-179 S2-180: the header: tracer"
like "$trace" '^# entries-in-buffer/entries-written: ([0-9]+)/([0-9]+) +#P:1$' "S2-180: counts"
for word in irqs-off need-resched hardirq/softirq preempt-depth delay; do
	like "$trace" "^#.*$word" "S2-181: flag column $word"
done
row=$(lines <<<"$trace" | grep ' cat-' | head -1)
like "$row" '^ +cat-[0-9]+ ' "S2-175 S2-182 S4-345: task and pid"
like "$row" '\[000\] [^ ]{5} ' "S2-176 S2-181 S2-182 S4-345: CPU in brackets, flags"
like "$row" ' [0-9]+\.[0-9]{6}: vfs_open ' "S2-177 S2-182 S4-345: time and function"
like "$row" ': vfs_open <-[a-z_0-9.]+$' "S2-178 S1-005 S2-182 S4-345: its caller behind <-"
exits 0 "S4-346: a glob" f start -p function -l '*balance*'
is "$(grep -vc balance $t/set_ftrace_filter)" 0 "S4-346 S4-347: only functions with balance"
sleep 0.3 # the CPU becomes idle and looks for work elsewhere
echo x >dirty
f stop
trace=$(f show | lines)
like "$trace" '^ +[^ ].*-[0-9]+ +\[000\] [^ ]{5} +[0-9]+\.[0-9]{6}: [a-z_]*balance[a-z_]* <-[a-z_0-9.]+$' "S4-347: task, CPU, flags, time, function and caller"
is "$(grep -v 'balance.* <-' <<<"$trace" | wc -l)" 0 "S4-347: only those in the trace"
exits 0 "S2-132: not one of them" f start -p function -l 'vfs_*' -n vfs_open
is "$(cat $t/set_ftrace_notrace)" vfs_open "S2-132: set_ftrace_notrace"
cat /proc/version >/dev/null
f stop
trace=$(f show)
like "$trace" ' cat-.*: vfs_read <-' "S2-132: the others are traced"
unlike "$trace" ': vfs_open <-' "S2-132: that one is not"
reset
sh -c 'while [ ! -e go ]; do sleep 0.1; done; exec cat /proc/version' >/dev/null &
exits 0 "S2-133: only one task" f start -p function -l vfs_open -P $!
is "$(cat $t/set_ftrace_pid)" $! "S2-133: set_ftrace_pid"
touch go
wait
f stop
is "$(f show | lines | grep -vc -- "-$! ")" 0 "S2-133: nothing of others"
like "$(f show)" "cat-$! .*vfs_open" "S2-133: and all of it"
reset
is "$(cat $t/current_tracer) $(head -1 $t/set_ftrace_filter)" "nop #### all functions enabled ####" "S4-314: trace-cmd's steps: start, stop, show, reset"
# A module: any will do.
busybox insmod "$SONDE_MODULES/kernel/drivers/block/brd.ko" rd_nr=1 rd_size=4096 2>/dev/null
exits 0 "S4-348: functions of a module" f start -p function --module brd
is "$(grep -vc '\[brd\]' $t/set_ftrace_filter)" 0 "S4-348: all of set_ftrace_filter is [brd]"
dd if=/dev/zero of=/dev/ram0 bs=4096 count=4 oflag=direct 2>/dev/null
f stop
like "$(f show)" ': brd_[a-z_]+(\.[a-z.0-9]+)? <-' "S4-349: its functions with their callers"
reset
# Function triggers.
exits 0 "S4-350 S4-353: traceon at a function" f start -p function -l 'vfs_o*' -l vfs_mkdir:traceon
like "$(cat $t/set_ftrace_filter)" '^vfs_mkdir:traceon:unlimited$' "S4-350 S4-353: the command is there"
f stop
f clear
cat /proc/version >/dev/null
is "$(f show | lines | wc -l)" 0 "S4-353: nothing before it is called"
mkdir triggered; cat /proc/version >/dev/null
f stop
like "$(f show)" 'vfs_open <-' "S4-354: and then everything"
reset
unlike "$(cat $t/set_ftrace_filter)" 'traceon' "S4-350: reset takes it away"

# ---- function_graph
exits 0 "S2-190 S4-356: start -p function_graph" f start -p function_graph -g vfs_open --max-graph-depth 3
is "$(cat $t/current_tracer) $(cat $t/set_graph_function) $(cat $t/max_graph_depth)" "function_graph vfs_open 3" "S2-190 S2-134 S2-123 S4-356: set"
cat /proc/version >/dev/null
f stop
graph=$(f show | lines)
like "$graph" '^ 0\) .*\|  vfs_open\(\) \{$' "S0-067 S2-183 S2-185 S2-191: a function begins with {"
like "$graph" '^ 0\) .*\|  \}( /\* vfs_open \*/)?$' "S2-184 S2-185: and ends with }"
exits 0 "S2-184: recorded" trace-cmd record -q -p function_graph -g vfs_open -F cat /proc/version
raw=$(trace-cmd report -R)
for what in entry exit; do
	like "$raw" "funcgraph_$what: .*depth=0( |\$)" "S2-184: $what of the function itself"
	like "$raw" "funcgraph_$what: .*depth=1( |\$)" "S2-184: $what of what it calls"
done
like "$graph" ' +[0-9.]+ us +\|  +[a-z_0-9.]+\(\);$' "S2-186 S2-187: leaf functions end with ; and have their time"
is "$(grep '() {$' <<<"$graph" | grep -c ' us ')" 0 "S2-188: no time where a function begins"
is "$(grep -E '\|  {0,9}\}|\(\);$' <<<"$graph" | grep -vc ' us ')" 0 "S2-188: but at every end"
is "$(grep -E '\|  {8}' <<<"$graph" | wc -l)" 0 "S2-123: not deeper than asked"
python3 - "$graph" <<'END'
import re, sys
# Inclusive: a function takes at least as long as what it calls together. Each task has calls of its own: " 0)  cat-12  =>  sh-7" is a switch.
stacks, stack, checked = {}, [], 0
for line in sys.argv[1].splitlines():
    switch = re.match(r" 0\) +(\S.*\S) +=> +(\S.*\S) *$", line)
    if switch:
        stacks[switch[1]] = stack
        stack = stacks.setdefault(switch[2], [])
        continue
    m = re.match(r" 0\) [ +!#*@$]? *([0-9.]+)? (?:us)? *\|( +)(.*)", line)
    if not m:
        continue
    if m[3].endswith("{"):
        stack.append(0.0)
    elif m[3].startswith("}") and stack:
        inner = stack.pop()
        assert float(m[1]) >= inner - 0.01, (line, inner)
        checked += 1
        if stack:
            stack[-1] += float(m[1])
    elif m[1] and stack:
        stack[-1] += float(m[1])
assert checked, "no function with an end"
END
ok $? "S2-189: durations include what is called"
# Marks: of short calls, and of naps that take long enough on the fastest machine.
f start -p function_graph -g do_sys_openat2 -g hrtimer_nanosleep --max-graph-depth 0
cat /proc/version /proc/cpuinfo >/dev/null
for nap in 0.00001 0.00003 0.0001 0.0002 0.0004; do sleep $nap; done
f stop
marks=$(f show | lines)
while read -r id mark low high; do
	wrong=$(grep -E "^ 0\) [$mark] " <<<"$marks" | awk -v low="$low" -v high="$high" '{ d = $3; if (d + 0 <= low || d + 0 > high) print }')
	is "$wrong" "" "$id: '$mark' from $low to $high us"
done <<'END'
S2-192 + 10 100
S2-194 ! 100 1000
END
like "$marks" '^ 0\) \+ ' "S2-192 S2-193: show | grep +"
like "$marks" '^ 0\) ! ' "S2-194 S2-195: show | grep !"
is "$(grep -E ' us +\|' <<<"$marks" | awk '{ print index($0, "|") }' | sort -u | wc -l)" 1 "S2-196: wide numbers keep the columns"
exits 0 "S2-148: only what takes long" f start -p function_graph -l 'vfs_*' -l hrtimer_nanosleep --thresh 500
cat /proc/version >/dev/null
sleep 0.01
f stop
like "$(f show)" ' us +\|.*hrtimer_nanosleep' "S2-148: a nap of ten milliseconds is there"
is "$(f show | lines | grep ' us ' | sed 's/^ [0-9]*) .. *//' | awk '$1 + 0 < 500' | wc -l)" 0 "S2-148: nothing under tracing_thresh"
is "$(cat $t/tracing_thresh)" 500 "S2-148: tracing_thresh"
reset

# ---- trace-cmd record
exits 0 "S0-086: trace-cmd record -p function -e" trace-cmd record -p function -l 'vfs_*' -e sched_switch ls
report=$(trace-cmd report)
like "$report" ': function: +vfs_' "S0-086: functions"
like "$report" ': sched_switch: ' "S0-086: and events in one report"
like "$out" 'CPU0 data recorded at offset=0x[0-9a-f]+' "S0-086: tells where the data is"
exits 0 "S0-088: graph of the interrupt function and the interrupts" trace-cmd record -p function_graph -e irq_handler_entry -g handle_irq_event sleep 1
report=$(trace-cmd report)
like "$report" 'funcgraph_entry: .*handle_irq_event' "S0-088: how long it takes"
like "$report" 'irq_handler_entry: +irq=[0-9]+ name=' "S0-088: which interrupt it was"
exits 0 "S0-090 S0-091: function graph of a command" trace-cmd record -p function_graph -g 'vfs_*' -F ls /bin
report=$(trace-cmd report)
like "$report" ' ls-[0-9]+ .*funcgraph_entry: .*vfs_' "S0-013 S0-090 S0-091: of ls"
like "$report" 'funcgraph_exit: +[+!#*@$]? *[0-9.]+ us' "S0-013 S0-091 S3-072: with times"
(trap - INT; exec trace-cmd record -p function -l vfs_open) >record.out 2>&1 &
pid=$!
for _ in $(seq 200); do grep -qs 'Hit Ctrl' record.out && break; sleep 0.05; done
cat /proc/version >/dev/null
kill -INT $pid; wait $pid
like "$(cat record.out)" '^Hit Ctrl\^C to stop recording$' "S3-005 S3-006: until Ctrl-C, as trace-cmd says it"
report=$(trace-cmd report)
like "$report" ' function: +vfs_open' "S3-005 S3-006 S3-011: the function"
is "$(grep ': function:' <<<"$report" | grep -vc vfs_open)" 0 "S3-006 S3-011: and no other"
mkfifo begin end
sh -c 'read x <begin; cat /proc/version >/dev/null; echo over >end' &
exits 0 "S3-015 S3-016: of one process" trace-cmd record -p function -l vfs_open -P $! -c -- sh -c 'echo now >begin; read x <end'
wait
report=$(trace-cmd report)
like "$report" ' cat-[0-9]+ .* function: +vfs_open' "S3-015 S3-016 S3-018: its calls"
is "$(echo "$report" | grep ': function:' | grep -vcE ' (sh|cat)-')" 0 "S3-018: and nobody else's"
sh -c 'read x <begin; read y </proc/version; echo over >end' &
pid=$!
exits 0 "S3-019: graph of one process" trace-cmd record -p function_graph -g vfs_read -P $pid -- sh -c 'echo now >begin; read x <end; cat /proc/version'
wait
report=$(trace-cmd report)
like "$report" " sh-$pid .*funcgraph_entry: .*vfs_read" "S3-019: its calls"
is "$(grep funcgraph <<<"$report" | grep -vc -- "-$pid ")" 0 "S3-019: of that process only"
exits 0 "S0-071: stacks" f record -q -T -e sched:sched_process_exec -o s.dat true
like "$(f report s.dat)" '<stack trace' "S0-071: a stack behind each event"

# ---- snapshot
f start -e sched:sched_switch
sleep 0.2
exits 0 "S2-135 S4-333: take a snapshot" f snapshot -s
exits 0 "S4-334: print it" f snapshot
like "$out" ': sched_switch: ' "S4-334: events are in it"
is "$(cat $t/tracing_on)" 1 "S4-333: tracing goes on"
exits 0 "S4-333: reset it" f snapshot -r
like "$(f snapshot)" 'Snapshot is allocated' "S4-333: empty, with its memory"
exits 0 "S4-335: free it" f snapshot -f
like "$(f snapshot)" 'Snapshot is freed' "S4-335: memory is given back"
f start -e raw_syscalls -b 8
dd if=/dev/zero of=/dev/null bs=1 count=3000 2>/dev/null
f stop
IFS=' /' read -r _ _ _ in written _ <<<"$(f show | grep entries-in-buffer)"
[ "$written" -gt "$in" ]
ok $? "S4-355: more written ($written) than in the buffer ($in)"
reset

# ---- stack tracer
exits 0 "S2-204 S2-207: stack --start" f stack --start
is "$(cat /proc/sys/kernel/stack_tracer_enabled)" 1 "S2-204 S2-207: the sysctl is on"
cat /proc/version >/dev/null; sleep 0.3
size=$(f stack --size)
[ "$size" -gt 500 ]
ok $? "S2-136 S2-205 S2-207 S2-208: the biggest stack is $size bytes"
stack=$(f stack)
like "$stack" '^ +Depth +Size +Location +\([0-9]+ entries\)$' "S2-137 S2-202 S2-209 S2-210: the table's head"
python3 - "$stack" <<'END'
import re, sys
rows = [(int(m[1]), int(m[2])) for m in re.finditer(r"^ *\d+\) +(\d+) +(\d+) +\S+", sys.argv[1], re.M)]
assert len(rows) > 3
for (depth, size), (below, _) in zip(rows, rows[1:]):
    assert depth - size == below, (depth, size, below)
assert rows[-1][0] == rows[-1][1]
END
ok $? "S2-201 S2-206 S2-210: depth less size is the next depth"
exits 0 "S2-138: only one function" f stack -l vfs_open --size
is "$(cat $t/stack_trace_filter)" vfs_open "S2-138: stack_trace_filter"
exits 0 "S2-204: stack --stop" f stack --stop
is "$(cat /proc/sys/kernel/stack_tracer_enabled)" 0 "S2-204: off"
exits 0 "S2-208: forget it" f stack --reset
is "$(cat $t/stack_max_size)" 0 "S2-208: stack_max_size"
echo >$t/stack_trace_filter

# ---- blk, mmiotrace
echo 1 >/sys/block/ram0/trace/enable 2>/dev/null
exits 0 "S0-072 S0-076: the blk tracer" f start -p blk
dd if=/dev/zero of=/dev/ram0 bs=4096 count=4 oflag=direct 2>/dev/null
f stop
like "$(f show)" '^# tracer: blk$' "S0-072 S0-076: is on"
like "$(f show)" ' 1,0 +[QC] +W' "S0-072 S0-076: and shows what the disk does"
reset
exits 1 "S0-072 S0-077: mmiotrace asks first" f start -p mmiotrace
like "$err" 'offline' "S0-072 S0-077: and says why"
exits 0 "S0-072 S0-077: --force" f start -p mmiotrace --force
is "$(cat $t/current_tracer)" mmiotrace "S0-072 S0-077: it is on"
reset
# The scheduler's statistics have events of their own here.
echo 1 >/proc/sys/kernel/sched_schedstats 2>/dev/null
exits 0 "S3-041 S3-042 S3-043 S3-044: can be recorded" f record -q -o one.dat -e "sched:sched_stat_*" -- sleep 0.2
formats=$(f dump --events one.dat)
while read -r id name; do
	like "$(cat $t/available_events)" "^sched:$name\$" "$id: sched:$name is there"
	like "$formats" "^name: $name\$" "$id: and is in the file"
done <<END
S3-041 sched_stat_blocked
S3-042 sched_stat_iowait
S3-043 sched_stat_sleep
S3-044 sched_stat_wait
END
done_testing
