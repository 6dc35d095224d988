#!/usr/bin/env bash
# What perf 6.1 makes of the same recordings: groups that were read together, places without debug information, named addresses,
# events that one of two recordings has.
# where: host
# needs: root
# timeout: 300
. "${SONDE_SRC:-.}/tests/lib.sh"

need perf
cd "$SONDE_TMP" || exit 1
export HOME=$SONDE_TMP PERF_BUILDID_DIR=$SONDE_TMP/debug

record() {
	"$SONDE" record -q -o "$@" >/dev/null 2>&1
}
same() {
	local what=$1
	shift
	perf "$@" >theirs 2>/dev/null
	"$SONDE" "$@" >mine 2>mine.err
	[ -s theirs ] && cmp -s theirs mine
	ok $? "$what ($(wc -l <theirs) lines)" || diag "$(diff theirs mine | head -6)" "$(cat mine.err)"
}

# ---- a group that was read together: each event is a sample of its own, by what it counted
record group.data -F 999 -e '{cpu-clock,task-clock}:S' -- "$SONDE" workload leaf 0.3
record again.data -F 999 -e '{cpu-clock,task-clock}:S' -- "$SONDE" workload leaf 0.3
perf data convert -i group.data --to-json theirs.json >/dev/null 2>&1
"$SONDE" data convert -i group.data --to-json mine.json >/dev/null 2>&1
cmp -s theirs.json mine.json
ok $? "data convert --to-json: same bytes" || diag "$(diff theirs.json mine.json | head -6)"
samples=$(perf script -i group.data -F event 2>/dev/null | wc -l)
is "$(python3 -c 'import json; print(len(json.load(open("mine.json"))["samples"]))')" "$samples" "a sample of each event ($samples)"
columns() { awk '/^ +[0-9.]+ +[0-9.]+ +: +[0-9a-f]+:/ { print $1, $2, $4 }'; }
perf annotate --stdio -i group.data workload_leaf 2>/dev/null | columns >theirs
"$SONDE" annotate --stdio -i group.data workload_leaf 2>/dev/null | columns >mine
[ -s theirs ] && cmp -s theirs mine
ok $? "annotate: the same share of each event ($(wc -l <theirs) lines)" || diag "$(diff theirs mine | head -6)"
is "$(awk '$2 > 0' mine | wc -l)" "$(awk '$1 > 0' mine | wc -l)" "the second event has its own"
same "diff: same bytes" diff group.data again.data

# ---- events that only one recording has
record first.data -F 999 -e cpu-clock,page-faults -- "$SONDE" workload leaf 0.1
record second.data -F 999 -e cpu-clock,task-clock -- "$SONDE" workload leaf 0.1
same "diff: an event that only the first file has" diff first.data second.data
like "$(cat mine)" "^# Event 'page-faults'" "it is shown"
same "diff: the other way round" diff second.data first.data
same "diff -c ratio" diff -c ratio first.data second.data

# ---- places without debug information: the function and how far into it, or the address in the library
cat >prog.c <<'EOS'
static volatile long x;
__attribute__((noinline)) void inner(int n) { for (int i = 0; i < n; i++) x += i; }
int main(void) { for (int i = 0; i < 6000; i++) inner(30000); return 0; }
EOS
gcc -O1 -o prog prog.c && cp prog bare && strip bare
record named.data -F 999 -e cpu-clock -- ./prog
record bare.data -F 999 -e cpu-clock:u -- ./bare
"$SONDE" report --stdio -s sym,srcline -i named.data >mine 2>/dev/null
like "$(cat mine)" '\[\.\] inner +inner\+[0-9]+$' "report -s srcline: the function and the offset"
at=$((16#$("$SONDE" script -F ip,sym,symoff -i named.data 2>/dev/null | grep -o 'inner+0x[0-9a-f]*' | sort | uniq -c | sort -rn | head -n 1 | sed 's/.*0x//')))
like "$(cat mine)" "inner\\+$at\$" "which is the one that script has"
# perf takes the name of the file from the symbol table, and subtracts the function from an address of the process.
unlike "$(cat mine)" 'prog\.c:0|inner\+[0-9]{9}' "and no claim beyond that"
perf report --stdio -s dso,srcline -i bare.data 2>/dev/null | awk '/bare\[/ { print $1, $3 }' >theirs
"$SONDE" report --stdio --no-func-names -s dso,srcline -i bare.data 2>/dev/null | awk '/bare\[/ { print $1, $3 }' >mine
[ -s theirs ] && cmp -s theirs mine
ok $? "without symbols: the library and the address ($(wc -l <theirs) rows)" || diag "$(diff theirs mine | head -6)"
perf script -F comm,ip,sym,dso,srcline --dsos bare -i bare.data >theirs 2>/dev/null
"$SONDE" script --no-func-names -F comm,ip,sym,dso,srcline --dsos bare -i bare.data >mine 2>/dev/null
[ -s theirs ] && cmp -s theirs mine
ok $? "script -F +srcline of code without symbols ($(wc -l <theirs) lines)" || diag "$(diff theirs mine | head -6)"

# ---- script -F +addr: what a fault's address is of; objects of .bss have no place in the file that perf looks them up by
record faults.data -c 1 -d -e page-faults -- "$SONDE" workload leaf 0.01
for fields in comm,tid,time,event,addr,ip,sym,dso addr,ip,sym,symoff addr; do
	perf script -F $fields -i faults.data 2>/dev/null | sed 's/@plt/PLT/' >theirs
	"$SONDE" script -F $fields -i faults.data 2>/dev/null | sed 's/@plt/PLT/' >mine
	lines=$(wc -l <theirs)
	equal=$(diff --unchanged-line-format='x%c'"'\\012'" --old-line-format= --new-line-format= theirs mine | wc -l)
	[ "$lines" -gt 10 ] && [ $((equal * 10)) -ge $((lines * 8)) ]
	ok $? "script -F $fields: $equal of $lines lines the same" || diag "$(diff theirs mine | head -6)"
done
"$SONDE" script -F addr,ip,sym,dso -i faults.data >mine 2>/dev/null
like "$(cat mine)" ' [0-9a-f]+ [^ ]+ \([^)]*\) +[0-9a-f]+ ' "an address has a name and a library"
# ---- annotate: where operands relative to the instruction pointer point, and perf's other options
code() { awk -F: '/^ +[0-9.]+ +:/ && /rip\)/ { sub(/^ +/, "", $3); print $2 $3 }'; }
perf annotate --stdio -i named.data inner 2>/dev/null | code >theirs
"$SONDE" annotate --stdio -i named.data inner 2>/dev/null | code >mine
[ -s theirs ] && grep -q '# [0-9a-f]* <x>$' theirs && cmp -s theirs mine
ok $? "annotate: same text of such instructions ($(wc -l <theirs))" || diag "$(diff theirs mine | head -6)"
"$SONDE" annotate -M intel --stdio -i named.data inner >mine 2>/dev/null
like "$(cat mine)" 'rip \+ 0x[0-9a-f]+\].* # [0-9a-f]+ <x>' "in Intel's syntax, too"
record wide.data --sample-cpu -F 999 -e cpu-clock -- taskset -c 0 ./prog
shares() { awk '/^ +[0-9.]+ +: +[0-9a-f]+:/ { print $1, $3 }'; }
for option in "-C 0" "-m" "--demangle-kernel" "--objdump /usr/bin/objdump" "--stdio-color never"; do
	perf annotate --stdio $option -i wide.data inner 2>/dev/null | shares >theirs
	"$SONDE" annotate --stdio $option -i wide.data inner 2>mine.err | shares >mine
	[ -s theirs ] && cmp -s theirs mine
	ok $? "annotate $option" || diag "$(diff theirs mine | head -6)" "$(cat mine.err)"
done
exits 129 "CPUs that are none" "$SONDE" annotate -C x -i wide.data inner
like "$("$SONDE" annotate --stdio --stdio-color always -i named.data inner 2>/dev/null)" $'\033' "--stdio-color always"
exits 129 "--stdio-color with another word" "$SONDE" annotate --stdio-color often -i named.data inner
exits 0 "-D" "$SONDE" annotate -D --stdio -i named.data inner
like "$out" 'PERF_RECORD_SAMPLE' "the records"
like "$out" 'Disassembly of section' "and then the code"
exits 0 "--tui without a terminal" "$SONDE" annotate --tui -i named.data inner
like "$err" 'no terminal' "is plain text, and a warning"
cat >parts.cc <<'EOS'
static volatile long x;
namespace sort { __attribute__((noinline)) void partition() { for (long i = 0; i < 300000000; i++) x += i; } }
int main() { sort::partition(); return 0; }
EOS
g++ -O1 -o parts parts.cc
record parts.data -F 999 -e cpu-clock:u -- ./parts
exits 1 "annotate partition" "$SONDE" annotate --stdio -i parts.data partition
like "$err" "did you mean 'sort::partition" "the function that ends so is named"
done_testing
