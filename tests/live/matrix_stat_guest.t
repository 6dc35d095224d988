#!/usr/bin/env bash
# where: 6.1
# needs: root
# timeout: 300
# Rows of the acceptance matrix: counting what needs kernel probes; and kprobe: events, which need no definition.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root guest perf_events tracefs
cd "$SONDE_TMP" || exit 1
mkdir bin && ln -s "$SONDE" bin/sonde
export PATH=$PWD/bin:$PATH
trap 'remove_probes; rm -rf "$SONDE_TMP"' EXIT
between() { # VALUE LOW HIGH NAME
	[ -n "$1" ] && [ "$1" -ge "$2" ] && [ "$1" -le "$3" ]
	ok $? "$4" || diag "got '$1', want $2 to $3"
}

if add_probe probe:clear_huge_page clear_huge_page; then
	[ ! -e /sys/kernel/mm/transparent_hugepage/enabled ] || echo always >/sys/kernel/mm/transparent_hugepage/enabled
	# 100 MB of fresh memory: some of it comes as huge pages.
	exits 0 "S0-041: stat -a -e probe:clear_huge_page -I 10000" \
		sonde stat -a -e probe:clear_huge_page -I 10000 -- sh -c 'sonde workload faults 25000 & sleep 10.2; wait'
	is "$(grep -cE '^ +[0-9]+\.[0-9]{9} +[0-9]+ +probe:clear_huge_page' <<<"$err")" 2 "S0-041: a row after ten seconds, and the rest"
	between "$(awk '/clear_huge_page/ { print $2; exit }' <<<"$err")" 0 1000000 "S0-041: hits of the probe"
	remove_probes
else
	skip "$reason" "S0-041: stat -a -e probe:clear_huge_page -I 10000"
fi
if add_probe probe:getppid getppid=__x64_sys_getppid; then
	exits 0 "S0-041: hits of a probe that is known to be hit" sonde stat -x, -e probe:getppid -- sonde workload syscalls 2222
	between "$(cut -d, -f1 <<<"$err")" 2222 2300 "S0-041: are all counted"
	remove_probes
else
	skip "$reason" "S0-041: hits of a probe that is known to be hit"
fi

# ---- one -e takes all kinds of events
libc=$(ldd "$SONDE" | awk '$1 ~ /^libc\.so/ { print $3 }')
if [ -r "$libc" ]; then
	exits 0 "S4-104: counters, tracepoints, kprobes and uprobes in one command" \
		sonde stat -x, -e cycles,page-faults,syscalls:sys_enter_getppid,kprobe:__x64_sys_getppid,uprobe:"$libc":malloc -- sonde workload syscalls 1000
	is "$(cut -d, -f3 <<<"$err" | xargs)" "cycles page-faults syscalls:sys_enter_getppid kprobe:__x64_sys_getppid uprobe:$libc:malloc" "S4-104: all five are there"
	between "$(awk -F, '/sys_enter_getppid/ { print $1 }' <<<"$err")" 1000 1100 "S4-104: the tracepoint"
	between "$(awk -F, '/kprobe:/ { print $1 }' <<<"$err")" 1000 1100 "S4-104: the kernel probe"
	between "$(awk -F, '/uprobe:/ { print $1 }' <<<"$err")" 1 100000000 "S4-104: the probe in a library"
	like "$(grep cycles <<<"$err")" '^([0-9]+|<not supported>),' "S4-104: and the counter, where the machine has one"
else
	skip "no libc" "S4-104: counters, tracepoints, kprobes and uprobes in one command"
fi

# ---- without a definition
exits 0 "kprobe: and kretprobe:" sonde stat -x, -e kprobe:__x64_sys_getppid,kretprobe:__x64_sys_getppid -- sonde workload syscalls 500
is "$(awk -F, '{ print ($1 >= 500 && $1 < 600) }' <<<"$err" | xargs)" "1 1" "count calls and returns"
exits 129 "a function that is not there" sonde stat -e kprobe:vfs_reed -- true
like "$err" "no function 'vfs_reed'" "is said"
like "$err" 'did you mean vfs_read\?' "with what is close"
exits 129 "a function of a module that is not there" sonde stat -e kprobe:nosuch:vfs_read -- true
like "$err" 'leave out the module' "is said, too"
is "$(cat $tracefs/kprobe_events)" "" "and nothing is left behind"
done_testing
