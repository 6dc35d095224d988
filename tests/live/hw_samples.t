#!/usr/bin/env bash
# Branch stacks and accesses to memory, which this machine cannot record: made by tests/gen/perf_hw in both byte orders, and shown as
# perf 6.1 shows them.
# where: host
# needs:
# timeout: 120
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde perf
gen=$(dirname "$SONDE")/tests/perf_hw
if [ ! -x "$gen" ]; then
	echo "1..0 # SKIP tests/perf_hw is not built"
	exit 0
fi
cd "$SONDE_TMP" || exit 1
export HOME=$SONDE_TMP PERF_BUILDID_DIR=$SONDE_TMP/debug

# Small functions one behind the other: a branch leads from one to the next.
cat >prog.c <<'EOS'
int first(int x) { return x + 1; }
int second(int x) { return x + 2; }
int main(int n, char **v) { return first(n) + second(n); }
EOS
gcc -O0 -o prog prog.c || { ok 1 "a program is built"; done_testing; exit; }
at=$(nm prog | awk '$3 == "first" { print $1 }')
for form in "" swap; do
	for kind in branch mem real; do
		# shellcheck disable=SC2086
		"$gen" $kind "$PWD/prog" "$at" "$kind$form.data" $form
		ok $? "$kind $form"
	done
done

# perf gives an event of the other byte order a name of its own making.
for form in "" swap; do
	for fields in comm,ip,sym,brstack comm,ip,sym,dso,brstack comm,brstack comm,ip,sym,brstacksym ip,sym,dso,brstacksym tid,time,brstacksym \
		comm,ip,sym,symoff,dso,brstacksym; do
		command perf script -i branch$form.data --no-inline -F $fields >theirs 2>/dev/null
		"$SONDE" script -i branch$form.data --no-inline -F $fields >ours 2>ours.err
		cmp ours theirs >cmp.out 2>&1 && [ -s ours ]
		ok $? "script -F $fields $form" || diag "$(cat cmp.out ours.err)"
	done
	for fields in comm,addr,data_src,weight,ip,sym,phys_addr comm,data_src comm,ip,phys_addr data_src,ip,sym,symoff,dso tid,pid,time,cpu,weight,data_src; do
		command perf script -i mem$form.data --no-inline -F $fields >theirs 2>/dev/null
		"$SONDE" script -i mem$form.data --no-inline -F $fields >ours 2>ours.err
		cmp ours theirs >cmp.out 2>&1 && [ -s ours ]
		ok $? "script -F $fields $form" || diag "$(cat cmp.out ours.err)"
	done
done
# perf's brstackoff shows addresses as soon as it has read the symbols of a file; ours are always places in the file.
"$SONDE" script -i branch.data -F ip,brstackoff | grep -o '0x[0-9a-f]*/0x[0-9a-f]*/' >ours
"$SONDE" script -i branch.data -F ip,brstack | grep -o '0x[0-9a-f]*/0x[0-9a-f]*/' | sed 's/0x40\(....\)\//0x\1\//g; s/0x0*/0x/g' >wanted
cmp ours wanted
ok $? "brstackoff: places in the file"
"$SONDE" script -i branch.data --json -F comm,ip,brstacksym >ours.json
python3 - <<'EOS'
import json
samples = json.load(open("ours.json"))
assert len(samples) == 300
branches = [b for s in samples for b in s["branches"]]
assert len(branches) > 500 and any(b["to"].get("symbol") == "first" for b in branches)
assert any(b["mispredicted"] for b in branches) and any(b["predicted"] for b in branches)
EOS
ok $? "--json has them, too"

# ---- report. Faults of perf 6.1: it is killed by SIGSEGV when symbol_from or symbol_to are named (its usual keys have them); it compares
# flags of branches in a way that is no order, so that rows come twice: those are added up; a kernel address that a branch leads to has
# the letter of the sample; and it joins accesses whose bits differ where it does not look (so: real ones, not mem).
rows() { grep -a '^ *[0-9.]*%' | sed 's/^ *//; s/ *$//' | awk '{ p = $1; sub(/%/, "", p); $1 = ""; sum[$0] += p } END { for (r in sum) printf "%.2f%s\n", sum[r], r }' | sort; }
same() {
	command perf report --stdio "$@" 2>/dev/null | rows >theirs
	"$SONDE" report --stdio "$@" 2>ours.err | rows >ours
	cmp ours theirs >/dev/null 2>&1 && [ -s ours ]
	ok $? "report $*" || { diag "$(diff theirs ours | head -5)"; diag "$(cat ours.err)"; }
}
for form in "" swap; do
	same -i branch$form.data
	same -i branch$form.data -n
	same -i branch$form.data --no-branch-stack
	for keys in mispredict in_tx abort cycles dso_from dso_to dso_from,dso_to pid,cpu,dso_from,cycles comm,cycles,dso_to; do
		same -i branch$form.data --sort $keys
	done
	for keys in mem snoop tlb locked blocked phys_daddr local_weight dso_daddr mem,sym,dso tlb,snoop,locked comm,mem,phys_daddr; do
		same -i real$form.data --mem-mode --sort $keys
	done
done
head_of() { grep -a '^# ' | grep -av 'To display\|Tip\|Branch Statistics'; }
is "$("$SONDE" report --stdio -i branch.data 2>/dev/null | head_of)" "$(command perf report --stdio -i branch.data 2>/dev/null | head_of)" "the head of a report of branches"
# perf's column of levels is 24 wide, whatever stands in it.
is "$("$SONDE" report --stdio -i real.data --mem-mode --sort snoop,tlb 2>/dev/null | head_of)" \
	"$(command perf report --stdio -i real.data --mem-mode --sort snoop,tlb 2>/dev/null | head_of)" "the head of one of accesses"
like "$("$SONDE" report --stdio -i branch.data --sort symbol_from,symbol_to 2>&1)" '82.42% +\[\.\] first +\[\.\] first' "from function to function"
for workers in 1 2 5; do "$SONDE" report --stdio -i branch.data --workers $workers >ours.$workers 2>&1; done
cmp ours.1 ours.2 && cmp ours.1 ours.5
ok $? "the same, however many work"
exits 129 "keys of branches without branches" "$SONDE" report -i mem.data --sort symbol_from --stdio
like "$err" "'symbol_from' is of branches, and there are none" "are refused"
"$SONDE" report -i branch.data --json >ours.json 2>/dev/null
python3 -c 'import json; assert "symbol_from" in open("ours.json").read(); json.load(open("ours.json"))'
ok $? "--json"
done_testing
