#!/usr/bin/env bash
# `record` keeps what its samples lie in by build ID, so that a recording has its names also after the program was built anew.
# where: host
# needs: root perf_events
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde cc
cd "$SONDE_TMP" || exit 1
export PERF_BUILDID_DIR=$PWD/kept
ln -s "$SONDE" perf

program() { # NAME OF ITS FUNCTION
	cat >prog.c <<END
#include <time.h>
static volatile long n;
const char tag[] = "$1"; /* names alone are not part of the build ID */
__attribute__((noipa)) void $1(void) { for (int i = 0; i < 20000; i++) n++; }
int main(void) { while (clock() < CLOCKS_PER_SEC / 5) $1(); return 0; }
END
	cc -O1 -Wl,--build-id -Wl,--no-as-needed -o "${2:-prog}" prog.c ./libidle.so
}
id() { readelf -n "$1" | sed -n 's/.*Build ID: //p'; }
names() { "$SONDE" report --stdio --no-children -g none -i "$1" 2>/dev/null; }

echo 'int idle(void) { return 1; }' >idle.c && cc -shared -fPIC -Wl,--build-id -o libidle.so idle.c # mapped, and never called
program first
ok $? "a program" || { done_testing; exit; }
old=$(id prog)
exits 0 "record" "$SONDE" record -g -e cpu-clock -F 999 -o own.data -- ./prog
like "$err" "ms CPU; [0-9]+ files? kept in $PWD/kept$" "says where it kept something"
is "$(readlink "kept/.build-id/${old:0:2}/${old:2}")" "../..$PWD/prog/$old" "the link is perf's"
cmp -s prog "kept/.build-id/${old:0:2}/${old:2}/elf"
ok $? "the program is kept"
is "$(stat -c %h "kept$PWD/prog/$old/elf")" 1 "as a copy: whoever builds it may write to it"
kept_as=$(stat -c "%i %Z" "kept$PWD/prog/$old/elf")
exits 0 "record again" "$SONDE" record -g -e cpu-clock -F 999 -o again.data -- ./prog
is "$(stat -c "%i %Z" "kept$PWD/prog/$old/elf")" "$kept_as" "leaves what is there as it is" # libraries that were not hit before may come
program second
like "$(names own.data)" '\[\.\] first' "built anew: the names are the old ones"
unlike "$(names own.data)" '\[\.\] second' "and none of the new"
command perf --buildid-dir "$PWD/kept" report --stdio --no-children -g none -i own.data >theirs 2>/dev/null
like "$(cat theirs)" '\[\.\] first' "perf finds them too"
program third aside && cat aside >prog
exits 0 "a program that is written in place" "$SONDE" record -q -e cpu-clock -F 999 -o place.data -- ./prog
program fourth aside && cat aside >prog
like "$(names place.data)" '\[\.\] third' "keeps its names"

# ---- options
rm -rf kept
exits 0 "-N" "$SONDE" record -N -e cpu-clock -F 999 -o n.data -- ./prog
is "$(find kept 2>/dev/null)" "" "keeps nothing"
unlike "$err" "kept in" "and says nothing"
exits 0 "-B" "$SONDE" record -B -e cpu-clock -F 999 -o b.data -- ./prog
is "$(find kept 2>/dev/null)" "" "neither"
exits 0 "called as perf" ./perf record -q -e cpu-clock:u -F 999 -o p.data -- ./prog
is "$(find kept -path "*/prog/*/elf" | wc -l) $(find kept -name 'libidle*' | wc -l)" "1 0" "keeps what was hit"
exits 0 "--buildid-dir" ./perf --buildid-dir "$PWD/other" record -q -e cpu-clock -F 999 -o o.data -- ./prog
is "$(find other -path "*/prog/*/elf" | wc -l)" 1 "says where"
mkdir home && printf '[buildid]\n\tdir = %s/third\n' "$PWD" >home/.perfconfig
exits 0 "buildid.dir" env -u PERF_BUILDID_DIR HOME="$PWD/home" ./perf record -q -e cpu-clock -F 999 -o c.data -- ./prog
is "$(find third -path "*/prog/*/elf" | wc -l)" 1 "too"
exits 0 "--buildid-all" "$SONDE" record -q --buildid-all -e cpu-clock:u -F 999 -o all.data -- ./prog
is "$(find kept -path '*/libidle.so/*/elf' | wc -l)" 1 "keeps what was mapped"
rm -rf other
exits 0 "a home folder" env -u PERF_BUILDID_DIR HOME="$PWD/other" "$SONDE" record -q -e cpu-clock -F 999 -o h.data -- ./prog
is "$(find other/.debug -path "*/prog/*/elf" | wc -l)" 1 "is where it goes"

# ---- what others may have prepared
rm -rf kept && mkdir kept victim && ln -s "$PWD/victim" "kept/.build-id"
mkdir -p "kept$PWD" && ln -s "$PWD/victim" "kept$PWD/prog"
chown -h 65534 kept/.build-id "kept$PWD/prog" && chown 65534 kept "kept$PWD"
exits 0 "links in a folder of somebody else" "$SONDE" record -e cpu-clock -F 999 -o l.data -- ./prog
is "$(find victim -mindepth 1)" "" "are not followed"
like "$err" "warning: cannot keep programs in $PWD/kept" "which is said"
rm -rf kept
cp prog gone && exits 0 "a program that becomes a pipe" timeout 60 "$SONDE" record -e cpu-clock -F 999 -o f.data -- sh -c './gone; rm gone; mkfifo gone'
is "$(find kept -path '*/gone/*' -name elf)" "" "is left alone"
program sixth gone2 && exits 0 "a program that becomes another" "$SONDE" record -q -e cpu-clock -F 999 -o g.data -- sh -c './gone2; rm gone2; cp /bin/true gone2'
is "$(find kept -path '*/gone2/*' -name elf)" "" "is not taken for it"
done_testing
