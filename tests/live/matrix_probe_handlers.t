#!/usr/bin/env bash
# where: 6.1
# needs: root tracefs
# timeout: 300
# smp: 1
# Rows of the acceptance matrix about what a module with a kprobe does (handlers before and after, messages, stacks):
# here without a module.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root tracefs guest kprobes bpf
cd "$SONDE_TMP" || exit 1
mkdir bin && ln -s "$SONDE" bin/sonde && ln -s "$SONDE" bin/perf
export PATH=$PWD/bin:$PATH
mount -t debugfs nodev /sys/kernel/debug 2>/dev/null
events=$tracefs/kprobe_events
limits() { bash -c 'ulimit -n >/dev/null'; }

# ---- before and after a function --------------------------------------------------------------------------------------------------
exits 0 "S2-029 S2-030 S2-031 S2-026: messages with addresses and stacks" sonde run -e "
kprobe:kernel_clone { printf(\"pre_handler called before p->addr=0x%llx\\n%s\\n\", func == \"\" ? 0 : reg(\"ip\"), kstack); }
kretprobe:kernel_clone { printf(\"post_handler called after p->addr=0x%llx\\n\", reg(\"ip\")); }" -c 'bash -c "(true); (true)"'
like "$out" '^pre_handler called before p->addr=0x[0-9a-f]+$' "S2-029 S2-040: a message for each fork, with the address"
like "$out" '^post_handler called after p->addr=0x[0-9a-f]+$' "S2-031 S2-040: and one when it has returned"
like "$out" 'kernel_clone\+[0-9]+$' "S2-030 S2-026: the stack begins with the function"
like "$out" 'do_syscall_64\+[0-9]+$' "S2-030 S2-040 S2-026: and leads to the system call"
is "$(grep -c '^pre_handler' <<<"$out")" "$(grep -c '^post_handler' <<<"$out")" "S2-026: as many entries as returns"

# ---- a probe and its messages --------------------------------------------------------------------------------------------------------
exits 0 "S2-037 S4-299 S2-121: registered" perf probe --add kernel_clone
like "$err" '^Added new event:$' "S2-037 S4-299: which is confirmed"
is "$(grep -c '^p:probe/kernel_clone kernel_clone' $events)" 1 "S2-121: kprobe_events has the definition"
echo 1 >$tracefs/events/probe/kernel_clone/enable
like "$(sonde probe --offsets kernel_clone | head -1)" 'call' "S2-044: while it is on, the entry is a call"
bash -c '(true); (true); (true)'
like "$(cat $tracefs/kprobe_profile)" '^ +kernel_clone +[1-9][0-9]* +0$' "S2-122: kprobe_profile has hits and misses"
like "$(perf probe -l)" 'probe:kernel_clone +\(on kernel_clone' "S4-299: it is listed"
echo 0 >$tracefs/events/probe/kernel_clone/enable
exits 0 "S2-038 S2-044 S4-299: unregistered" perf probe --del probe:kernel_clone
is "$err" "Removed event: probe:kernel_clone" "S2-038 S4-299: which is confirmed"
is "$(cat $events)" "" "S2-044 S2-121: it is gone"
is_nop() { sonde probe --offsets kernel_clone | head -1 | grep -q nop; }
wait_until is_nop
ok $? "S2-044: and the entry a NOP again"
exits 255 "S2-035: a function that is not there" perf probe kernel_clon
like "$err" "kernel_clon" "S2-035: is named"
like "$err" "did you mean .*kernel_clone" "S2-035: with the closest"
exits 255 "S2-036: a function that may not be probed" perf probe do_int3
like "$err" 'blacklist|does not allow' "S2-036: with the reason"
exits 255 "S2-036: another kind of them" perf probe common_interrupt
like "$err" 'common_interrupt' "S2-036: is named"

# ---- the stack as an argument ----------------------------------------------------------------------------------------------------------
exits 0 "S1-040 S1-041: the stack" sonde probe -q 'mine:stack=do_prlimit where=$stack top=$stack0 first=+0($stack):x64 second=+8($stack):x64 third=$stack1'
echo 1 >$tracefs/events/mine/enable
limits
echo 0 >$tracefs/events/mine/enable
row=$(grep -m 1 'where=' $tracefs/trace)
like "$row" 'where=0x[0-9a-f]{16} top=0x[0-9a-f]+ ' "S1-041: its address"
read -r top first second third <<<"$(sed -n 's/.*top=\(0x[0-9a-f]*\) first=\(0x[0-9a-f]*\) second=\(0x[0-9a-f]*\) third=\(0x[0-9a-f]*\).*/\1 \2 \3 \4/p' <<<"$row")"
is "$top" "$first" "S1-040 S1-041: \$stack0 is what lies there"
is "$third" "$second" "S1-040: \$stack1 is what lies after it"
sonde probe -q -d 'mine:*'
done_testing
