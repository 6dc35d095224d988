#!/usr/bin/env bash
# where: 6.1 6.12
# needs: root tracefs
# timeout: 300
# smp: 1
# `ftrace record -e kprobe:FUNC` and its relatives: arguments and results named and typed by the kernel's BTF, exact counts, as
# trace-cmd reads them; nothing of it stays, also after SIGKILL.
. "${SONDE_SRC:-.}/tests/lib.sh"
. "$SONDE_SRC/tests/ftrace_lib.sh"
need sonde root tracefs guest kprobes bpf
cd "$SONDE_TMP" || exit 1
rec() { "$SONDE" ftrace record -o t.dat "$@"; }
rep() { "$SONDE" ftrace report t.dat 2>&1; }
# Seven reads of 1234 bytes.
reads() { rec -q -F "$@" -- dd if=/dev/zero of=/dev/null bs=1234 count=7; }
echo 'p:mine/other vfs_fsync' >>$tracefs/dynamic_events
tracing_settle
tracing_state >before

exits 0 "a function with its arguments" reads -e kprobe:vfs_read
is "$(rep | grep -Ec ': vfs_read: +\([0-9a-f]+\) file=0x[0-9a-f]+ buf=0x[0-9a-f]+ count=1234 pos=0x[0-9a-f]+$')" 7 "is seen with their names and values"
! needs_or_skip "trace-cmd reads it" trace-cmd && is "$(trace-cmd report -i t.dat 2>/dev/null)" "$(rep)" "trace-cmd prints the same"
exits 0 "its result" reads -e kretprobe:vfs_read
is "$(rep | grep -Ec ': vfs_read__return: +\([0-9a-f]+ <- [0-9a-f]+\) ret=1234$')" 7 "as a number of its type"
exits 0 "entry and return, with a filter for the arguments" reads -e 'call:vfs_read/count == 1234/'
is "$(rep | grep -c ': vfs_read: ')" 7 "only those calls"
is "$(rep | grep -c ': vfs_read: .*count=1234')" 7 "the calls"
is "$(rep | grep -c ': vfs_read__return: .*ret=1234$')" 7 "and the results"
exits 0 "a string" rec -q -F -e 'kprobe:do_sys_openat2/filename ~ "*version"/' -- cat /proc/version
is "$(rep | grep -Ec ': do_sys_openat2: .* dfd=-100 filename="/proc/version" how=0x[0-9a-f]+$')" 1 "is printed as one, a negative number too"
exits 0 "a pattern" reads -e 'kprobe:vfs_rea[d]' -e 'kprobe:vfs_write*'
is "$(rep | grep -c ': vfs_read: .*count=1234')" 7 "probes what fits"
if grep -qF '<func-name>[%return]' $tracefs/README; then
	exits 0 "an fprobe" reads -e fprobe:vfs_read -e fretprobe:vfs_read
	is "$(rep | grep -c ': vfs_read: .*count=1234')" 7 "does the same"
	is "$(rep | grep -c ': vfs_read__return: .*ret=1234$')" 7 "with the result"
else
	exits 1 "an fprobe" reads -e fprobe:vfs_read
	like "$err" 'no fprobe events' "is not in this kernel"
fi
exits 0 "a dry run" rec --dry-run -e kprobe:vfs_read true
like "$out" "^echo 'p:sonde_RUN/vfs_read vfs_read file=\\\$arg1:x64 buf=\\\$arg2:x64 count=\\\$arg3:u64 pos=\\\$arg4:x64' >> .*/dynamic_events\$" "prints the definition"
exits 1 "a function that is not there" rec -e kprobe:vfs_raed true
like "$err" 'did you mean vfs_read' "names one that is"
exits 1 "too many" rec -e 'kprobe:*' true
like "$err" 'matches [0-9]+ functions, more than 256' "are refused"
exits 1 "start" "$SONDE" ftrace start -e kprobe:vfs_read
like "$err" 'record' "has no probes: they would stay"

# Killed at any moment.
left=0
for ms in 30 120 250 400 700; do
	rm -rf k.dat k.dat.parts
	"$SONDE" ftrace record -q -o k.dat -e call:vfs_read -- sleep 3 >/dev/null 2>&1 &
	pid=$!
	sleep "0.$(printf %03d $ms)"
	kill -KILL $pid 2>/dev/null
	wait $pid 2>/dev/null
	for ((w = 0; w < 600; w++)); do
		compgen -G "/run/sonde/ftrace/$pid-*.journal" >/dev/null || break
		sleep 0.05
	done
	! compgen -G "/run/sonde/ftrace/$pid-*.journal" >/dev/null && ! grep -q sonde_ $tracefs/dynamic_events || left=$((left + 1))
done
is $left 0 "nothing is left by those that are killed"
tracing_state >after
is "$(diff before after | head -20)" "" "tracefs is as it was before"
is "$(cat $tracefs/dynamic_events)" "p:mine/other vfs_fsync" "and the probe of somebody else is there"
echo '-:mine/other' >>$tracefs/kprobe_events
done_testing
