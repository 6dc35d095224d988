#!/usr/bin/env bash
# Names and lines of ordinary programs, however they were built and packed: lines are addr2line's, names are perf's, and those a person
# expects of aliases, versions, functions that the loader chooses, C++ and Rust.
# where: host
# needs: perf_events
# timeout: 300
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde perf
for t in gcc g++ addr2line readelf objcopy python3; do
	command -v $t >/dev/null || { skip "there is no $t" "names and lines"; done_testing; exit; }
done
cd "$SONDE_TMP" || exit 1
export HOME=$SONDE_TMP XDG_CACHE_HOME=$SONDE_TMP/cache
echo 'TWO { global: versioned; };' >map

build() { # NAME [OPTION...]; without stubs of the linker, whose names perf 6.1 does not always find
	local name=$1
	shift
	set -- -fno-plt "$@"
	gcc -O2 -g "$@" -c -o one.o "$SONDE_SRC/tests/live/names_one.c" && g++ -O2 -g "$@" -c -o two.o "$SONDE_SRC/tests/live/names_two.cc" &&
		g++ "$@" -Wl,-z,now,--version-script=map -o "$name" one.o two.o
}

# look NAME [DEBUG]: records NAME and compares; DEBUG is where addr2line finds its lines
look() {
	local name=$1 debug=${2:-$1} said
	"$SONDE" record -q -F 999 -e cpu-clock:u -o "$name.data" -- "./$name" 1000000 2>/dev/null
	perf script -F ip --show-mmap-events -i "$name.data" >samples 2>/dev/null
	"$SONDE" report --json --sort srcline -n -g none --dsos "$name" -i "$name.data" >lines.json 2>/dev/null
	said=$(python3 "$SONDE_SRC/tests/live/names_read.py" "$name" "$debug" samples lines.json)
	ok $? "$name: --sort srcline says what addr2line says: $(tail -n 1 <<<"$said")" || diag "$said"
	same_names "$name"
}

names() { grep -v '^#' | grep -v '^$' | sed 's/ *$//' | sort; }

same_names() {
	perf report --stdio -g none --sort sym --dsos "$1" -i "$1.data" 2>/dev/null | names >theirs
	"$SONDE" report --stdio -g none --sort sym --dsos "$1" -i "$1.data" 2>/dev/null | names >ours
	cmp -s theirs ours && [ -s ours ]
	ok $? "$1: the names are perf's" || diag "$(diff theirs ours)"
}

expected() { # NAME: what a person calls them
	out=$("$SONDE" report --stdio -g none --sort sym --dsos "$1" -i "$1.data" 2>/dev/null)
	like "$out" '\] plain_name$' "$1: an alias in the implementation's name space does not hide the name"
	unlike "$out" 'alias' "$1: ... nowhere"
	like "$out" '\] chosen_one$' "$1: what the loader chose, not who chose"
	like "$out" '\] \(anonymous namespace\)::stepper<unsigned int>::go$' "$1: C++"
	like "$out" '\] mycrate::Thing::work$' "$1: Rust, as it was, without its hash"
	like "$out" '\] mycrate::helper$' "$1: Rust, as it is"
}

build pie && look pie && expected pie
build fixed -no-pie && look fixed
build packed -gz=zlib && look packed
build four -gdwarf-4 && look four
if command -v dwz >/dev/null; then
	cp pie shared && cp four shared2 && dwz -m common.dwz shared shared2 2>/dev/null && look shared pie
else
	skip "there is no dwz" "information in a file shared by two"
fi
cp pie apart && objcopy --only-keep-debug pie apart.debug && objcopy --strip-all --add-gnu-debuglink=apart.debug pie apart && look apart pie

# Only names, packed into the program itself: perf 6.1 does not look there.
if command -v xz >/dev/null; then
	nm pie --format=posix --defined-only | awk '$2 ~ /[tT]/ { print $1 }' | sort -u >keep
	objcopy -S --keep-symbols=keep pie mini 2>/dev/null && xz -f mini
	objcopy --strip-all --remove-section=.gnu_debuglink pie small && objcopy --add-section .gnu_debugdata=mini.xz small
	"$SONDE" record -q -F 999 -e cpu-clock:u -o small.data -- ./small 1000000 2>/dev/null
	expected small
else
	skip "there is no xz" ".gnu_debugdata"
fi
done_testing
