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

# gdb itself, where it is here: what is written down is what it says, of the first ten.
if ! needs_or_skip "gdb-multiarch says the same today" gdb-multiarch; then
	tar xJf "$data/cores.tar.xz"
	for core in core.1?; do
		UNWIND_CORE=$core UNWIND_OUT=frames gdb-multiarch -nx -batch "$data/chain" "$core" -x "$SONDE_SRC/tests/oracle/unwind_gdb.py" >/dev/null 2>&1
	done
	cmp -s frames <(grep '^core.1' "$data/frames")
	ok $? "gdb-multiarch says the same today" || diag "$(diff frames "$data/frames" | head -4)"
fi

# What makes it hard is there: return addresses of the program with a signature in their upper bits, and frames of signal handlers.
python3 - <<'END'
import re
signed = signals = 0
for line in open("dump"):
    if line.startswith("stack "):
        words = re.findall(r"[0-9a-f]{16}", line[6:])
        values = [int.from_bytes(bytes.fromhex(w), "little") for w in words]
        signed += any(v >> 48 and 0x400000 <= v & (1 << 48) - 1 < 0x401000 for v in values)
    if line.startswith("gdb "):
        signals += ":4" in line
print("# %d stacks with signed addresses, %d with signal handlers" % (signed, signals))
raise SystemExit(signed < 40 or signals != 2)
END
ok $? "signed return addresses and signal handlers are among them"

# The comparison notices one frame less, one that is another, one more, and a machine that is not the cores'.
notices() { # NAME SED-SCRIPT
	sed -E "$2" dump >planted
	compare planted
	unlike "$(grep ^stacks result)" '^stacks 46 equal 46 ' "is noticed: $1"
}
notices "the last frame is missing" '0,/^gdb /s/^(gdb .*) [0-9a-f]+:0$/\1/'
notices "a frame in the middle is missing" '0,/^gdb /s/^(gdb [^ ]+ [^ ]+ [^ ]+) [^ ]+/\1/'
notices "a frame is another" '0,/^gdb /s/^(gdb [^ ]+ [^ ]+) [0-9a-f]+:/\1 400004:/'
notices "there is one more" '0,/^gdb /s/^(gdb .*)$/\1 400004:0/'
notices "a register is another" '0,/^regs /s/^(regs .*) [0-9a-f]+ ([0-9a-f]+ [0-9a-f]+)$/\1 400004 \2/'
"$truth" compare dump x86_64 >result 2>&1
unlike "$(grep ^stacks result)" '^stacks 46 equal 46 ' "another machine's registers are others"
done_testing
