#!/usr/bin/env bash
# Places that look right and are not: addresses inside of instructions, functions that only choose others, words in the wrong order. What is near is
# named. Nothing is added: -D and -n need no rights.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde
cd "$SONDE_TMP" || exit 1
for t in gcc objdump objcopy; do
	command -v $t >/dev/null || { skip "there is no $t" "everything"; done_testing; exit; }
done
probe() { "$SONDE" probe "$@"; }
cat >prog.c <<'END'
#include <stdio.h>
struct part { int a; struct part *next; };
__attribute__((noipa)) int work(struct part *p, int n)
{
	return p->a * n + 0x1234567;
}

static int fast(int n) { return n + 1; }
static int (*choose(void))(int) { return fast; }
int pick(int n) __attribute__((ifunc("choose")));

int main(int argc, char **argv)
{
	struct part p = { argc, 0 };
	printf("%d %d\n", work(&p, 3), pick(argc));
	return 0;
}
END
gcc -O2 -g -o prog prog.c 2>log || { skip "gcc: $(head -1 log)" "everything"; done_testing; exit; }
strip -g -o bare prog

# ---- in the middle of an instruction: the kernel accepts it, and the program is another one from then on ---------------------------------
start=$(nm prog | awk '$3 == "work" { print $1 }')
begins=$(objdump -d --no-show-raw-insn prog | sed -n '/<work>:$/,/^$/s/^ *\([0-9a-f]*\):.*/\1/p')
inside=
for ((i = 1; i < 16; i++)); do
	at=$(printf %x $((0x$start + i)))
	grep -qx "$at" <<<"$begins" || { inside=$i; break; }
done
second=$(($(sed -n 2p <<<"$begins" | sed 's/^/0x/') - 0x$start))
isnt "$inside" "" "there is an instruction of several bytes"
for f in prog bare; do
	exits 0 "$f: the address of a function" probe -x $f -D "0x$start"
	exits 0 "$f: and of its second instruction" probe -x $f -D "$(printf 0x%x $((0x$start + second)))"
	exits 1 "$f: an address inside of an instruction" probe -x $f -D "$(printf 0x%x $((0x$start + inside)))"
	like "$err" "work\\+$inside, in the middle of an instruction" "$f: is refused, with where it is"
	like "$err" 'hint: instructions begin at work\+[0-9]+ and \+[0-9]+' "$f: and where instructions begin"
done
# The same for the time of a run, where no definition is written: no rights are asked for before that is seen.
for verb in "stat" "record -o x.data"; do
	for at in "work+$inside" "$(printf 0x%x $((0x$(readelf -lW prog | awk '$1 == "LOAD" && /R E/ { print $2; exit }' | sed 's/0x//') + 0x$start + inside - 0x$(readelf -lW prog | awk '$1 == "LOAD" && /R E/ { print $3; exit }' | sed 's/0x//'))))"; do
		# shellcheck disable=SC2086 # words
		"$SONDE" $verb -e "uprobe:./prog:$at" -- true >/dev/null 2>err
		isnt $? 0 "$verb at $at"
		like "$(cat err)" "work\\+$inside is in the middle of an instruction" "$verb at $at: is refused"
	done
done

# ---- Go ------------------------------------------------------------------------------------------------------------------------------
printf x >empty
objcopy --add-section .gopclntab=empty prog gone
for verb in "stat" "record -o x.data" "ftrace record -o x.dat"; do
	# shellcheck disable=SC2086 # words
	"$SONDE" $verb -e uretprobe:./gone:work true >/dev/null 2>err
	isnt $? 0 "$verb of returns of a Go program"
	like "$(cat err)" 'can crash .*gone: it is a Go program' "$verb of returns of a Go program: says why"
done

# ---- a function that only chooses -------------------------------------------------------------------------------------------------------
for f in prog bare; do
	exits 0 "$f: an ifunc" probe -x $f -D pick
	like "$err" 'warning: pick chooses an implementation when a program starts \(ifunc\)' "$f: is announced as such"
	exits 0 "$f: another function" probe -x $f -D work
	unlike "$err" ifunc "$f: is not"
done

# ---- names and lines that are near --------------------------------------------------------------------------------------------------------
exits 1 "lines of a misspelt function" probe -x prog -L wrok
like "$err" "hint: did you mean 'work'\\?" "the one that was meant"
exits 1 "variables of a misspelt function" probe -x prog -V wrok
like "$err" "hint: did you mean 'work'\\?" "the one that was meant, too"
exits 1 "lines without code" probe -x prog -L prog.c:1-2
like "$err" 'hint: the nearest line that can be probed is 3' "the nearest one"
exits 1 "a module that is not loaded" probe -m no_such_module -D work
like "$err" "no module 'no_such_module' is loaded" "is what is missing"

exits 1 "a function of another file" probe -x prog -L work@other.c
like "$err" "there is one, but not in a file 'other.c'" "is told from one that is not there"
exits 1 "a function that is nowhere near" probe -x bare -D zzzzzz
like "$err" "hint: sonde probe -x .*bare -F" "how to list those there are"
strip -o none prog
exits 1 "a function of a stripped file" probe -x none -D zzzzzz
like "$err" 'hint: a stripped file shows only what it exports' "what is missing"
exits 1 "a process that is not there" probe --pid 4194303 -x prog -D work
like "$err" 'no process 4194303' "is named"
for what in "-D work" "-L work" "-V work"; do
	head -c 3000 prog >part
	# shellcheck disable=SC2086 # words
	exits 1 "a truncated file: $what" probe -x part $what
	like "$err" 'truncated: it ends at byte 3000 of at least [0-9]+' "is called so: $what"
done
exits 1 "an image without debug information" probe -k bare -D vfs_read
like "$err" "bare' has no debug information" "is not replaced by the running kernel"

# ---- words ---------------------------------------------------------------------------------------------------------------------------
exits 1 "an option after the definition" probe -n work -x prog
like "$err" "option '-x' follows the definition" "is not taken for an argument of the probe"
exits 0 "an argument that begins like one" probe -x prog -D 'work -u8(%di) -8(%si)'
like "$out" ' -u8\(%di\) -8\(%si\)$' "is taken for one"
exits 0 "words of the kernel" probe -x prog -D 'work t=\"abc" n=\5 p->a:s32'
like "$out" ' t=\\"abc" n=\\5 a=\+0\(%di\):s32$' "a string and a number as they are"
exits 0 "a dry run" probe -n -x prog work
like "$err" '^Would add event:$' "says what it would do"
unlike "$err" 'You can now use it' "and not how to use what is not there"
mkdir bin && ln -s "$SONDE" bin/perf
exits 0 "called as perf" bin/perf probe -n -x prog work
like "$err" '^Added new event:$' "it says what perf says"
exits 1 "static probes of a file that has none" "$SONDE" list usdt:./prog
like "$err" 'prog has no static probes' "are not searched for among events"
done_testing
