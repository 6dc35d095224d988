#!/usr/bin/env bash
# Cores of an arm64 program (tests/data/arm64core: 46 processes that died in functions with and without frame pointers, with signed return
# addresses, in prologues and loops, under a signal handler), unwound on whatever machine this is: the frames are those that gdb-multiarch
# found, and the functions those that called each other.
. "${SONDE_SRC:-.}/tests/lib.sh"
need python3
data=$SONDE_SRC/tests/data/arm64core
truth=$(dirname "$SONDE")/tests/unwind_truth
[ -x "$truth" ] || skip_all "unwind_truth was not built here"
cd "$SONDE_TMP" || exit 1

"$SONDE_SRC/tests/oracle/core_stacks.py" "$data/chain" "$data/cores.tar.xz" "$data/frames" >dump
ok $? "the cores are read"
compare() { "$truth" compare "$1" aarch64 >result 2>&1; }
compare dump
ok $? "every stack is that of gdb" || diag "$(cat result)"
like "$(cat result)" '^stacks 46 equal 46 longer 0 unexplained 0 frames [0-9]+ calls [1-9][0-9]* without 0$' "all 46 of them, and every return address follows a call"
unlike "$(cat result)" '^end ' "none is cut off"

# gdb itself, where it is here: what is written down is what it says.
if ! needs_or_skip "gdb-multiarch says the same today" gdb-multiarch; then
	tar xJf "$data/cores.tar.xz"
	for core in core.*; do
		UNWIND_CORE=$core UNWIND_OUT=frames gdb-multiarch -nx -batch "$data/chain" "$core" -x "$SONDE_SRC/tests/oracle/unwind_gdb.py" >/dev/null 2>&1
	done
	cmp -s frames <(grep -v '^#' "$data/frames")
	ok $? "gdb-multiarch says the same today" || diag "$(diff frames "$data/frames" | head -4)"
fi

# The comparison: it notices one frame less, one that is another, and a machine that is not the cores'.
sed 's/ [0-9a-f]*:0$//' dump >fewer
compare fewer
isnt $? 0 "a frame that is missing is noticed"
sed -E 's/^(gdb [^ ]+ [^ ]+ [0-9a-f]*)[0-9a-f]:/\1f:/' dump | sed -E 's/^(gdb [^ ]+ [^ ]+ )[0-9a-f]+:/\1400004:/' >other
compare other
isnt $? 0 "another frame is noticed"
sed -E 's/^(regs .*) [0-9a-f]+ ([0-9a-f]+)$/\1 1000 \2/' dump >moved
compare moved
isnt $? 0 "another stack pointer is noticed"
done_testing
