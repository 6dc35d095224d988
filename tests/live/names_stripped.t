#!/usr/bin/env bash
# Programs without symbols: their unwind tables tell where functions begin and end, and every view names them by that place; called as
# perf they stay addresses unless asked. Offsets are compared with the symbols that were stripped.
# where: host
# needs: perf_events
# timeout: 120
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde
for t in gcc nm readelf strip; do
	command -v $t >/dev/null || { skip "there is no $t" "stripped programs"; done_testing; exit; }
done
cd "$SONDE_TMP" || exit 1
export HOME=$SONDE_TMP
cat >two.c <<'END'
#include <stdlib.h>
static volatile unsigned sink;
static __attribute__((noinline)) void alpha(unsigned n) { while (n--) sink += n; }
static __attribute__((noinline)) void beta(unsigned n) { while (n--) sink ^= n; alpha(50000); sink++; }
int main(int argc, char **argv)
{
	for (int i = 0; i < atoi(argv[1]); i++) { alpha(100000); beta(100000); }
	return argc - 2;
}
END
gcc -O1 -fno-optimize-sibling-calls -o whole two.c && strip -o stripped whole || { ok 1 "the program is built"; done_testing; exit; }

# NAME -> func_0xOFFSET, as the linker laid it out
delta=$(readelf -SW whole | awk '{ sub(/^ *\[ *[0-9]+\] */, "") } $1 == ".text" { print "0x" $3, "0x" $4 }')
called() { printf 'func_0x%x' $((0x$(nm whole | awk -v n="$1" '$3 == n { print $1 }') - ${delta% *} + ${delta#* })); }
alpha=$(called alpha) beta=$(called beta) main=$(called main)

"$SONDE" record -q -F 999 -e cpu-clock:u --call-graph dwarf -o two.data -- ./stripped 300 2>/dev/null
rows() { "$SONDE" report --stdio -g none --no-children --sort sym --dsos stripped -i two.data "$@" 2>/dev/null; }
got=$(rows | sed -n 's/.*\[\.\] *\([^ ]*\) *$/\1/p' | sort | tr '\n' ' ')
is "$got" "$(printf '%s\n' "$alpha" "$beta" | sort | tr '\n' ' ')" "report: one row for each function that was hit"
like "$(rows --children)" "\\] $main" "report: callers, too"
like "$("$SONDE" script -F ip,sym -i two.data 2>/dev/null)" "$alpha" "script"
like "$("$SONDE" export --to folded -o - -i two.data 2>/dev/null)" "$main;$beta;$alpha " "export: frames are split by function"
"$SONDE" flame -o two.html -i two.data >/dev/null 2>&1
python3 "$SONDE_SRC/tests/golden/flame/read_page.py" two.html >page 2>&1
like "$(cat page)" "$beta" "flame: frames are split by function"
like "$("$SONDE" annotate --stdio -i two.data "$alpha" 2>/dev/null)" "<$alpha>:" "annotate shows the function by that name"
like "$(rows --no-func-names)" '\] 0x0000' "--no-func-names: addresses"
unlike "$(rows --no-func-names)" 'func_0x' "... and nothing else"

ln -s "$SONDE" perf
as_perf() { ./perf report --stdio -g none --no-children --sort sym --dsos stripped -i two.data "$@" 2>/dev/null; }
like "$(as_perf)" '\] 0x0000' "called as perf: addresses, as perf prints them"
unlike "$(as_perf)" 'func_0x' "called as perf: no made-up names"
like "$(as_perf --func-names)" "\\] $alpha" "called as perf, asked for them: the names"

# What would have the symbols: of a program of ours nobody knows, of Debian's the package.
cat >many.c <<'END'
#include <stdlib.h>
#define F(n) static __attribute__((noinline)) void f##n(void) { for (volatile int i = 0; i < 2000; i++) { } }
#define TEN(m) m(0) m(1) m(2) m(3) m(4) m(5) m(6) m(7) m(8) m(9)
#define CALL(n) f##n();
TEN(F)
int main(int argc, char **argv) { for (int i = atoi(argv[1]); i; i--) { TEN(CALL) } return argc - 2; }
END
gcc -O1 -o many many.c && strip many
"$SONDE" record -q -F 1999 -e cpu-clock:u -o many.data -- ./many 20000 2>/dev/null
err=$("$SONDE" report --stdio -g none -i many.data 2>&1 >/dev/null)
like "$err" 'many is stripped: [0-9]+ of the [0-9]+ addresses in it have no symbol' "a stripped program is noted"
like "$err" 'hint: install its debug symbols, or set DEBUGINFOD_URLS' "... with what helps"
for verb in "script" "annotate --stdio" "flame -o many.html"; do # once, and not for each sample or round
	# shellcheck disable=SC2086
	err=$("$SONDE" $verb -i many.data 2>&1 >/dev/null)
	is "$(grep -c 'many is stripped: .* have no symbol' <<<"$err")" 1 "$verb: noted, too" || diag "$err"
done
"$SONDE" record -q -F 1999 -e cpu-clock:u -o - -- ./many 20000 2>/dev/null | "$SONDE" script -i - 2>err >/dev/null
is "$(grep -c 'many is stripped' err)" 1 "script of a stream: noted once"
python=$(readlink -f /usr/bin/python3)
if [ -f "/var/lib/dpkg/info/${python##*/}-minimal.list" ] && [ ! -f "/var/lib/dpkg/info/${python##*/}-dbg.list" ]; then
	"$SONDE" record -q -F 1999 -e cpu-clock:u -g -o python.data -- "$python" -S -c 'x = sum(len(repr({i: [i] * 9})) for i in range(300000))' 2>/dev/null
	like "$("$SONDE" report --stdio -g none -i python.data 2>&1 >/dev/null)" "hint: apt install .*${python##*/}-dbg" "of Debian's Python: the package that has its symbols"
else
	skip "no Python of Debian's, or its symbols are installed" "the package that has its symbols"
fi

# Code made at run time, without a word about it.
if [ "$(uname -m)" = x86_64 ]; then
	cat >jit.c <<'END'
#include <string.h>
#include <sys/mman.h>
int main(void)
{
	static const unsigned char loop[] = { 0x48, 0xff, 0xcf, 0x90, 0x90, 0x75, 0xf9, 0xc3 }; /* dec %rdi; nop; nop; jne; ret */
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED || !memcpy(page, loop, sizeof(loop)) || mprotect(page, 4096, PROT_READ | PROT_EXEC))
		return 1;
	((void (*)(unsigned long))page)(900000000);
	return 0;
}
END
	gcc -O1 -o jit jit.c
	"$SONDE" record -q -F 1999 -e cpu-clock:u -o jit.data -- ./jit 2>/dev/null
	err=$("$SONDE" report --stdio -g none -i jit.data 2>&1 >/dev/null)
	like "$err" 'addresses in JIT-compiled code have no name' "nameless code of a JIT compiler is noted"
	like "$err" 'perf-PID.map.*--perf-basic-prof.*-X perf' "... with the options that make it tell"
else
	skip "its machine code is x86_64's" "nameless code of a JIT compiler"
fi

# With the symbols at hand nothing is made up.
"$SONDE" record -q -F 999 -e cpu-clock:u --call-graph dwarf -o whole.data -- ./whole 300 2>/dev/null
out=$("$SONDE" report --stdio -g none --sort sym --dsos whole -i whole.data 2>/dev/null)
like "$out" '\] alpha' "a program with symbols keeps its names"
unlike "$out" 'func_0x' "... and gets no others"
done_testing
