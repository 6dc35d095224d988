#!/usr/bin/env bash
# where: 6.1 6.12
# needs: root tracefs module
# timeout: 300
# Code of one's own in the kernel: a module (tests/vm/module, built against the guest's headers) with an event, trace_printk(), tracing_on() and
# tracing_off(), ftrace_dump() and a kprobe, all seen through sonde. Rows of the matrix stand at the head of names.
. "${SONDE_SRC:-.}/tests/lib.sh"
need root tracefs module sonde
cd "$SONDE_TMP" || exit 1
trace=/sys/kernel/tracing
do_it() { echo "$1" >/proc/sonde_test; }

[ -e "$SONDE_TEST_MODULE/sonde_test.ko" ]
ok $? "S2-027 S2-039 S4-257 S4-377: a module builds against the headers of this kernel" || done_testing
for part in Kbuild Module.symvers modules.order sonde_test.c sonde_test.ko sonde_test.mod.c sonde_test.mod.o sonde_test.o; do
	grep -qx "./$part" "$SONDE_TEST_MODULE/products"
	ok $? "S2-041: $part is there"
done
busybox insmod "$SONDE_TEST_MODULE/sonde_test.ko"
ok $? "and loads" || done_testing

is "$("$SONDE" buildid-list -m | awk '$2 != "" { print $2, $3, $NF }' | grep sonde_test)" \
	"$(awk '$1 == "sonde_test" { sub("0x", "", $6); print $6 }' /proc/modules) \
$(awk '$1 == "sonde_test" { print $2, $6 }' /proc/modules | { read -r size at; printf '%x' $((at + size)); }) [sonde_test]" \
	"buildid-list -m: its place, its name in brackets, as it is in no modules.dep"
is "$("$SONDE" buildid-list -m | awk '{ print $(NF - 2) }')" "$("$SONDE" buildid-list -m | awk '{ print $(NF - 2) }' | sort)" "buildid-list -m: in the order of addresses"

# ---- an event of one's own
exits 0 "list" "$SONDE" list 'sonde_test:*'
like "$out" "sonde_test:sonde_exit .*\[Tracepoint event\]" "S4-256 S4-258: the event is listed like the kernel's"
exits 0 "list -v" "$SONDE" list -v sonde_test:sonde_exit
like "$out" "reason" "S4-261 S4-262: with its fields"
like "$out" "err" "both of them"
exits 0 "ftrace list -e -F" "$SONDE" ftrace list -e sonde_exit -F
like "$out" "field:u32 reason" "S4-261 S4-262: and their types, as they were declared"
exits 0 "stat" "$SONDE" stat -e sonde_test:sonde_exit -x, -- sh -c 'echo event >/proc/sonde_test; echo event >/proc/sonde_test'
is "$(cut -d, -f1 <<<"$err$out" | grep -x 8)" 8 "S4-266 S4-267: two loops of four calls are eight events"

exits 0 "ftrace record" "$SONDE" ftrace record -q -e sonde_test -T -o own.dat sh -c 'echo event >/proc/sonde_test'
exits 0 "ftrace report" "$SONDE" ftrace report -i own.dat
is "$(sed -n 's/.*sonde_exit: *//p' <<<"$out" | tr '\n' ';')" "reason IO (2);reason error (22);reason restart (4);reason UNKNOWN (0);" \
	"S4-259 S4-260 S4-263 S4-264 S4-265: what the event says, with its names and its choice between them"
like "$out" "=> sonde_test_loop" "S2-042: and the way to it, through the module's own functions"
like "$out" "=> proc_reg_write" "and the kernel's"
exits 0 "record" "$SONDE" record -q -e sonde_test:sonde_exit -g -o own.data -- sh -c 'echo event >/proc/sonde_test'
exits 0 "script" "$SONDE" script -i own.data
is "$(sed -n 's/.*sonde_exit: *//p' <<<"$out" | tr '\n' ';')" "reason IO (2);reason error (22);reason restart (4);reason UNKNOWN (0);" \
	"the same through perf's interface"
like "$out" 'sonde_test_loop\+0x[0-9a-f]+ \(\[sonde_test\]\)' "and the module's functions have their names in call chains"
exits 0 "report" "$SONDE" report --stdio -i own.data --sort sym,dso -g none
like "$out" '\[sonde_test\]' "and in reports"

# ---- a probe on the module
exits 0 "S1-160: probe -m" "$SONDE" probe -m sonde_test sonde_test_loop
is "$(grep -Ec ' sonde_test:sonde_test_loop(\+0)?$' $trace/kprobe_events)" 1 "S1-160: a function of a module"
exits 0 "S1-160: is counted" "$SONDE" stat -x, -e probe:sonde_test_loop -- sh -c 'echo event >/proc/sonde_test'
is "$(cut -d, -f1 <<<"$err$out" | grep -xc 0)" 0 "S1-160: and hit"
exits 0 "S1-160: without a probe left" "$SONDE" probe -q -d probe:sonde_test_loop

# ---- trace_printk(): in the top buffer, between the events where it happened
"$SONDE" ftrace reset --force >/dev/null 2>&1
exits 0 "start" "$SONDE" ftrace start -e sonde_test
do_it print
exits 0 "stop" "$SONDE" ftrace stop
exits 0 "show" "$SONDE" ftrace show
is "$(sed -n 's/.*: \(sonde_[a-z_]*: .*\)/\1/p' <<<"$out" | tr '\n' ';')" \
	"sonde_exit: reason IO (2);sonde_test_print: between 1 and two;sonde_exit: reason UNKNOWN (0);sonde_test_print: from an inlined function;" \
	"S4-328 S4-329 S4-330 S4-331: trace_printk stands between the events, under the name of its function, inlined under that of the outer one"
exits 0 "extract" "$SONDE" ftrace extract -o printed.dat
exits 0 "report" "$SONDE" ftrace report -i printed.dat
like "$out" "bprint: *sonde_test_print: between 1 and two" "and in a file, with the text that the module brought"
"$SONDE" ftrace reset --force >/dev/null 2>&1

# ---- tracing_on(), tracing_off()
exits 0 "start" "$SONDE" ftrace start -e sonde_test
do_it off
do_it event
is "$(cat $trace/tracing_on)" 0 "S4-362: the module switches tracing off"
is "$("$SONDE" ftrace show 2>/dev/null | grep -c sonde_exit)" 0 "and nothing is recorded then"
do_it on
do_it event
is "$("$SONDE" ftrace show 2>/dev/null | grep -c sonde_exit)" 4 "and on again"

# ---- the buffer in the kernel's log
busybox dmesg -c >/dev/null
do_it dump
like "$(busybox dmesg)" "Dumping ftrace buffer" "S4-365: the module has the buffer printed"
like "$(busybox dmesg)" "sonde_exit: reason restart \(4\)" "S4-366: what happened before, event by event"
is "$("$SONDE" ftrace show 2>/dev/null | grep -c sonde_exit)" 0 "what was printed is taken"
do_it on
do_it event
busybox dmesg -c >/dev/null
echo 1 >/proc/sys/kernel/ftrace_dump_on_oops
(do_it oops) 2>/dev/null
echo 0 >/proc/sys/kernel/ftrace_dump_on_oops
log=$(busybox dmesg)
like "$log" "NULL pointer dereference" "an oops"
like "$log" "Dumping ftrace buffer" "S4-363: prints the trace before it"
like "$log" "sonde_exit: reason restart \(4\)" "with what led to it"
"$SONDE" ftrace reset --force >/dev/null 2>&1

# ---- a kprobe of the module's own
do_it probe
ok $? "S2-024: register_kprobe()"
grep -q 'k  sonde_test_step' /sys/kernel/debug/kprobes/list
ok $? "the kernel lists it"
do_it event
is "$(cat /proc/sonde_test)" 4 "and it was hit"
do_it unprobe
grep -q sonde_test_step /sys/kernel/debug/kprobes/list
isnt $? 0 "S2-025: unregister_kprobe(), and it is gone"
done_testing
