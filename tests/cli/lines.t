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
g++ -O2 -g -gsplit-dwarf -c -o split.o "$mix" && g++ -o split split.o
at=$(nm split | awk '/ T main/ { print $1 }')
like "$(echo "$at" | "$srclines" split)" 'lines_mix\.cc:[0-9]+' "split DWARF: the lines are there"

# Damage anywhere: an answer or none, but no crash, and soon. (fuzz/fuzz_dwarf looks further.)
cp "$SONDE_SRC/fuzz/corpus/dwarf/gcc5" small
seq 4194304 3 4198400 | xargs printf '%x\n' >places
size=$(stat -c %s small)
bad=0
for ((i = 0; i < size; i += 37)); do
	cp small hurt
	printf '\377' | dd of=hurt bs=1 seek=$i conv=notrunc status=none
	timeout 10 "$srclines" hurt <places >/dev/null 2>&1
	[ $? -le 1 ] || { bad=$((bad + 1)); diag "byte $i"; }
done
is $bad 0 "a damaged file does no harm"
done_testing
