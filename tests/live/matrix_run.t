#!/usr/bin/env bash
# where: host
# needs: root bpf tracefs
# timeout: 120
# Rows of the acceptance matrix about scripts, on the machine itself: programs in the kernel on tracepoints, functions and static probes of
# programs; what they leave in maps and send through the ring. Counts are exact: the workloads do what they are told as often as told.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root bpf tracefs uprobes
cd "$SONDE_TMP" || exit 1
mkdir bin && ln -s "$SONDE" bin/stap
me=m$$ # the name of the thread, so that others do not count
ln -s "$SONDE" $me
run() { timeout 60 "$SONDE" run -q "$@"; }
value() { sed -n "s/^$1: //p" out.txt; }

# ---- a script becomes a program on a hook -----------------------------------------------------------------------------------------
run -e "tracepoint:syscalls:sys_enter_getppid /comm == \"$me\"/ { @ = count(); }" -c "./$me workload syscalls 1234" >out.txt 2>err.txt
is "$(value @)" 1234 "S0-107: a program runs at each hit of a tracepoint" || diag "$(cat err.txt)"
run -e "uprobe:$SONDE:workload_usdt { @ = count(); } uretprobe:$SONDE:workload_usdt { @r[retval] = count(); }" -c "./$me workload usdt 5" >out.txt 2>err.txt
is "$(value @) $(value '@r\[0\]')" "1 1" "S0-106: at each hit of a uprobe, and where the function returns" || diag "$(cat err.txt)"
if "$SONDE" run -l "usdt:$SONDE:*" | grep -q ':sonde:step$'; then
	run -e "usdt:$SONDE:sonde:step { @ = count(); } usdt:$SONDE:sonde:end { @end = count(); }" -c "./$me workload usdt 77" >out.txt 2>err.txt
	is "$(value @) $(value @end)" "77 1" "S0-108 S0-112: at each hit of a static probe" || diag "$(cat err.txt)"
	is "$("$SONDE" run -l "usdt:$SONDE:*" | sed 's/.*:sonde:/sonde:/' | paste -sd' ')" "sonde:begin sonde:step sonde:end" \
		"S0-112: static probes of a program are listed"
else
	skip "built without sys/sdt.h" "S0-108 S0-112: static probes"
fi
cat >all.bt <<END
tracepoint:syscalls:sys_enter_getppid /comm == "$me"/ { @hooks["tracepoint"]++; }
rawtracepoint:sched_process_exec /comm == "$me"/ { @hooks["raw tracepoint"]++; }
uprobe:$SONDE:workload_usdt { @hooks["uprobe"]++; }
software:page-faults:1 /comm == "$me"/ { @hooks["counter"]++; }
profile:hz:999 { @hooks["clock"]++; }
END
run -c "bash -c './$me workload syscalls 3; ./$me workload noploop 0.2; exec ./$me workload usdt 1'" all.bt >out.txt 2>err.txt
is "$(sed -n 's/^@hooks\[\(.*\)\]: [1-9][0-9]*$/\1/p' out.txt | sort | paste -sd,)" "clock,counter,raw tracepoint,tracepoint,uprobe" \
	"S0-102: one script, hooks of all kinds" || diag "$(cat err.txt)"

# ---- without a compiler -----------------------------------------------------------------------------------------------------------
is "$(env -i PATH=/nowhere "$SONDE" run -q -e 'begin { printf("%d\n", 6 * 7); exit(); }')" 42 "S0-104: a one-liner, with no compiler to be found"
echo 'begin { printf("%s\n", "from a file"); exit(); }' >file.bt
is "$(env -i PATH=/nowhere "$SONDE" run -q file.bt)" "from a file" "S0-104: and a file"
unlike "$(ldd "$SONDE")" 'LLVM|clang|libbcc' "S0-104 S2-080: no compiler is linked in"
# Where headers, debug information and compilers would be, nothing is.
hidden='for d in /usr/include /usr/src /lib/modules /usr/lib/debug /usr/lib/gcc; do [ ! -d $d ] || mount -t tmpfs none $d || exit 9; done; exec "$@"'
is "$(unshare -m bash -c "$hidden" - env -i PATH=/nowhere "$SONDE" run -q --stap -e 'probe kernel.trace("sched_switch") { if ($next->pid >= 0) { println("typed"); exit() } }' | sort -u)" typed \
	"S2-080: nor headers or debug information, for the kernel's types neither"

# ---- what a program writes --------------------------------------------------------------------------------------------------------
run -e "tracepoint:syscalls:sys_enter_getppid /comm == \"$me\"/ { @n++; @c = count(); @h = hist(@n); @by[@n % 3] = sum(@n); }" \
	-c "./$me workload syscalls 1000" >out.txt 2>err.txt
is "$(value @c) $(value '@by\[0\]') $(value '@by\[1\]') $(value '@by\[2\]')" "1000 166833 167167 166500" "S0-109: aggregates in maps, read at the end" || diag "$(cat out.txt err.txt)"
like "$(cat out.txt)" '^\[512, 1K\) +489 \|' "S0-109: and a histogram"
run -e "tracepoint:syscalls:sys_enter_getppid /comm == \"$me\"/ { @n++; printf(\"%d\\n\", @n); }" -c "./$me workload syscalls 2000" --no-final-maps >out.txt 2>err.txt
is "$(grep . out.txt | md5sum)$(cat err.txt)" "$(seq 2000 | md5sum)" "S0-111: what is printed arrives whole and in order"
# Nobody reads while it is written: what does not fit into the ring is counted.
"$SONDE" run -q --no-final-maps -e "config = { perf_rb_pages = 1 } tracepoint:syscalls:sys_enter_getppid /comm == \"$me\"/ { printf(\"%s %s %s\\n\", comm, comm, comm); }" >out.txt 2>err.txt &
pid=$!
wait_until catches $pid INT
wait_until counts_events $pid
kill -STOP $pid
"./$me" workload syscalls 3000
kill -CONT $pid
kill -INT $pid
wait $pid
lines=$(grep -c "^$me" out.txt) lost=$(sed -n 's/.*: \([0-9]*\) records lost.*/\1/p' err.txt)
is "$((lines + ${lost:-0}))" 3000 "S0-111: printed ($lines) and lost (${lost:-0}) are all that were sent" || diag "$(cat err.txt)"
[ "${lost:-0}" -gt 0 ]
ok $? "S0-111: a full ring is reported"

# What a script sends there is formatted by the kernel, and followed like any event.
exits 0 "S0-110: output through ftrace is followed" timeout 60 "$SONDE" ftrace stream -e bpf_trace:bpf_trace_printk -- \
	"$SONDE" run -q -e 'begin { @s = "text"; debugf("'$me' %d|%5u|%x %s\n", -5, 42, (uint8)255, @s); }'
like "$out" "bpf_trace_printk: +$me -5\|   42\|ff text\$" "S0-110: with its text and numbers" || diag "$err"
exits 1 "S0-110: what the kernel cannot format is refused" "$SONDE" run -e 'begin { debugf("%.3d\n", 1); }'

# ---- the code ---------------------------------------------------------------------------------------------------------------------
"$SONDE" run -d bpf -e 'begin { @x = 5; printf("%d\n", pid); }' >code.txt
like "$(cat code.txt)" '^ +[0-9]+: exit' "S0-113: the bytecode is shown, instruction by instruction"
last=$(sed -n 's/^ *\([0-9]*\): .*/\1/p' code.txt | tail -1)
"$SONDE" run -v -e 'begin { @x = 5; printf("%d\n", pid); }' >out.txt 2>err.txt
is "$(sed -n 's/^begin: \([0-9]*\) instructions.*/\1/p' err.txt)" "$((last + 1))" "S0-113: as many as the kernel was given" || diag "$(cat err.txt)"

# ---- SystemTap's language ---------------------------------------------------------------------------------------------------------
PATH=$PWD/bin:$PATH
is "$(stap -q -e 'probe begin { println("by -e"); exit() }')" "by -e" "S2-084: a script on the command line"
echo 'probe begin { println("by file ", @1); exit() }' >file.stp
is "$(stap -q file.stp arg)" "by file arg" "S2-084: and in a file, with arguments"
cat >sum.stp <<END
global calls, sizes
probe syscall.pwrite64 { if (execname() == "$me") { calls[name] <<< count; sizes <<< count } }
probe syscall.getppid { if (execname() == "$me" && pid() > 1) calls[name] <<< 1 }
probe end {
	foreach (c in calls-) printf("%s %d %d %d\n", c, @count(calls[c]), @sum(calls[c]), @max(calls[c]))
	print(@hist_log(sizes))
}
END
timeout 60 stap -q -c "bash -c './$me workload io 50; ./$me workload syscalls 20'" sum.stp >out.txt 2>err.txt
is "$(head -2 out.txt)" "pwrite64 50 204800 4096
getppid 20 20 1" "S2-079: extracted by field, filtered by name, summarised by call" || diag "$(cat out.txt err.txt)"
like "$(cat out.txt)" '^\[4K, 8K\) +50 \|' "S2-079: as a histogram, too"
done_testing
