#!/usr/bin/env bash
# where: 6.1
# needs: root tracefs debuginfo
# timeout: 300
# smp: 1
# Rows of the acceptance matrix about probes inside functions of the running kernel: with its debug information, and instruction by instruction.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root tracefs guest kprobes debuginfo
cd "$SONDE_TMP" || exit 1
mkdir bin && ln -s "$SONDE" bin/sonde && ln -s "$SONDE" bin/perf
export PATH=$PWD/bin:$PATH
events=$tracefs/kprobe_events

# ---- a function that was inlined everywhere -----------------------------------------------------------------------------------------
# Where packages put it, perf and sonde look for it.
mount -t tmpfs none /boot && ln -s "$SONDE_DEBUGINFO/vmlinux" "/boot/vmlinux-$(uname -r)"
exits 0 "S0-053: a string that a parameter points to" perf probe --add 'do_sys_open filename:string'
like "$err" '^Added new events:$' "S0-053: several places"
is "$(grep -c '^p:probe/do_sys_open.* filename_string=.*:string$' $events)" 9 "S0-053: one for each system call that it was inlined into"
echo 1 >$tracefs/events/probe/enable
cat /proc/version /proc/self/comm >/dev/null
echo 0 >$tracefs/events/probe/enable
like "$(cat $tracefs/trace)" 'cat-[0-9]+ .* do_sys_open[_0-9]*: .* filename_string="/proc/version"$' "S0-053: each open shows the path in quotes"
like "$(cat $tracefs/trace)" 'do_sys_open[_0-9]*: .* filename_string="/proc/self/comm"$' "S0-053: of every file"
exits 0 "S0-053: removed" perf probe -d 'probe:do_sys_open*'
is "$(cat $events)" "" "S0-053: nothing stays"
echo >$tracefs/trace

# ---- where instructions begin: the kernel's decoder, driven by its opcode map, is the judge ------------------------------------------
sonde probe --offsets do_prlimit >texts
sed 's/^ *+\([0-9]*\).*/\1/' texts >ours
end=$(tail -1 ours)
for ((at = 0; at <= end; at++)); do
	echo "p:chk/x do_prlimit+$at" >>$events && echo "-:chk/x" >>$events && echo $at
done >theirs 2>/dev/null
[ "$(wc -l <theirs)" -gt 50 ]
ok $? "S1-061: the kernel takes probes at many offsets of a function" || diag "$(wc -l theirs)"
is "$(diff ours theirs | head -5)" "" "S1-061: at those where instructions begin, and at no others"
exits 255 "S1-061: at any other" perf probe "do_prlimit+$(($(sed -n 2p ours) + 1))"
like "$err" 'in the middle of an instruction' "S1-061: the reason is given before the kernel is asked"

# ---- before and after one instruction, and after the function -------------------------------------------------------------------------
push=$(sed -n 's/^ *+\([0-9]*\) *push.*/\1/p' texts | head -1)
after=$(grep -x -A1 "$push" ours | tail -1)
exits 0 "S2-017 S2-018 S2-019: probes before an instruction, after it, and after the function" sonde record -q -g -o h.data \
	-e "kprobe:do_prlimit+5 sp=%sp" -e "kprobe:do_prlimit+$push sp=%sp" -e "kprobe:do_prlimit+$after sp=%sp" \
	-e 'kretprobe:do_prlimit $retval' -- bash -c 'ulimit -n >/dev/null'
sonde script -F comm,event,trace -i h.data >all 2>script.err
read -r -d '' -a sp <<<"$(sed -n 's/.*sp=0x\([0-9a-f]*\).*/\1/p' all | head -3)"
is "${#sp[@]}" 3 "S2-017: three stages of one call" || diag "$(cat all)"
is "${sp[1]:-x}" "${sp[0]:-y}" "S2-018: the probe is before the push: the stack is as at the entry"
is $((0x${sp[1]:-0} - 0x${sp[2]:-0})) 8 "S2-019: the next one is after it: the stack has grown"
is "$(sed -n 's/.*\(kprobe\|kretprobe\):do_prlimit.*/\1/p' all | head -4 | tr '\n' ' ')" "kprobe kprobe kprobe kretprobe " "S2-019: what happens after the function comes last"
like "$(sonde script -F event,sym,ip -i h.data 2>/dev/null)" 'do_syscall_64' "S2-017: with the stack of each"
is "$(cat $events)" "" "S2-017: nothing stays"

# ---- on a system at work ------------------------------------------------------------------------------------------------------------
dmesg >before
bash -c 'for ((i = 0; i < 200; i++)); do read -r x </proc/self/comm && [ "$x" = bash ] || exit 3; done' &
worker=$!
added=0
for ((i = 0; i < 5; i++)); do
	sonde probe -q -a mine:r=vfs_read -a mine:o=do_sys_openat2 && added=$((added + 1))
	echo 1 >$tracefs/events/mine/enable
	echo 0 >$tracefs/events/mine/enable
	sonde probe -q -d 'mine:*'
done
is $added 5 "S2-001: probes come and go while the system works"
wait $worker
is $? 0 "S2-001: which does not notice"
is "$(dmesg | diff before - | grep -iE 'BUG|WARNING|Oops|panic')" "" "S2-001: nor does the kernel complain"
exits 0 "S2-001: what they cost" sonde bench probe -t 0.1 ftrace int3
like "$out" '^int3 +[0-9.]+ ' "S2-001: is measured"
umount /boot
done_testing
