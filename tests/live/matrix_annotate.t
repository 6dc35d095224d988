#!/usr/bin/env bash
# where: host
# needs: perf_events
# timeout: 300
# Rows of the acceptance matrix: `annotate` of what `record` wrote.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde perf_events
cd "$SONDE_TMP" || exit 1
mkdir bin && ln -s "$SONDE" bin/sonde && ln -s "$SONDE" bin/perf
export PATH=$PWD/bin:$PATH HOME=$PWD

gcc -O2 -ggdb -o loop "$SONDE_SRC/tests/live/inline_loop.c"
gcc -O2 -o plain "$SONDE_SRC/tests/live/inline_loop.c"
sonde record -e cpu-clock:u -F 999 -- ./loop 300000 >/dev/null 2>&1
ok $? "S4-248: a recording of a program built with -ggdb"

exits 0 "S0-027: perf annotate --stdio" perf annotate --stdio
like "$out" '^ Percent \|	Source code & Disassembly of loop for cpu-clock:u \([0-9]+ samples, percent: local period\)$' "S0-027: a head for each function"
head=$(grep -m1 '^ Percent' <<<"$out")
is "$(grep -m1 '^-----' <<<"$out" | tr -d '\n' | wc -c)" $((${#head} + 5)) "S0-027: a ruler below it"
like "$out" '^ +[0-9]+\.[0-9]{2} :   [0-9a-f]+:   [a-z]' "S0-027: percentage, address, instruction"
like "$out" '^ +: [0-9]+ +	x \^= x << 13;$' "S0-027: source between them"
sum=$(sonde annotate --stdio -s leaf | awk '$2 == ":" && $1 ~ /^[0-9.]+$/ { s += $1 } END { printf "%d", s + 0.5 }')
[ "$sum" -ge 99 ] && [ "$sum" -le 101 ]
ok $? "S0-027: the percentages of a function are all of it ($sum)"

like "$(sonde annotate leaf)" '	x \^= x >> 17;' "S4-248: source lines stand between the instructions"
sonde record -e cpu-clock:u -F 999 -o plain.data -- ./plain 300000 >/dev/null 2>&1
plain=$(sonde annotate -i plain.data leaf 2>/dev/null)
like "$plain" ' (shr|lsr|eor|xor) ' "S4-248: without -g there are instructions"
unlike "$plain" 'x >> 17' "S4-248: and no lines of source"

exits 0 "S4-250: perf annotate leaf" perf annotate leaf
is "$(grep -c '^ Percent' <<<"$out")" 1 "S4-250: only that function"
like "$out" '<leaf>:' "S4-250: it is the one asked for"
unlike "$out" '<main>:' "S4-250: and no other"

exits 0 "S4-277: perf annotate of ./perf.data" perf annotate
like "$out" '<leaf>:' "S4-277: displays annotated code"
# The same layout as objdump -S has: source, then address, bytes, mnemonic.
exits 0 "S1-075: source and assembly of a function, with its bytes" sonde annotate --stdio --asm-raw leaf
like "$out" '	x \^= x << 13;
 +[0-9.]+ :   [0-9a-f]+: +([0-9a-f]{2} )+ +mov +%[a-z]+,%[a-z]+
 +[0-9.]+ :   [0-9a-f]+: +([0-9a-f]{2} )+ +shl +\$0xd,' "S1-075: a source line is followed by its instructions"
objdump -d loop | awk '/<leaf>:/ { on = 1; next } on && !NF { exit } on' | sed -n 's/^ *\([0-9a-f]*\):	\(\([0-9a-f][0-9a-f] \)*\) *	\([a-z]*\).*/\1 \2\4/p' >want
sed -n 's/^ *[0-9.]* :   \([0-9a-f]*\): *\(\([0-9a-f][0-9a-f] \)*\) *\([a-z]*\).*/\1 \2\4/p' <<<"$out" >got
[ -s want ] && [ "$(grep -cE ' [a-z]+$' want)" -gt 10 ] && [ -z "$(grep -vE ' (nop|xchg|cs|data16)' want | awk 'NF <= 8' | grep -vxFf got)" ]
ok $? "S1-076: addresses, bytes and mnemonics are objdump's" || diag "$(diff want got | head -n 5)"
# ---- the layout of the browser: labels where jumps go, arrows
cat >k.c <<'END'
int main()
{
	volatile int k;
	for (int i = 0; i < 300000000; i++) {
		k = 100;
	}
	return 0;
}
END
gcc -O0 -ggdb -fcf-protection=none -o k k.c
sonde record -e cpu-clock:u -F 999 -o k.data -- ./k >/dev/null 2>&1
exits 0 "S4-253: perf annotate --stdio2" perf annotate --stdio2 -i k.data main
like "$out" '^ +Disassembly of section \.text:

 +[0-9a-f]{16} <main>:
' "S4-253: the section, the address and the symbol"
like "$out" '^ +for \(int i = 0; i < 300000000; i\+\+\) \{$' "S4-253: source lines"
like "$out" '^ {8} +push +%rbp$' "S4-253: nothing beside what no sample fell on"
jump=$(sed -n 's/^ *↓ jmp *\([0-9a-f]*\)$/\1/p' <<<"$out")
like "$out" "^ *([0-9]+\\.[0-9]{2})? +$jump: +cmpl +\\\$0x11e1a2ff,-0x4\\(%rbp\\)\$" "S4-253: a jump down has an arrow and leads to a label ($jump)"
up=$(sed -n 's/^ *\([0-9.]* *\)↑ jle *\([0-9a-f]*\)$/\2/p' <<<"$out")
like "$out" "^ *([0-9]+\\.[0-9]{2})? +$up: +movl +\\\$0x64,-0x8\\(%rbp\\)\$" "S4-253: and so has one up ($up)"
like "$out" '^ +← ret' "S4-253: a return has an arrow"
sum=$(sed -n 's/^ *\([0-9]*\.[0-9][0-9]\) .*/\1/p' <<<"$out" | awk '{ s += $1 } END { printf "%d", s + 0.5 }')
[ "$sum" -ge 99 ] && [ "$sum" -le 101 ]
ok $? "S4-253: percentages at the left ($sum)"
# ---- the C library's lines, from libc6-dbg; its source lies where --prefix says
cat >sorting.c <<'END'
#include <stdlib.h>
static int by(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(void)
{
	static int numbers[100000];
	for (int round = 0; round < 40; round++) {
		for (int i = 0; i < 100000; i++)
			numbers[i] = (int)((unsigned)i * 2654435761u >> 8);
		qsort(numbers, 100000, sizeof(int), by);
	}
	return 0;
}
END
gcc -O2 -o sorting sorting.c
sonde record -e cpu-clock:u -F 999 -o sorting.data -- ./sorting >/dev/null 2>&1
libc=$(ldd sorting | sed -n 's/.*libc\.so\.6 => \([^ ]*\) .*/\1/p')
id=$(readelf -n "$libc" | sed -n 's/.*Build ID: //p')
if [ -e "/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug" ]; then
	exits 0 "S4-255: annotate -l of a function of libc" sonde annotate --stdio -l -P -i sorting.data msort_with_tmp.part.0
	like "$out" '^ +[0-9]+\.[0-9]{2} .*stdlib/msort\.c:[0-9]+$' "S4-255: the heaviest lines of the C library's file"
	mkdir -p glibc/stdlib
	for ((i = 1; i < 400; i++)); do echo "this is line $i of msort.c"; done >glibc/stdlib/msort.c
	exits 0 "S4-255: annotate --prefix" sonde annotate --stdio --prefix "$PWD/glibc" -i sorting.data msort_with_tmp.part.0
	like "$out" ': ([0-9]+) +this is line \1 of msort\.c' "S4-255: its source stands between the instructions"
	exits 0 "S4-255: annotate without --prefix" sonde annotate --stdio -i sorting.data msort_with_tmp.part.0
	like "$out" ' (mov|ldr) ' "S4-255: shows the instructions"
	unlike "$out" 'this is line' "S4-255: and no source"
else
	skip "libc6-dbg is not installed" "S4-255: lines of the C library"
fi
mv perf.data else.data
exits 0 "S4-277: or of another file" perf annotate -i else.data
# ---- from the report browser, in a real terminal
if command -v tmux >/dev/null; then
	export TMUX_TMPDIR=$SONDE_TMP
	unset TMUX
	term() { tmux -f /dev/null -L "sonde-annotate-$$" "$@"; }
	screen_has() { # REGEX
		local i
		for ((i = 0; i < 200; i++)); do
			term capture-pane -p 2>/dev/null | grep -Eq "$1" && return 0
			sleep 0.1
		done
		return 1
	}
	term new-session -d -x 100 -y 30 "env TERM=screen PATH=$PATH HOME=$HOME perf report -i $PWD/else.data"
	screen_has 'leaf'
	ok $? "S4-251: perf report in a terminal shows the function"
	term send-keys a
	screen_has '^ leaf +loop +cpu-clock:u: [0-9]+ samples'
	ok $? "S4-251: a annotates the selected one" || diag "$(term capture-pane -p)"
	screen_has '^ +[0-9.]+  \|.*(xor|sh[lr]|mov) '
	ok $? "S4-251: with a share beside each instruction"
	term kill-server 2>/dev/null
else
	skip "tmux is not installed" "S4-251: annotate from the report browser"
fi
exits 255 "S4-277: without a recording, as perf" perf annotate
like "$err" "perf\.data" "S4-277: it says which file is missing"
done_testing
