#!/usr/bin/env bash
# where: 6.12
# needs: root tracefs
# timeout: 300
# smp: 1
# Options and verbs that trace-cmd has too, on kernels with all tracers: beside trace-cmd where it says something, with mistakes.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root tracefs guest trace-cmd tracer:function_graph
cd "$SONDE_TMP" || exit 1
mkdir bin && ln -s "$SONDE" bin/perf
t=$tracefs
f() { "$SONDE" ftrace "$@"; }
has() { # FILE PATTERN: lines of the report that fit
	f report "$1" | grep -Ec -- "$2"
}

# ---- stat and list, beside trace-cmd. It looks for a stack tracer where there are none.
theirs() { trace-cmd "$@" 2>/dev/null | sed '/^Error reading stack tracer status$/,$d'; }
echo 'stacktrace:3' >$t/events/sched/sched_switch/trigger
echo 'pid != 1' >$t/events/sched/sched_process_exec/filter
echo 1 >$t/events/irq/enable
echo 1 >$t/events/sched/sched_waking/enable
printf 'vfs_read\nvfs_write\n' >$t/set_ftrace_filter
echo vfs_open >$t/set_ftrace_notrace
echo vfs_read >$t/set_graph_function
echo vfs_write >$t/set_graph_notrace
echo 'p:words/one vfs_read' >>$t/kprobe_events
echo 'p:words/two vfs_write' >>$t/kprobe_events
echo 'p:wordu/one /bin/true:0x1000' >>$t/uprobe_events
echo 'words_syn u64 a; u64 b' >>$t/synthetic_events
printf '1\n2\n' >$t/set_event_pid
echo 3 >$t/set_ftrace_pid
echo 'nofield == 1' >$t/events/sched/sched_switch/filter 2>/dev/null
echo mono >$t/trace_clock
echo 2000 >$t/buffer_size_kb
mkdir $t/instances/words
stacks=/proc/sys/kernel/stack_tracer_enabled
[ ! -e $stacks ] || echo 1 >$stacks
for how in "stat -o" "stat -B words" "list -C" "list -o" "list -B" "list -O" "list -e ^sched:sched_sw -R" "list -e sched_process_exec -l" "list -f ^vfs_rea"; do
	# shellcheck disable=SC2086
	is "$(f $how)" "$(theirs $how)" "$how is what trace-cmd prints"
done
[ ! -e $stacks ] || echo 0 >$stacks
echo >$t/events/sched/sched_switch/filter
rmdir $t/instances/words
f reset --force
is "$(cat $t/set_ftrace_filter $t/set_graph_function $t/kprobe_events $t/set_event_pid | grep -vc '^#')" 0 "reset takes all of it away"

# ---- record: what decides who is traced, and how it is read
exits 0 "--poll -r -t -d and an event of each interrupt" f record -q --poll -r 1 -t -d -e irq -o irq.dat -- sh -c 'cat /bin/busybox >/dev/null'
like "$(f report irq.dat)" ': irq_handler_entry: +irq=[0-9]+ name=[^ ]' "S4-326: irq_handler_entry"
like "$(f report irq.dat)" ': irq_handler_exit: +irq=[0-9]+ ret=(un)?handled' "S4-327: irq_handler_exit"
exits 0 "--user" f record -q --user nobody -e sched:sched_process_exec -o user.dat -- sh -c 'id -un'
is "$out" nobody "the command runs as that user"
exits 1 "a user that is not there" f record --user no_such_user -e sched -o x.dat -- true
like "$err" "no such user" "is said"
[ ! -e x.dat ]
ok $? "and nothing is written"
exits 0 "-v leaves events out" f record -q -e sched -v -e 'sched_stat*' -e sched_waking -o v.dat -- sleep 0.1
is "$(has v.dat ': sched_(stat_[a-z]+|waking): ')" 0 "none of them is there"
isnt "$(has v.dat ': sched_switch: ')" 0 "but the others are"
exits 0 "-i goes on" f record -q -i -e nosuch:event -e sched:sched_switch -o i.dat -- true
like "$err" "warning: no event matches 'nosuch:event'" "with a word"
exits 1 "without it" f record -q -e nosuch:event -o x.dat -- true
exits 0 "-k" f record -q -k -e sched:sched_switch -o k.dat -- true
kept=$(ls $t/instances)
like "$kept" '^sonde-' "leaves its instance"
is "$(cat "$t/instances/$kept/events/sched/sched_switch/enable")" 1 "and what is set in it"
like "$(f status)" "reset -B $kept -d" "status says how to be rid of it"
exits 0 "and that works" f reset -B "$kept" -d --force
is "$(ls $t/instances)" "" "it is gone"

# ---- functions
exits 0 "--func-stack" f record -q --func-stack -p function -l vfs_open -F -o fs.dat -- cat /proc/version
isnt "$(has fs.dat '^=> do_sys_openat2')" 0 "a stack behind each function"
exits 1 "of all functions" f record --func-stack -p function -o x.dat -- true
like "$err" "would bring down the machine" "is refused"
exits 0 "a module that is not there" f record -q --module no_such_module -p function -o m.dat -- true
like "$err" "no module 'no_such_module'" "is said"
is "$(has m.dat ': function: ')" 0 "and nothing else is traced instead"
exits 0 "-e function:GLOB+COMMAND" f record -q -e 'function:vfs_read+stacktrace' -F -o fn.dat -- cat /proc/version
isnt "$(has fn.dat ': function: +vfs_read')" 0 "the function"
isnt "$(has fn.dat '^=> ksys_read')" 0 "and its stack"
is "$(grep -c vfs_read $t/set_ftrace_filter)" 0 "the command is gone afterwards"
exits 1 "a filter by field" f record -e 'graph:vfs_read/pid==1/' -o x.dat -- true
like "$err" "kprobe:vfs_read/FILTER/" "is what probes have"
exits 1 "a condition" f record -e function:vfs_read -R 'traceoff if pid==1' -o x.dat -- true
like "$err" "cannot have a condition" "is said"
exits 0 "perf ftrace -G FUNC -a" timeout 100 bin/perf ftrace -G vfs_read -a --graph-opts depth=2 -- cat /proc/version
like "$out" '^ 0\) .*\|  vfs_read\(\) \{' "the graph of that function on every CPU"
like "$out" 'Linux version' "and what the command prints"
is "$(cat $t/current_tracer $t/max_graph_depth $t/tracing_on | xargs)" "nop 0 1" "everything is as before"

done_testing
