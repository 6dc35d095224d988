#!/usr/bin/env bash
# Called as perf: settings of ~/.perfconfig mean what they mean to perf 6.1, and standard error holds nothing that perf would not say.
# where: host
# needs: root
# timeout: 300
. "${SONDE_SRC:-.}/tests/lib.sh"

need perf
cd "$SONDE_TMP" || exit 1
export HOME=$SONDE_TMP PERF_BUILDID_DIR=$SONDE_TMP/debug PERF_CONFIG=$SONDE_TMP/config
mkdir bin
ln -s "$SONDE" bin/perf
ours=$PWD/bin/perf
: >config

# Nothing but known functions in the chains: static, and user code only.
cat >deep.c <<'EOS'
static volatile long x;
#define DEEP __attribute__((noinline))
DEEP void leaf(long n) { for (long i = 0; i < n; i++) x += i; }
DEEP void left(long n) { leaf(n); x++; }
DEEP void right(long n) { leaf(n / 3); x++; }
int main(void) { for (int i = 0; i < 3000; i++) { left(40000); right(40000); } return 0; }
EOS
gcc -O1 -static -fno-omit-frame-pointer -fno-optimize-sibling-calls -o deep deep.c
"$SONDE" record -q -o chains.data -F 999 --call-graph fp -e cpu-clock:u -- ./deep
"$SONDE" record -q -o group.data -F 999 -e '{cpu-clock,task-clock}' -- "$SONDE" workload leaf 0.2
"$SONDE" record -q -o one.data -F 999 -e cpu-clock -- sh -c '"$0" workload leaf 0.2; "$0" workload noploop 0.2' "$SONDE"
"$SONDE" record -q -o two.data -F 999 -e cpu-clock -- sh -c '"$0" workload leaf 0.1; "$0" workload noploop 0.3' "$SONDE"

# Widths of columns count libraries without rows with perf. It ends with a tip and lines of nothing but #, and calls a group's leader alone "events".
tidy() { grep -v 'Tip:' | sed "/^#\$/d; /^\$/d; s/of events '/of event '/; s/  */ /g; s/\.\.\.*/../g; s/ \$//"; }
# SETTINGS COMMAND...: the same output, and another than without the settings.
same() {
	local settings=$1
	shift
	"$ours" "$@" 2>/dev/null | tidy >plain
	printf '%b' "$settings" >config
	perf "$@" 2>/dev/null | tidy >theirs
	"$ours" "$@" 2>mine.err | tidy >mine
	: >config
	[ -s theirs ] && cmp -s theirs mine && ! cmp -s plain mine
	ok $? "${settings//\\n/ }: $*" || diag "$(diff theirs mine | head -6)" "$(cmp plain mine)" "$(cat mine.err)"
}
same '[report]\ngroup = false\n' report --stdio -i group.data
same '[call-graph]\nprint-type = flat\n' report --stdio --no-inline -i chains.data
same '[call-graph]\norder = callee\n' report --stdio --no-inline -i chains.data
same '[call-graph]\nprint-type = folded\nthreshold = 50\n' report --stdio --no-inline -i chains.data
same '[call-graph]\norder = caller\n' report --stdio --no-inline --no-children -i chains.data
same '[hist]\npercentage = relative\n' report --stdio --comms sonde --dsos '[kernel.kallsyms]' -i one.data
same '[diff]\ncompute = ratio\n' diff one.data two.data
same '[diff]\norder = 1\ncompute = delta\n' diff one.data two.data
# perf names the lines of return addresses, we those of calls (report_compare.py): so the option and the setting are compared.
"$ours" report --stdio --no-inline -g address -i chains.data 2>/dev/null >theirs
printf '[call-graph]\nsort-key = address\n' >config
"$ours" report --stdio --no-inline -i chains.data 2>/dev/null >mine
: >config
[ -s mine ] && cmp -s theirs mine && ! cmp -s plain mine
ok $? "call-graph.sort-key is -g address" || diag "$(diff theirs mine | head -6)"
# An option on the command line has the last word.
printf '[call-graph]\nprint-type = flat\nthreshold = 50\n' >config
perf report --stdio --no-inline -g graph,1 -i chains.data 2>/dev/null | tidy >theirs
"$ours" report --stdio --no-inline -g graph,1 -i chains.data 2>/dev/null | tidy >mine
[ -s theirs ] && cmp -s theirs mine
ok $? "-g replaces the settings, number by number" || diag "$(diff theirs mine | head -6)"
exits 0 "settings for call graphs, and none recorded" "$ours" report --stdio -i one.data
is "$err" "" "nobody asked for call graphs: no warning"
printf '[annotate]\ndisassembler_style = intel\n' >config
like "$("$ours" annotate --stdio -i one.data workload_leaf 2>/dev/null)" ' [0-9a-f]+:\s+mov +[er][a-z0-9]+,' "annotate.disassembler_style"
: >config

# ---- notes: perf has none
cat >prog.c <<'EOS'
static volatile long x;
int main(void) { for (long i = 0; i < 300000000; i++) x += i; return 0; }
EOS
gcc -O1 -o prog prog.c
"$SONDE" record -N -q -o gone.data -F 999 -e cpu-clock -- ./prog
rm -f prog
exits 0 "a recording of a program that is gone" "$SONDE" report --stdio -i gone.data
like "$err" 'note: ' "under our own name there is a note"
exits 0 "as perf" "$ours" report --stdio -i gone.data
is "$err" "" "there are none"
exits 0 "as perf, with -v" "$ours" report -v --stdio -i gone.data
like "$err" 'note: ' "there it is"
exits 255 "errors remain" "$ours" report -i nosuch.data
like "$err" 'nosuch.data' "and name the file"
done_testing
