#!/usr/bin/env bash
# Source lines and inlined functions of thousands of places: those of addr2line, and where that is wrong, those of gdb.
# timeout: 300
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde

srclines=$(dirname "$SONDE")/tests/srclines
compare=$SONDE_SRC/tests/oracle/lines_compare
cd "$SONDE_TMP" || exit 1
for t in addr2line gdb g++ objcopy; do
	command -v $t >/dev/null || { skip "there is no $t" "everything"; done_testing; exit; }
done

agree() { # NAME FILE PLACES [OPTION]
	said=$(python3 "$compare" "$srclines" "$2" "$3" ${4:-})
	ok $? "$1: $(tail -1 <<<"$said")" || diag "$said"
}

agree "this program" "$SONDE" 3000
mix=$SONDE_SRC/tests/cli/lines_mix.cc
g++ -O2 -g -gdwarf-5 -o five "$mix" && agree "C++, DWARF 5" five 1500
g++ -O2 -g -gdwarf-4 -gz=zlib -o four "$mix" && agree "C++, DWARF 4, compressed" four 1500
g++ -O2 -g -gdwarf-3 -o three "$mix" && agree "C++, DWARF 3" three 1000
if command -v clang++ >/dev/null; then
	clang++ -O2 -g -gdwarf-5 -o clang "$mix" && agree "C++ of clang, DWARF 5: indexed addresses" clang 1500 --quirks
else
	skip "there is no clang++" "C++ of clang"
fi

# Whole lists, not only places drawn: every address of a small program.
cat >nested.c <<'END'
int outside(int x);
int run(int n)
{
	int inside(int x) { return outside(x) * n; } /* a function inside another, which its parent's code does not hold */
	int (*volatile f)(int) = inside;
	return f(n) + 1;
}
int outside(int x) { return x ^ 5; }
int main(int argc, char **argv) { return run(argc); }
END
gcc -O1 -g -Wl,-z,execstack -o nested nested.c
nm nested | awk '/ [tT] (inside|run|outside|main)/ { print $1, $3 }' | while read -r at name; do
	got=$(echo "$at" | "$srclines" nested | tail -2 | head -1)
	[ "$got" = "${name%%.*}" ] || echo "$name: $got"
done >differ
is "$(cat differ)" "" "functions inside functions are found"

cat >local.cc <<'END'
__attribute__((noinline)) int run(int n)
{
	struct local {
		__attribute__((noinline)) static int first(int x) { asm volatile(""); return x * 5; }
		__attribute__((noinline)) int second(int y) { asm volatile(""); return y + more; }
		int more = 3;
	} l;
	return local::first(n) + l.second(n);
}
int main(int argc, char **argv) { return run(argc); }
END
g++ -O2 -g -o local local.cc
for f in first second; do
	at=$(nm local | awk -v f="$f" '$3 ~ f { print $1; exit }')
	is "$(echo "$at" | "$srclines" local | tail -2 | head -1)" $f "and of classes inside functions: $f"
done

# Information in other files: by link and by build id; the common file of dwz; split.
cp five stripped
objcopy --only-keep-debug five stripped.debug
strip stripped
exits 1 "a stripped file says so" "$srclines" stripped </dev/null

# Split DWARF: every place has the answer that it has with everything in one file. The code is the same, so nothing but the answers may differ.
places() { # FILE: 1,500 addresses of its code, always the same
	python3 -c 'import random, re, subprocess, sys
random.seed(5)
for line in subprocess.run(["readelf", "-SW", sys.argv[1]], capture_output=True, text=True).stdout.splitlines():
    m = re.match(r"\s*\[\s*\d+\]\s+\.text\s+PROGBITS\s+(\S+)\s+\S+\s+(\S+)", line)
    if m:
        for _ in range(1500): print("%x" % (int(m[1], 16) + random.randrange(int(m[2], 16))))' "$1"
}
cat >second.cc <<'END'
#include <cstdlib>
template <typename T> __attribute__((always_inline)) static inline T twice(T x) { return x * 2 + rand(); }
__attribute__((noinline)) int second_unit(int x) { int s = 0; for (int i = 0; i < x; i++) if (rand() & 1) s += twice(i); else s ^= twice(s); return s; }
END
# split COMPILER VERSION: one.VERSION.COMPILER in one file, split.VERSION.COMPILER in several, which lie in a folder of their own
split() {
	local cc=$1 v=$2 how unit
	for how in one split; do
		mkdir -p dir-$how
		for unit in "$mix" second.cc; do
			# shellcheck disable=SC2046
			$cc -O2 -g -gdwarf-"$v" $([ $how = one ] || echo -gsplit-dwarf) -c -o "dir-$how/$(basename "$unit" .cc).o" "$unit" || return 1
		done
		$cc -o "$how.$v.$cc" dir-$how/lines_mix.o dir-$how/second.o || return 1
	done
	objcopy -O binary -j .text "one.$v.$cc" a.text
	objcopy -O binary -j .text "split.$v.$cc" b.text
	cmp -s a.text b.text || { diag "the code differs: $cc $v"; return 1; }
	places "one.$v.$cc" >places
	"$srclines" "one.$v.$cc" <places >want
	[ "$(grep -c '^[0-9a-zA-Z_]' want)" -gt 1500 ]
}
for cc in g++ clang++; do
	command -v $cc >/dev/null || { skip "there is no $cc" "split DWARF of $cc"; continue; }
	for v in 4 5; do
		[ $cc$v != clang++4 ] || continue # clang 5 and gcc 4 have all that it has
		split $cc $v
		ok $? "split DWARF $v of $cc: programs are built" || continue
		"$srclines" split.$v.$cc <places >got 2>told
		cmp -s want got
		ok $? "... each place has the answer of the program in one file" || diag "$(diff want got | head -n 6; cat told)"
		[ $v$cc != 5g++ ] || agree "... and gdb's" split.$v.$cc 600 --names
		# All in one package beside the program, and nothing else. (binutils' dwp knows DWARF 4 only.)
		dwp=$(type -P llvm-dwp llvm-dwp-14 | head -n 1)
		[ $cc$v != g++4 ] || dwp=dwp
		if command -v "${dwp:-none}" >/dev/null; then
			"$dwp" -e split.$v.$cc -o split.$v.$cc.dwp 2>told && mv dir-split away
			ok $? "... $(basename "$dwp") packs them" || diag "$(cat told)"
			"$srclines" split.$v.$cc <places >got 2>told
			cmp -s want got
			ok $? "... the same out of the package" || diag "$(diff want got | head -n 6; cat told)"
			rm -f split.$v.$cc.dwp
			mv away dir-split
		else
			skip "there is no llvm-dwp" "a package of DWARF $v of $cc"
		fi
		# The folder is gone: lines stay. Beside the program the files are found again.
		mv dir-split away
		"$srclines" split.$v.$cc <places >got 2>told
		[ "$(grep -c ':[0-9][0-9]*$' got)" -gt 500 ] && ! cmp -s want got
		ok $? "... without the files there are lines still"
		mkdir moved
		cp split.$v.$cc away/*.dwo moved
		"$srclines" moved/split.$v.$cc <places >got 2>told
		cmp -s want got
		ok $? "... moved together with the program they are found" || diag "$(diff want got | head -n 6)"
		# Files of that name that belong to another unit have another id: they are not taken.
		"$srclines" split.$v.$cc <places >without 2>/dev/null
		mkdir dir-split
		cp away/lines_mix.dwo dir-split/second.dwo
		cp away/second.dwo dir-split/lines_mix.dwo
		"$srclines" split.$v.$cc <places >got 2>told
		cmp -s got without && ! grep -q broken told
		ok $? "... and those of another unit are not believed"
		rm -rf moved away dir-split
	done
done

# Damage anywhere: an answer or none, but no crash, and soon. (fuzz/fuzz_dwarf looks further.)
cp "$SONDE_SRC/fuzz/corpus/dwarf/gcc5" small
seq 4194304 3 4198400 | xargs printf '%x\n' >places
size=$(stat -c %s small)
bad=0
for ((i = 0; i < size; i += 37)); do
	cp small hurt
	printf '\377' | dd of=hurt bs=1 seek=$i conv=notrunc status=none
	timeout 100 "$srclines" hurt <places >/dev/null 2>&1
	[ $? -le 1 ] || { bad=$((bad + 1)); diag "byte $i"; }
done
is $bad 0 "a damaged file does no harm"
done_testing
