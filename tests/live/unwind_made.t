#!/usr/bin/env bash
# Stacks through code that a program made at run time. Trampolines like those of python -X perf have neither unwind tables nor a frame
# pointer: they are followed to their return. What cannot be followed is counted by its reason, and the reasons add up.
# where: host
# needs: perf_events
# timeout: 180
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde
command -v gcc >/dev/null || { skip "there is no gcc" "trampolines"; done_testing; exit; }
[ "$(uname -m)" = x86_64 ] || { skip "arm64 always keeps a frame pointer" "trampolines"; done_testing; exit; }
cd "$SONDE_TMP" || exit 1
export HOME=$SONDE_TMP
cat >tramp.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static volatile unsigned long sink;
typedef void fn(int, int, int, void *);
static fn *made;
static __attribute__((noinline)) void spin(void) { for (int i = 0; i < 20000; i++) sink += i; sink++; }
__attribute__((noinline)) void level(int n, int b, int c, void *next)
{
	if (n)
		made(n - 1, b, c, next); /* calls its fourth argument */
	else
		spin();
	sink++;
}
static __attribute__((noinline)) void first(int ms_ignored, int depth) { for (int i = 0; i < ms_ignored; i++) level(depth, 0, 0, level); sink++; }
int main(int argc, char **argv)
{
	/* sub $8,%rsp; call *%rcx; add $8,%rsp; ret */
	static const unsigned char python[] = { 0x48, 0x83, 0xec, 8, 0xff, 0xd1, 0x48, 0x83, 0xc4, 8, 0xc3 };
	/* The same with 24 bytes. */
	static const unsigned char wide[] = { 0x48, 0x83, 0xec, 24, 0xff, 0xd1, 0x48, 0x83, 0xc4, 24, 0xc3 };
	/* sub $8,%rsp; call *%rcx; jmp 1f; 1: add $8,%rsp; ret */
	static const unsigned char jumps[] = { 0x48, 0x83, 0xec, 8, 0xff, 0xd1, 0xeb, 0, 0x48, 0x83, 0xc4, 8, 0xc3 };
	unsigned char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (argc < 4 || page == MAP_FAILED)
		return 2;
	if (argv[1][0] == 'j')
		memcpy(page, jumps, sizeof(jumps));
	else
		memcpy(page, argv[1][0] == 'w' ? wide : python, sizeof(python));
	if (mprotect(page, 4096, PROT_READ | PROT_EXEC))
		return 3;
	made = (fn *)page;
	first(atoi(argv[2]), atoi(argv[3]));
	sleep(1); /* so that the recorder has seen where the code is while there is a process */
	return 0;
}
END
gcc -O2 -fomit-frame-pointer -fno-optimize-sibling-calls -o tramp tramp.c || { ok 1 "the program is built"; done_testing; exit; }

# run NAME COPY KIND TURNS DEPTH
run() { "$SONDE" record -F 999 -e cpu-clock:u --call-graph "dwarf,$2" -o "$1.data" -- ./tramp "$3" "$4" "$5" 2>"$1.err"; }
# How many stacks with spin() reach main(), of how many.
whole() {
	"$SONDE" script -F ip,sym -i "$1.data" 2>/dev/null |
		awk '/^$/ { n += spin; w += spin && main; spin = main = 0 } / spin/ { spin = 1 } / main/ { main = 1 } END { n += spin; w += spin && main; print w + 0, n + 0 }'
}
run good 8192 python 40000 4
read -r reach all < <(whole good)
[ "$all" -ge 50 ] && [ "$reach" = "$all" ]
ok $? "through Python's trampolines: $reach of $all stacks reach main" || diag "$(cat good.err)"
like "$("$SONDE" script -F ip,sym -i good.data 2>/dev/null | tr '\n' ' ')" 'spin[^a-z]+[0-9a-f]+ level [^a-z]*[0-9a-f]+ \[unknown\] [^a-z]*[0-9a-f]+ level' \
	"the trampolines are frames among the others"

# One that jumps is not followed: the stack ends there, and the closing line says why.
classes() { sed -n 's/.* stacks truncated (\(.*\)); recorder used.*/\1/p' "$1.err" | tr ',' '\n' | sed -n 's/^ *\([0-9]*\): .*/\1/p' | awk '{ n += $1 } END { print n + 0 }'; }
total() { sed -n 's/.* \([0-9]*\) of [0-9]* stacks truncated.*/\1/p' "$1.err"; }
run bad 8192 jumps 40000 4
read -r reach all < <(whole bad)
[ "$all" -ge 50 ] && [ "$reach" = 0 ]
ok $? "one that is not understood ends the stack: nothing is made up ($reach of $all)" || diag "$(cat bad.err)"
like "$(cat bad.err)" 'stacks truncated \(.*[0-9]+: code without unwind tables' "... and that is the reason in the closing line"
is "$(classes bad)" "$(total bad)" "the reasons add up"
run short 512 python 40000 60
like "$(cat short.err)" '[0-9]+: longer than the copy' "a copy that is too short is another reason"
is "$(classes short)" "$(total short)" "the reasons add up again"
"$SONDE" record --json -F 999 -e cpu-clock:u --call-graph dwarf,512 -o json.data -- ./tramp python 3000 60 >json.out 2>/dev/null
like "$(cat json.out)" '"truncated_because":\{.*"longer than the copy":[0-9]+' "--json has the reasons, too"

# A recording of perf's has no code of theirs: what stands above the eight bytes of such a trampoline is looked at instead, by ours only.
if command -v perf >/dev/null && perf record -q -F 999 -e cpu-clock:u --call-graph dwarf,8192 -o perf.data -- ./tramp python 40000 4 2>perf.err; then
	mv perf.data theirs.data
	read -r reach all < <(whole theirs)
	[ "$all" -ge 20 ] && [ "$reach" = "$all" ]
	ok $? "perf's recording: $reach of $all stacks reach main"
	perf record -q -F 999 -e cpu-clock:u --call-graph dwarf,8192 -o wide.data -- ./tramp wide 40000 4 2>perf.err
	read -r reach all < <(whole wide)
	[ "$all" -ge 20 ] && [ "$reach" = 0 ]
	ok $? "one of another size ends the stack ($reach of $all)"
else
	skip "perf cannot record here: $(tail -n 1 perf.err 2>/dev/null)" "perf's recording"
	skip "perf cannot record here" "one of another size"
fi
done_testing
