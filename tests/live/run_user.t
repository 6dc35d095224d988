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

# a stack to be named elsewhere: build ID and place in the file
run -e "uprobe:$SONDE:workload_run { print(ustack(build_id, 1)); }" -c "$SONDE workload usdt 1" >out.txt 2>err.txt
id=$(readelf -n "$SONDE" 2>/dev/null | sed -n 's/.*Build ID: //p')
where=$(readelf -sW "$SONDE" 2>/dev/null | awk '$8 == "workload_run" { print "0x" $2; exit }')
if [ -z "$id" ] || [ -z "$where" ]; then
	skip "ustack(build_id)" "readelf does not tell"
else
	# From the address that the linker gave to where it is in the file.
	off=
	readelf -lW "$SONDE" >segments
	while read -r kind o v _ s _; do
		if [ "$kind" = LOAD ] && ((where >= v && where < v + s)); then off=$(printf '0x%x' $((where - v + o))); fi
	done <segments
	is "$(sed 's/^ *//' out.txt | grep .)" "$id $off" "ustack(build_id): the build ID, and where in the file" || sed 's/^/# /' err.txt
fi
exits 1 "build IDs of a kernel stack" "$SONDE" run -q -e 'begin { print(kstack(build_id)); }'
like "$err" "only a ustack has build IDs" "are refused"

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

# variables by name
cat >names.c <<'END'
#include <string.h>
struct inner { char tag; short v[3]; };
struct item { int id; char name[12]; struct item *next; struct inner in; unsigned a : 3, b : 7; };
static volatile long sink;
__attribute__((noipa)) long work(struct item *n, double f, int count, const char *what, unsigned char c)
{
	long sum = 0;
	for (int i = 0; i < count; i++) {
		long twice = i * 2 + n->id;
		sum += twice;
		sink = sum;
	}
	struct item copy = *n;
	sink += copy.id + c + (long)f;
	return sum + (long)strlen(what);
}
int main(void)
{
	struct item second = { .id = 9, .name = "second" };
	struct item n = { .id = 7, .name = "first", .next = &second, .in = { 'x', { 1, 2, 3 } }, .a = 5, .b = 100 };
	char hello[] = "hello"; /* on the stack, which is there: a probe reads no page that is not */
	work(&n, 2.5, 3, hello, 200);
	return 0;
}
END
for level in 0 2; do
	gcc -g -O$level -o names$level names.c
	run -e "uprobe:./names$level:work { printf(\"%d %s %d %s\n\", args.count, str(args.what), args.c, args.n.next.name);
		print((args.n.in.v[2], args.n.a, args.n->b)); print(*args.n); }" -c ./names$level >out.txt 2>err.txt
	is "$(sed 's/0x[0-9a-f]*/P/; /^$/d' out.txt)" "3 hello 200 second
(3, 5, 100)
{ .id = 7, .name = first, .next = P, .in = { .tag = 120, .v = [1,2,3] }, .a = 5, .b = 100 }" "-O$level: parameters of a function by name, with the members of what they point to" || sed 's/^/# /' out.txt err.txt
done
run -e 'uprobe:./names0@names.c:10 { @[args.i, args.sum, args.twice] = count(); @id = args.n.id; }
	uprobe:./names0@names.c:14 { @copy = (args.copy.name, args.copy.in.v[1], args.copy.b); }' -c ./names0 >out.txt 2>err.txt
is "$(grep . out.txt)" "@[0, 0, 7]: 1
@[1, 7, 9]: 1
@[2, 16, 11]: 1
@copy: (first, 2, 100)
@id: 7" "local variables at a line, also of inner blocks, and members of structs among them" || sed 's/^/# /' out.txt err.txt
run -e 'uprobe:./names0:work { print(args); }' -c ./names0 >out.txt 2>err.txt
like "$(cat out.txt)" '^\{ \.n = 0x[0-9a-f]+, \.count = 3, \.what = 0x[0-9a-f]+, \.c = 200 \}$' "all of them; a floating-point number is left out"
run -e 'uprobe:./names0@names.c:10 { print(args.twic); }' >out.txt 2>err.txt
is $? 1 "a misspelt variable"
like "$(cat err.txt)" "did you mean 'twice'" "is answered with the nearest one"
run -e 'uprobe:./names0:work { print(args.n.nosuch); }' >out.txt 2>err.txt
like "$(cat err.txt)" "item has no member 'nosuch'" "so is a member" || sed 's/^/# /' err.txt
strip -o bare names0
run -e 'uprobe:./bare:0x1139 { print(args.n); }' >out.txt 2>err.txt
is $? 1 "a program without debug information"
like "$(cat err.txt)" 'arguments of uprobe:./bare:0x1139 are not known' "has no names" || sed 's/^/# /' err.txt

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
