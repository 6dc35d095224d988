#!/usr/bin/env bash
# Probes in source terms: definitions, variables, lines and functions from debug information are perf's, for points that are drawn with a fixed
# seed from programs of several compilers; where they differ, the reason is known. What is not there is named, with what is near.
# timeout: 900
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde python3
cd "$SONDE_TMP" || exit 1
for t in perf gcc g++ strip; do
	command -v $t >/dev/null || { skip "there is no $t" "everything"; done_testing; exit; }
done
[ "$(uname -m)" = x86_64 ] || { skip "registers of x86_64 are expected" "everything"; done_testing; exit; }
compare=$SONDE_SRC/tests/oracle/probe_compare
cp "$SONDE_SRC"/tests/cli/probe_mix.c "$SONDE_SRC"/tests/cli/probe_mix.cc .
probe() { "$SONDE" probe "$@"; }

# ---- as perf --------------------------------------------------------------------------------------------------------------------
agree() { # NAME FILE SOURCE
	said=$(python3 "$compare" "$SONDE" 32 12 -x "$SONDE_TMP/$2" "$SONDE_TMP/$3")
	ok $? "$1: $(tail -1 <<<"$said")" || diag "$said"
}
gcc -O2 -g -o plain probe_mix.c
agree "gcc -O2, DWARF 5" plain probe_mix.c
gcc -O0 -g -gdwarf-4 -o slow probe_mix.c && agree "gcc -O0, DWARF 4" slow probe_mix.c
gcc -O2 -g -flto -o lto probe_mix.c && agree "gcc -flto" lto probe_mix.c
g++ -O2 -g -o cxx probe_mix.cc && agree "C++" cxx probe_mix.cc
gcc -O2 -g -gdwarf-3 -gstrict-dwarf -o three probe_mix.c && agree "DWARF 3" three probe_mix.c
if command -v clang >/dev/null; then
	clang -O2 -g -gdwarf-4 -o clang probe_mix.c && agree "clang -O2, DWARF 4" clang probe_mix.c
	clang -O0 -g -gdwarf-5 -o clang0 probe_mix.c && agree "clang -O0, DWARF 5" clang0 probe_mix.c
else
	skip "there is no clang" "clang -O2, DWARF 4"
	skip "there is no clang" "clang -O0, DWARF 5"
fi
if command -v rustc >/dev/null; then
	cp "$SONDE_SRC/tests/cli/probe_mix.rs" .
	rustc -g -o rust0 probe_mix.rs 2>/dev/null && agree "Rust" rust0 probe_mix.rs
	rustc -g -O -o rust2 probe_mix.rs 2>/dev/null && agree "Rust, optimised" rust2 probe_mix.rs
else
	skip "there is no rustc" "Rust"
fi
vmlinux=${SONDE_VMLINUX:-$(ls /usr/lib/debug/boot/vmlinux-6.1* "${SONDE_CACHE:-$HOME/.cache/sonde}/6.1/debug/vmlinux" 2>/dev/null | head -1)}
if [ -n "$vmlinux" ]; then
	said=$(python3 "$compare" "$SONDE" 40 1 -k "$vmlinux")
	ok $? "the kernel: $(tail -1 <<<"$said")" || diag "$said"
else
	skip "no vmlinux with debug information is installed or was fetched (tests/vm/debug-fetch 6.1), and SONDE_VMLINUX names none" "the kernel"
fi
for f in work twice deep main; do
	is "$(probe -x plain -L $f)" "$(perf probe -x ./plain -L $f 2>/dev/null)" "the lines of $f"
	is "$(probe -x slow --externs -V $f)" "$(perf probe -x ./slow --externs -V $f 2>/dev/null)" "the variables of $f"
done
is "$(probe -x plain -L work:2-4)" "$(perf probe -x ./plain -L work:2-4)" "lines A-B"
is "$(probe -x plain -L work:2+3)" "$(perf probe -x ./plain -L work:2+3)" "lines A+N"
is "$(probe -x plain -L probe_mix.c:30-38)" "$(perf probe -x ./plain -L probe_mix.c:30-38)" "lines of a file"
is "$(probe -x slow --range -V deep)" "$(perf probe -x ./slow --range -V deep 2>/dev/null)" "ranges of variables"
is "$(comm -13 <(perf probe -x ./cxx -F | sort -u) <(probe -x cxx -F | sort -u))" "" "every function that -F lists, perf lists"
is "$(probe -x plain --filter 'w* | (d* & !*data*)' -F | sed 's/\..*//')" $'deep\nderegister_tm_clones\nwork' "a filter"

# ---- beyond it: what perf 6.1 cannot do, or does wrong ---------------------------------------------------------------------------
define() { probe -x "$@" 2>&1 | sed 's/^\([pr]\):[^ ]* [^ ]* */\1 /; s/ $//'; }
is "$(define plain -D 'work p->mid')" 'p mid=+40(%di):b7@3/32' "a bit field counts from the lowest bit"
like "$(define plain -D 'main parts[1].a')" '^p a=@\+0x[0-9a-f]+:s32$' "a global variable of a program, which uprobes know by its place"
like "$(define slow -D 'work:9 sum')" '^p sum=-[0-9]+\(%bp\):s64$' "a variable that hides another"
isnt "$(define slow -D 'work:9 sum')" "$(define slow -D 'work:5 sum')" "is not that other one"
is "$(define plain -D 'work%return $retval')" 'r $retval:s32' "what is returned has its type"
is "$(define plain -D 'pick%return $retval:string')" 'r +0($retval):string' "and can be a string"
# Split in .dwo files, with the code of the one that is not.
for v in 4 5; do
	gcc -O2 -g -gdwarf-$v -gsplit-dwarf -o split$v probe_mix.c
	gcc -O2 -g -gdwarf-$v -o whole$v probe_mix.c
	for p in 'work $vars' 'twice $params' 'deep buf:string' 'probe_mix.c:36' 'work:4 p->next->a'; do
		is "$(define split$v -D "$p" | sed 's/split//')" "$(define whole$v -D "$p" | sed 's/whole//')" "split DWARF $v: $p"
	done
done
isnt "$(define lto -D twice | grep -c '^p')" 0 "instances that link-time optimisation put into another unit"
like "$(probe -x lto -L twice)" '^ +[0-9]+ +[[:space:]]*return y' "and their lines"
is "$(define plain -D 'alias p->a' )" 'p a=+0(%di):s32' "another name of a function"
is "$(define cxx -D 'ns::thing::grow n')" 'p n=%si:s32' "a name with its namespace"
like "$(define cxx -D 'both t.x p->below')" '^p x=\+[0-9]+\(%di\):s32 below=\+8\(%si\):s32$' "references and base classes"
cat >both.c <<'END'
int sink;
int own(int x) { sink += x * 3; return sink; }
int main(int argc, char **argv) { return own(argc) + own(argc + 1); }
END
gcc -O2 -g -o both both.c
is "$(probe -x both -D own 2>/dev/null | grep -c ^p)" 3 "a function that is there, and twice in another"
offset=$(probe -x both --offsets own | sed -n '2s/^ *+\([0-9]*\).*/\1/p')
is "$(probe -x both -D "own+$offset" | sed 's/.*:0x//')" "$(printf %x $((0x$(probe -x both -D 'own $arg1' | sed 's/.*:0x\([0-9a-f]*\).*/\1/') + offset)))" \
	"bytes after its start, and what it is called with, are about the function itself"

# ---- what is not there -----------------------------------------------------------------------------------------------------------
refused() { # NAME REGEX ARGS...: fails with that message
	local name=$1 re=$2
	shift 2
	exits 1 "$name" probe "$@"
	like "$err" "$re" "$name: says why"
}
refused "a function that is not there" "hint: did you mean 'work'" -x plain -D wrok
refused "a variable that is not there" "no variable 'sumn' in work" -x slow -D 'work:9 sumn'
refused "a member that is not there" "struct part has no member 'nam'" -x plain -D 'work p->nam'
refused "another name of a function, in a file that it is not in" "'alias' is not declared in a file 'nothere.c'" -x plain -D 'alias@nothere.c'
refused "a version that reads as a file" 'written with a backslash: .alias.@GLIBC_2.2.5' -x plain -D 'alias@GLIBC_2.2.5'
refused "a line without code" 'line 2 of main has no code|shares its code' -x slow -D main:1
refused "a line after the end" 'the nearest line that can be probed is 14$' -x slow -D work:99
refused "a file that is not there" "no code of .* comes from a file 'nothere.c'" -x plain -D nothere.c:3
refused "the return of what is only inlined" 'is inlined wherever it is called' -x plain -D 'twice%return'
refused "'.' for '->'" "this is a pointer: use '->'" -x plain -D 'work p.a'
refused "'->' for '.'" "this is not a pointer: use '.'" -x slow -D 'deep h->a'
refused "an index that is no number" 'an index has to be a constant' -x plain -D 'work p->c[i]'
refused "a local at the return" 'is gone when the function returns' -x plain -D 'work%return n'
cp plain bare && strip bare
refused "a stripped program" 'a stripped file shows only what it exports' -x bare -D 'work n'
head -c 3000 plain >cut
refused "a program that was cut" 'truncated: it ends at byte 3000' -x cut -D 'work n'
rm split5-probe_mix.dwo
refused "a missing .dwo" "debug information of .* is missing: it is in '.*split5-probe_mix.dwo'" -x split5 -V work
done_testing
