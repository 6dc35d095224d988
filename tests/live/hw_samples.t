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
	for kind in branch mem; do
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
done_testing
