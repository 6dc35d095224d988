#!/usr/bin/env bash
# annotate: percentages per address are perf's, and sum up to the report; source, lines, syntax, JSON; what is missing is said.
# where: host
# needs: perf_events
# timeout: 300
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde perf

cd "$SONDE_TMP" || exit 1
export HOME=$SONDE_TMP
gcc -O2 -g -fno-omit-frame-pointer -o loop "$SONDE_SRC/tests/live/inline_loop.c" || { ok 1 "the program is built"; done_testing; exit; }
# recording FILE EVENTS: about a hundred samples on any machine. Of an instruction with half a percent and less perf -l does not count the line: with
# more than 200 samples its sums are too small.
TIMEFORMAT=%U
ms=$({ time ./loop 300000 >/dev/null; } 2>&1 | tr -dc 0-9 | sed 's/^0*//')
recording() {
	local i n
	for i in 1 2 3 4 5 6 7 8; do
		perf record -q -c $((${ms:-10} * 1000000 / 100)) -e "$2" -o "$1" ./loop 300000 >/dev/null 2>&1
		n=$(perf script -F event -i "$1" 2>/dev/null | grep -c cpu-clock)
		[ "$n" -lt 40 ] || [ "$n" -gt 190 ] || break
	done
}
recording rec.data cpu-clock:u,task-clock:u

# "address percent" of every instruction that has any, by function and event, and the layout around it.
cat >read.py <<'END'
import re, sys
out = {}
for line in sys.stdin:
    m = re.match(r" Percent\s*\|\s+Source code & Disassembly of (\S+) for (\S+) \((\d+) samples, percent: local period\)$", line)
    if m:
        cur = out.setdefault(m.groups(), {})
        ruler = len(line.rstrip("\n")) + 5
        continue
    if set(line.strip()) == {"-"} and len(line.strip()) > 60:
        assert len(line.strip()) == ruler, "the ruler"
    m = re.match(r" {1,7}([\d.]+) :   ([0-9a-f]+):   (\S.*)", line)
    if m:
        cur[m[2]] = m[1]
for key in sorted(out):
    print(*key, len(out[key]), sorted((a, p) for a, p in out[key].items() if p != "0.00"))
END
# Of the program itself: in a sample that fell on libc perf's objdump finds nothing.
perf annotate --stdio -i rec.data 2>/dev/null | python3 read.py | grep '^loop ' >theirs
"$SONDE" annotate --stdio -i rec.data 2>ours.err | python3 read.py | grep '^loop ' >ours
cmp -s theirs ours && [ -s ours ]
ok $? "the same functions, instructions and percentages as perf annotate ($(wc -l <ours) functions)" ||
	diag "$(diff theirs ours | cut -c1-300 | head -6)"
perf annotate --stdio -i rec.data -s leaf 2>/dev/null | python3 read.py >theirs
"$SONDE" annotate --stdio -i rec.data -s leaf 2>/dev/null | python3 read.py >ours
cmp -s theirs ours && [ -s ours ]
ok $? "-s: one function"
ln -s "$SONDE" perf
./perf annotate --stdio -i rec.data leaf 2>/dev/null | python3 read.py >ours
cmp -s theirs ours
ok $? "called as perf, with the function as a word"

text=$("$SONDE" annotate -i rec.data -s leaf 2>/dev/null)
like "$text" ': 6    	x \^= x << 13;' "source lines stand between the instructions"
like "$text" ': 6    mix\(\):' "inlined functions are named"
like "$text" '┌.*j' "jumps are drawn"
unlike "$("$SONDE" annotate -i rec.data --no-source -s leaf 2>/dev/null)" 'x << 13' "--no-source"
unlike "$("$SONDE" annotate -i rec.data --stdio -s leaf 2>/dev/null)" '┌' "--stdio draws none"
like "$("$SONDE" annotate -i rec.data -M intel --asm-raw -s leaf 2>/dev/null)" '[0-9a-f]{2} [0-9a-f]{2} .*shl +e?[a-z]+,0xd' "-M intel --asm-raw"
# --stdio2: percentages, labels, arrows and where jumps lead are perf's; names behind calls are better, and what does nothing is written otherwise.
rel() { sed -nE 's/^( *[0-9.]* +([0-9a-f]+: )? *([↓↑→←] )?)([a-z][a-z0-9]*)( +(.*[^ ]))? *$/\1\4 \6/p' | sed -E 's/(call|lea) .*/\1/; s/ +$//' | grep -vE ' (nop[wl]?|cs|data16|xchg)( |$)'; }
perf annotate --stdio2 --no-source -i rec.data -s leaf 2>/dev/null | rel >theirs
"$SONDE" annotate --stdio2 --no-source -i rec.data -s leaf 2>/dev/null | rel >ours
cmp -s theirs ours && [ "$(wc -l <ours)" -gt 20 ] && grep -q '↓' ours && grep -qE ' [0-9a-f]+: ' ours
ok $? "--stdio2: the same lines ($(wc -l <ours))" || diag "$(diff theirs ours | head -n 6)"
lines=$("$SONDE" annotate -i rec.data -l -s leaf 2>/dev/null)
like "$lines" "Sorted summary for file .*/loop
-{46}

 +[0-9.]+ inline_loop\.c:" "-l: the heaviest lines first"
theirs=$(perf annotate --stdio -i rec.data -l -s leaf 2>/dev/null | sed -n 's/^ *\([0-9.]*\) \(inline_loop.c:[0-9]*\)$/\1 \2/p' | sort)
ours=$(sed -n 's/^ *\([0-9.]*\) \(inline_loop.c:[0-9]*\)$/\1 \2/p' <<<"$lines" | sort)
is "$ours" "$theirs" "-l: the same lines with the same percentages as perf's"

"$SONDE" annotate --json -i rec.data >all.json 2>/dev/null
"$SONDE" report --json -g none --sort sym -n -i rec.data >report.json 2>/dev/null
python3 - <<'END' >differ 2>&1
import json
report = {}
for e in json.load(open("report.json"))["events"]:
    for r in e["rows"]:
        if not r["symbol"].startswith("0x"):
            report[e["event"], r["symbol"]] = r["samples"]
checked = 0
for a in json.load(open("all.json")):
    event = a["events"][0]
    insns = sum(i["weights"][0]["samples"] for i in a["instructions"])
    periods = sum(i["weights"][0]["period"] for i in a["instructions"])
    if not insns == event["samples"] == report[event["event"], a["symbol"]] or periods != event["period"]:
        print(a["symbol"], insns, event, report.get((event["event"], a["symbol"])))
    checked += 1
if not checked:
    print("nothing was annotated")
END
is "$(cat differ)" "" "the instructions' samples sum up to the report's"

like "$("$SONDE" annotate --group -i rec.data -s leaf 2>/dev/null | head -1)" 'for cpu-clock:u' "--group: an event that leads none stands alone"
# A group: its members beside each other, without being asked (perf 6.1 aborts when told not to).
recording group.data '{cpu-clock:u,task-clock:u}'
of_insns() { sed -n '1p; s/^\( [ 0-9.]*:   [0-9a-f]*:\).*/\1/p'; }
for how in "" -n --show-total-period --group; do
	# shellcheck disable=SC2086
	perf annotate --stdio -i group.data -s leaf $how 2>/dev/null | of_insns >theirs
	# shellcheck disable=SC2086
	"$SONDE" annotate --stdio -i group.data -s leaf $how 2>/dev/null | of_insns >ours
	cmp -s theirs ours && [ "$(wc -l <ours)" -gt 10 ]
	ok $? "a group $how: heads, addresses and both columns are perf's" || diag "$(diff theirs ours | head -n 4)"
done
like "$(head -n 1 ours)" 'for anon group \{ cpu-clock:u, task-clock:u \}' "... and the head names both"
theirs=$(perf annotate --stdio -i group.data -l -s leaf 2>/dev/null | sed -n 's/^ *\([0-9. ]*\) \(inline_loop.c:[0-9]*\)$/\1 \2/p' | sort)
is "$("$SONDE" annotate --stdio -i group.data -l -s leaf 2>/dev/null | sed -n 's/^ *\([0-9. ]*\) \(inline_loop.c:[0-9]*\)$/\1 \2/p' | sort)" "$theirs" "a group -l: lines with both percentages"
is "$("$SONDE" annotate --stdio --no-group -i group.data -s leaf 2>/dev/null | grep -c 'Source code')" 2 "--no-group: one after the other"

out=$("$SONDE" annotate -i rec.data -n -s leaf 2>/dev/null)
like "$out" '^ Samples' "-n: numbers of samples"
exits 1 "a function that nothing fell on" "$SONDE" annotate -i rec.data -s laef
like "$err" "no samples in function 'laef'" "it says so"
like "$err" "did you mean 'leaf'" "and what is near"
mkdir none && : >none/libcapstone.so.4
LD_LIBRARY_PATH=$PWD/none exits 1 "without the library that reads code" "$SONDE" annotate -i rec.data -s leaf
like "$err" "libcapstone is not installed" "says what is missing"
exits 129 "an unknown syntax" "$SONDE" annotate -i rec.data -M arm
mv loop gone
rm -rf .debug # perf record keeps a copy
exits 1 "without the program" "$SONDE" annotate -i rec.data -s leaf
like "$err" 'no code to show|not named|no sample' "it says what is missing"
mv gone loop

# Programs that were not made for this: the hottest functions of two of Debian's, instruction by instruction.
cat >insns.py <<'END'
import re, sys
for line in sys.stdin:
    m = re.match(r" +[\d.]+ :   [0-9a-f]+: +(?=\S)", line) or re.match(r" +: \d+ +(?=Disassembly)", line)
    if m:
        print(m[0] + "|")
END
hottest() { # NAME CMD...
	local name=$1 f n=0 same=0
	shift
	for i in 1 2 3 4 5; do perf record -q -F 999 -e cpu-clock:u -o "$name.data" -- "$@" >/dev/null 2>&1 && break; done
	for f in $(perf report --stdio -g none --sort sym --dsos "$name" -i "$name.data" 2>/dev/null | awk '$2 == "[.]" && $3 !~ /@|^0x/ { print $3 }' | head -n 5); do
		perf annotate --stdio -i "$name.data" -s "$f" 2>/dev/null | python3 insns.py >theirs
		"$SONDE" annotate --stdio -i "$name.data" -s "$f" 2>/dev/null | python3 insns.py >ours
		n=$((n + 1))
		if [ -s ours ] && cmp -s theirs ours; then same=$((same + 1)); else diag "$name, $f: $(diff theirs ours | head -n 4)"; fi
	done
	[ $n -gt 0 ] && [ $n = $same ]
	ok $? "$name: addresses and percentages of $n functions are perf's"
}
hottest perl perl -e 'for my $r (1 .. 12) { my %h; for my $i (1 .. 30000) { $h{ $i % 1000 } .= "x$i" } $x = join ",", sort { $a <=> $b } keys %h }'
"$SONDE" annotate --stdio --asm-raw -i perl.data 2>/dev/null | grep -E ' :   [0-9a-f]+: +([0-9a-f]{2} ){1,6} +[a-z]' | cut -c1-45 | sort -u >ours
perf annotate --stdio --asm-raw -i perl.data -s "$(perf report --stdio -g none --sort sym --dsos perl -i perl.data 2>/dev/null | awk '$2 == "[.]" { print $3; exit }')" 2>/dev/null |
	grep -E ' :   [0-9a-f]+: +([0-9a-f]{2} ){1,6} +[a-z]' | cut -c1-45 | sort -u >theirs
[ -s theirs ] && [ -z "$(comm -23 theirs ours)" ]
ok $? "--asm-raw: the bytes stand where perf has them" || diag "$(comm -23 theirs ours | head -n 4)"
hottest bash bash --norc -c 'f() { local i; for i in {1..50}; do x=$((x + i)); y=${x//1/2}; done; }; for i in {1..200}; do f; done'

# Without debugging information there is still assembly.
gcc -O2 -fno-omit-frame-pointer -o plain "$SONDE_SRC/tests/live/inline_loop.c"
for i in 1 2 3 4 5; do perf record -q -F 999 -e cpu-clock:u -o plain.data ./plain 300000 >/dev/null 2>&1 && break; done
like "$("$SONDE" annotate -i plain.data -s leaf 2>/dev/null)" '[0-9.]+ : +[0-9a-f]+: .*(shl|xor)' "without -g: assembly"

# The last part of a name is what people remember.
cat >parts.cc <<'END'
#include <cstdlib>
static volatile unsigned sink;
extern "C" __attribute__((noinline)) void part(unsigned n) __asm__("sort.partition");
extern "C" void part(unsigned n) { while (n--) sink += n; }
namespace { struct thing { __attribute__((noinline)) void worker(unsigned n) { while (n--) sink ^= n; } }; }
int main(int argc, char **argv) { thing t; for (int i = atoi(argv[1]); i; i--) { part(100000); t.worker(100000); } return argc - 2; }
END
g++ -O1 -o parts parts.cc
"$SONDE" record -q -F 999 -e cpu-clock:u -o parts.data -- ./parts 500 2>/dev/null
exits 1 "part of a name is not a function" "$SONDE" annotate -i parts.data partition
like "$err" "did you mean 'sort.partition'" "but which one it is part of is said"
exits 1 "nor in C++" "$SONDE" annotate -i parts.data worker
like "$err" "did you mean '.*thing::worker" "... where it is said, too"

# Arrows are ASCII in a locale that has nothing else; layout and numbers stay.
for how in "" --stdio2; do
	LC_ALL=C "$SONDE" annotate $how -i rec.data >plain.txt 2>/dev/null
	"$SONDE" annotate $how -i rec.data >arrows.txt 2>/dev/null
	is "$(LC_ALL=C tr -d '\000-\177' <plain.txt | wc -c)" 0 "annotate $how in the C locale is ASCII"
	isnt "$(LC_ALL=C tr -d '\000-\177' <arrows.txt | wc -c)" 0 "annotate $how has arrows elsewhere"
	sed 's/│/|/g; s/─/-/g; s/[┌└]/+/g; s/→/>/g; s/←/</g; s/↓/v/g; s/↑/^/g' arrows.txt | cmp -s - plain.txt
	ok $? "the same otherwise"
done

# Many functions without code for one reason: one note.
cat >many.c <<'EOF'
#include <time.h>
volatile unsigned long sum;
#define F(n) __attribute__((noinline)) void n(void) { for (int i = 0; i < 20000; i++) sum += i; }
F(one) F(two) F(three) F(four)
int main(void) { while (clock() < CLOCKS_PER_SEC / 2) { one(); two(); three(); four(); } }
EOF
gcc -O1 -o many many.c && "$SONDE" record -N -q -e cpu-clock:u,task-clock:u -c 500000 -o many.data ./many 2>/dev/null
cp many many.kept
"$SONDE" annotate -i many.data --stdio >/dev/null 2>err
is "$(grep -c 'no code to show' err)" 0 "nothing is missing while the program is there"
gcc -O2 -DOTHER -o many -x c - <<<'int main(void) { return 0; }'
"$SONDE" annotate -d many -i many.data --stdio --no-source >/dev/null 2>err
is "$(grep -c 'no code to show: ' err)" 1 "functions of a program that changed: one note" || diag "$(cat err)"
like "$(cat err)" '[4-9] functions in .*many \([a-z]+, [a-z]+, [a-z]+, \.\.\.\): no code to show: ' "with how many, and the first names"

# The browser: the hottest instruction first, jumps and calls followed, source, search.
if ! command -v tmux >/dev/null; then
	skip "tmux is not installed" "the browser"
	done_testing
	exit
fi
cat >calls.c <<'EOF'
#include <time.h>
volatile unsigned long sum;
__attribute__((noinline)) void leaf(int n)
{
	for (int i = 0; i < n; i++)
		sum += i; /* the loop */
}
__attribute__((noinline)) void outer(void)
{
	for (int i = 0; i < 1000; i++) {
		sum ^= i;
		leaf(3);
	}
}
int main(void) { while (clock() < CLOCKS_PER_SEC / 2) outer(); }
EOF
gcc -O1 -g -fno-inline -fno-optimize-sibling-calls -o calls calls.c && "$SONDE" record -q -e cpu-clock:u -c 250000 -o calls.data ./calls 2>/dev/null
# The page of a flame graph has the code of the heaviest functions, with what annotate says fell on it.
"$SONDE" record -q -g -e cpu-clock:u -c 250000 -o chains.data ./calls 2>/dev/null
exits 0 "a flame graph" "$SONDE" flame chains.data -o code.html
python3 "$SONDE_SRC/tests/golden/flame/read_page.py" --code code.html >code.txt
like "$(cat code.txt)" '^leaf [0-9]+ source .*the loop' "its page has source"
is "$(awk '$1 == "leaf" && $3 != "source" { s += $3 } END { print s }' code.txt)" \
	"$("$SONDE" annotate --json -i chains.data leaf | python3 -c 'import json, sys; print(sum(i["weights"][0]["period"] for i in json.load(sys.stdin)[0]["instructions"]))')" "and instructions with the weights of annotate"
exits 0 "without" "$SONDE" flame --no-code chains.data -o nocode.html
is "$(python3 "$SONDE_SRC/tests/golden/flame/read_page.py" --code nocode.html)" "" "--no-code: none"
# Debugging information may name any file; pages are shown around.
printf 'one\ntwo\n' >secret.c
printf 'one\ntwo\n' >passwords
chmod 600 secret.c
for file in secret.c passwords; do
	sed "s|^\t\tsum += i;.*|#line 2 \"$PWD/$file\"\n\t\tsum += i;|" calls.c >other.c
	gcc -O1 -g -fno-inline -o other other.c && "$SONDE" record -q -g -e cpu-clock:u -c 500000 -o other.data ./other 2>/dev/null
	"$SONDE" flame other.data -o other.html 2>/dev/null
	python3 "$SONDE_SRC/tests/golden/flame/read_page.py" --code other.html >other.txt
	like "$(cat other.txt)" '^leaf [0-9]+ [0-9]+ ' "a program that says its source is $file: its instructions are in the page"
	unlike "$(cat other.txt)" 'source (one|two)$' "the file is not"
	like "$("$SONDE" annotate --stdio -i other.data leaf 2>/dev/null)" ' two$' "who annotates sees it, as far as they may read it"
done

export TMUX_TMPDIR=$SONDE_TMP TERM=xterm
unset TMUX
server=annotate # a server that was told to end may still answer: each has a name of its own
term() { tmux -f /dev/null -L "$server" "$@"; }
trap 'term kill-server 2>/dev/null; rm -rf "$SONDE_TMP"' EXIT
screen_has() { term capture-pane -t b -p 2>/dev/null | grep -qE -- "$1"; }
screen_lacks() { ! screen_has "$1"; }
shows() { wait_until screen_has "$1"; ok $? "$2" || diag "$(term capture-pane -t b -p)"; }
gone() { wait_until screen_lacks "$1"; ok $? "$2" || diag "$(term capture-pane -t b -p)"; }
keys() { term send-keys -t b "$@"; }
selected() { term capture-pane -t b -e -p | sed -n '3,$p' | grep $'\e\[[0-9;]*7m' | sed 's/\x1b\[[0-9;]*m//g' | grep '|' | head -1; }
term new-session -d -s b -x 110 -y 40 "'$SONDE' annotate -i calls.data outer 2>err; echo status \$?; sleep 1000"
shows '^ outer  calls  cpu-clock:u: [0-9]+ samples, [0-9.]+% of the recording' "the browser begins with the function that was asked for"
most=$(term capture-pane -t b -p | sed -n 's/^ *\([0-9.]*\)  |.*/\1/p' | sort -rn | head -1)
like "$(selected)" "^ *$most  \|" "with its hottest instruction selected"
shows 'sum \^= i;' "between the lines of source"
keys s
gone 'sum \^= i;' "s takes them away"
keys s
shows 'sum \^= i;' "and brings them back"
keys / 'call ' Enter
keys Enter
shows '^ leaf  calls ' "Enter on a call shows what is called"
keys Escape
shows '^ outer  calls ' "Escape goes back"
like "$(selected)" 'call' "to the call"
keys End
keys Home / j Enter
shows '[┌└]→' "a jump that is selected has an arrow"
keys / zzz Enter
shows "'zzz' not found" "a search without a find says so"
keys Tab
gone '^ outer  calls ' "Tab shows another function"
keys '?'
shows 'the hottest instruction' "help"
keys q
keys q
shows 'status 0' "q leaves"
term kill-server
server=report
term new-session -d -s b -x 110 -y 40 "'$SONDE' report -i calls.data --no-children 2>err; echo status \$?; sleep 1000"
shows 'calls +\[\.\] (leaf|outer)' "the report's browser"
keys a
shows '^ (leaf|outer)  calls  cpu-clock:u: ' "opens this one with a"
keys q
shows '^ +Overhead|^ +Self' "and is back when it is left"
keys q
shows 'status 0' "q quits"
term kill-server
# ---- a program without lines: the whole text is perf's, for a group with both columns
cat >plain.c <<'EOS'
volatile int sum;
__attribute__((noinline)) int leaf(int n) { for (int i = 0; i < n; i++) sum += i; return sum; }
int main(void) { for (int i = 0; i < 2000; i++) leaf(100000); return 0; }
EOS
gcc -O1 -o plain plain.c
perf record -q -B -F 2000 -e '{cpu-clock,page-faults}:S' -o plain.data ./plain 2>/dev/null
for options in "" "-n" "--show-total-period" "--no-source" "-M att"; do
	# shellcheck disable=SC2086
	perf annotate --stdio -i plain.data -s leaf $options >theirs 2>/dev/null
	# shellcheck disable=SC2086
	"$SONDE" annotate --stdio -i plain.data -s leaf $options >ours 2>ours.err
	cmp -s ours theirs && [ "$(grep -c ' : ' ours)" -gt 10 ]
	ok $? "without lines, annotate $options: perf's bytes" || diag "$(diff theirs ours | head -6)" "$(cat ours.err)"
done
done_testing
