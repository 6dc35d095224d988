#!/usr/bin/env bash
# where: host 6.1 6.12
# needs: root bpf uprobes
# run: places in programs (lines, static probes, other roots) and names of their stacks, also when they have ended.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root bpf tracefs uprobes
cd "$SONDE_TMP" || exit 1

run() { timeout 120 "$SONDE" run -q "$@"; }

# static probes
run -e "usdt:$SONDE:sonde:* { @[probe] = count(); }" -c "$SONDE workload usdt 100" >out.txt 2>err.txt
is "$(grep -c . out.txt) $(sed -n 's/^@\[usdt:.*:sonde:step\]: //p' out.txt)" "3 100" "a pattern of static probes: each by its own name" ||
	sed 's/^/# /' out.txt err.txt
run -e "usdt:$SONDE:sonde:step { @[arg1 == arg0 * arg0, str(arg2)] = count(); }" -c "$SONDE workload usdt 10" >out.txt 2>err.txt
is "$(grep . out.txt)" "@[true, even]: 5
@[true, odd]: 5" "their arguments" || sed 's/^/# /' err.txt
run -e "usdt:$SONDE:nosuch:nosuch { }" >out.txt 2>err.txt
is $? 1 "a static probe that is not there"

# the stack of a process that is gone when it is printed
run -e "uprobe:$SONDE:workload_run { @[ustack(2)] = count(); @sym[usym(reg(\"ip\"))] = count(); }" -c "$SONDE workload usdt 1" >out.txt 2>err.txt
like "$(cat out.txt)" '^    workload_run\+0$' "the stack of a process that has ended has names" || sed 's/^/# /' out.txt err.txt
like "$(cat out.txt)" '^@sym\[workload_run\]: 1$' "so have its addresses"
"$SONDE" run -q -e "uprobe:$SONDE:workload_run { @[ustack(1)] = count(); @n++; if (@n >= 3) { exit(); } }" >out.txt 2>err.txt &
pid=$!
one_more() {
	"$SONDE" workload usdt 1
	is_gone $pid
}
wait_until one_more
wait $pid
n=$(sed -n 's/^@n: //p' out.txt)
[ "${n:-0}" -ge 3 ] && [ "$(grep -c '^    workload_run+0$' out.txt)" -ge 3 ] && ! grep -q '^    0x' out.txt
ok $? "so have those of processes that began and ended meanwhile" || sed 's/^/# /' out.txt err.txt

# code that the process made itself
"$SONDE" workload jit 60 &
pid=$!
named() {
	run -p $pid -e "profile:hz:200 /pid == $pid/ { @[ustack(2)] = count(); @n++; if (@n > 20) { exit(); } }" >out.txt 2>err.txt
	grep -q 'jit_loop+' out.txt
}
wait_until named
ok $? "made code is named by perf-PID.map" || sed 's/^/# /' out.txt err.txt
kill $pid
wait $pid 2>/dev/null

# lines of source
if needs_or_skip "lines of programs" gcc; then done_testing; fi
cat >lines.c <<'END'
static volatile int sink;

static int work(int n)
{
	int sum = 0;
	for (int i = 0; i < n; i++)
		sum += i;
	sink = sum;
	return sum;
}

int main(void)
{
	for (int i = 0; i < 5; i++)
		work(i);
	return 0;
}
END
gcc -g -O0 -o lines lines.c
here=$PWD/lines
run -e "uprobe:$here@lines.c:7 { @[probe] = count(); } uprobe:$here:work { @calls = count(); }" -c "$here" >out.txt 2>err.txt
is "$(grep . out.txt)" "@[uprobe:$here@lines.c:7]: 10
@calls: 5" "a line of a program" || sed 's/^/# /' err.txt
run -e "uprobe:$here@lines.c:700 { }" >out.txt 2>err.txt
is $? 1 "a line that is not there"
like "$(cat err.txt)" 'line 700 of lines.c has no code' "is named"
like "$(cat err.txt)" '\^~+' "at its place in the script"
like "$(cat err.txt)" 'nearest line .* is 17' "with the nearest one that is there"
run -e "config = { missing_probes = \"warn\" } uprobe:$here@lines.c:700 { } BEGIN { exit(); }" >out.txt 2>err.txt
is $? 0 "only a warning where the script wants it so"
like "$(cat err.txt)" 'warning: .*line 700' "with the reason"

# memory
cat >watch.c <<'END'
volatile long watched;
int main(void)
{
	for (int i = 0; i < 5; i++)
		watched = i;
	return 0;
}
END
gcc -no-pie -o watch watch.c
address=$(nm watch | sed -n 's/ [BDS] watched$//p')
run -e "watchpoint:0x$address:8:w /comm == \"watch\"/ { @[usermode] = count(); }" -c ./watch >out.txt 2>err.txt
like "$(cat out.txt)" '^@\[1\]: 5$' "writes to an address" || sed 's/^/# /' out.txt err.txt

# what a path means to a process below another root
cat >tick.c <<'END'
#include <unistd.h>
__attribute__((noinline)) void tick(void)
{
	usleep(10000);
}
int main(void)
{
	for (;;)
		tick();
}
END
if ! gcc -static -o tick tick.c 2>gcc.txt; then
	skip "no static libc" "a path as the process of -p sees it"
	done_testing
fi
mkdir -p root/only-there
mv tick root/only-there/
chroot root /only-there/tick &
pid=$!
ticks() { [ "$(cat /proc/$pid/comm)" = tick ]; }
wait_until ticks
run -p $pid -e 'uprobe:/only-there/tick:tick { @[ustack(1)] = count(); @n++; if (@n >= 3) { exit(); } }' >out.txt 2>err.txt
like "$(cat out.txt)" '^    tick\+0$' "a path as the process of -p sees it, and names from its file" || sed 's/^/# /' out.txt err.txt
kill $pid
wait $pid 2>/dev/null
done_testing
