#!/usr/bin/env bash
# Branch stacks and accesses to memory, which this machine cannot record: made by tests/gen/perf_hw in both byte orders, and shown as
# perf 6.1 shows them.
# where: host
# needs:
# timeout: 300
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
int table[50] = { 1, 2, 3 };
int first(int x) { return x + 1; }
int second(int x) { return x + 2; }
int main(int n, char **v) { return first(n) + second(n); }
EOS
gcc -g -O0 -o prog prog.c || { ok 1 "a program is built"; done_testing; exit; }
at=$(nm prog | awk '$3 == "first" { print $1 }')
# Where the object lies in the file: its address, less that of its section, in the section's place.
object=$(nm prog | awk '$3 == "table" { print $1 }')
read -r section place < <(readelf -SW prog | sed 's/^ *\[ *[0-9]*\]//' | awk '$1 == ".data" { print $3, $4 }')
object=$(printf %x $((0x$object - 0x$section + 0x$place)))
for form in "" swap; do
	for kind in branch lbr mem real wide; do
		# shellcheck disable=SC2086
		"$gen" $kind "$PWD/prog" "$at" "$kind$form.data" $form data=$object
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
# S4-100: call stacks of branches: the kernel's part of a chain from its own, the user's from the CPU
for form in "" swap; do
	for fields in comm,tid,ip,sym ip,sym,symoff,dso comm,ip; do
		command perf script -i lbr$form.data --no-inline -F $fields >theirs 2>/dev/null
		"$SONDE" script -i lbr$form.data --no-inline -F $fields >ours 2>ours.err
		cmp ours theirs >cmp.out 2>&1 && [ -s ours ]
		ok $? "S4-100: script -F $fields of --call-graph lbr $form" || diag "$(cat cmp.out ours.err)"
	done
	# Widths of columns differ where perf knows a name for the kernel.
	for option in "--no-children -g none" "--no-children -g folded,0,caller"; do
		# shellcheck disable=SC2086
		command perf report --stdio -i lbr$form.data $option 2>/dev/null | grep -v "^#" | tr -s " " | sort >theirs
		# shellcheck disable=SC2086
		"$SONDE" report --stdio -i lbr$form.data $option 2>ours.err | grep -v "^#" | tr -s " " | sort >ours
		cmp ours theirs >cmp.out 2>&1 && [ -s ours ]
		ok $? "S4-100: report $option of --call-graph lbr $form" || diag "$(diff theirs ours | head -5; cat ours.err)"
	done
done

# perf leaves the mask of iregs as it is in a file of the other byte order, and names other registers.
for fields in comm,ip,sym,iregs comm,ip,uregs comm,uregs,data_page_size ip,sym,data_page_size,code_page_size comm,phys_addr,code_page_size weight,ins_lat,ip \
	flags,comm,ip synth,comm,tid comm,tid,time,event,flags,addr,ins_lat ip,sym,dso,symoff,uregs,phys_addr,data_page_size; do
	for form in "" swap; do
		case $form$fields in swap*iregs*) continue ;; esac
		command perf script -i wide$form.data --no-inline -F $fields >theirs 2>/dev/null
		"$SONDE" script -i wide$form.data --no-inline -F $fields >ours 2>ours.err
		cmp ours theirs >cmp.out 2>&1 && [ "$(wc -l <ours)" = 300 ]
		ok $? "script -F $fields $form" || diag "$(cat cmp.out ours.err)"
	done
done
is "$("$SONDE" script -i wideswap.data --no-inline -F comm,iregs,uregs)" "$("$SONDE" script -i wide.data --no-inline -F comm,iregs,uregs)" \
	"registers of the other byte order"
"$SONDE" script -i wide.data --json -F comm,iregs,uregs,ins_lat,data_page_size,code_page_size >ours.json
python3 - <<'EOS'
import json
samples = json.load(open("ours.json"))
assert len(samples) == 300 and all({"AX", "BX", "SP", "IP"} <= set(s["uregs"]) for s in samples)
assert {s["ins_lat"] for s in samples} == {0, 7, 14} and {s["data_page_size"] for s in samples} >= {0, 4096, 1 << 21}
EOS
ok $? "--json has registers, latencies and pages"
for fields in weight ins_lat iregs uregs data_page_size code_page_size brstack phys_addr data_src tod; do
	file=branch.data
	[ $fields = brstack ] && file=mem.data
	exits 1 "-F $fields where samples have none" "$SONDE" script -i $file -F comm,$fields
	like "$err" "-F $fields: (not recorded in the samples|the recording has no reference for the time of day)" "is said"
done
for fields in insn brstackinsn ipc callindent metric srccode bpf-output; do
	exits 129 "-F $fields" "$SONDE" script -i wide.data -F +$fields
	like "$err" "annotate|AUX traces|sonde stat -M|-D prints" "is refused with what is there instead"
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
# perf adds a column of its own to keys that hold "symbol", and shows those of global costs only where its machine has them.
rows_without_ipc() { sed 's/  *-  *- *$//' | rows; }
for form in "" swap; do
	for keys in data_page_size code_page_size transaction ins_lat local_ins_lat weight addr dso_daddr,data_page_size comm,transaction,sym \
		mem,local_ins_lat,code_page_size; do
		same -i wide$form.data --mem-mode --sort $keys
	done
	same -i wide$form.data --mem-mode
	same -i wide$form.data --sort transaction
	same -i wide$form.data --sort code_page_size,addr,local_weight
	for keys in symbol_daddr symbol_iaddr symbol_daddr,dso_daddr; do
		command perf report --stdio -i wide$form.data --mem-mode --sort $keys 2>/dev/null | rows_without_ipc >theirs
		"$SONDE" report --stdio -i wide$form.data --mem-mode --sort $keys 2>ours.err | rows >ours
		cmp ours theirs >/dev/null 2>&1 && [ -s ours ]
		ok $? "report --sort $keys $form" || { diag "$(diff theirs ours | head -5)"; diag "$(cat ours.err)"; }
	done
	for keys in srcline_from srcline_to addr_from srcline_from,srcline_to; do
		same -i branch$form.data --sort $keys
	done
done
like "$("$SONDE" report --stdio -i branch.data --sort addr_to 2>&1)" '7\.73% +\[k\] 0xffffffff81000000' "where branches led: the letter of that place"
# perf 6.1 takes the line's address and the object's offset for the same kind of number: table+0xffffffffffc00060. The truth is in the samples.
"$SONDE" report -i wide.data --mem-mode --sort dcacheline --json 2>/dev/null >ours.json
"$SONDE" script -i wide.data -F addr,weight | awk '{ print $1, $2 }' >accesses
python3 - "$object" <<'EOS'
import builtins, collections, json, sys
table, base, sum = int(sys.argv[1], 16), 0x400000, collections.Counter()
for line in open("accesses"):
    addr, weight = line.split()
    addr = int(addr, 16)
    at = addr - addr % 64 - base - table
    inside = base + table <= addr < base + table + 200
    name = "table%s0x%x" % ("-" if at < 0 else "+", abs(at)) if inside else \
        "" + ("0x%016x" % (addr - addr % 64) if addr >= 64 else "0" * 16)
    sum[name] += int(weight)
rows = {r["dcacheline"]: r["overhead"] for r in json.load(open("ours.json"))["events"][0]["rows"]}
total = float(builtins.sum(sum.values()))
assert set(rows) == set(sum), (sorted(rows), sorted(sum))
assert all(abs(rows[k] - 100 * sum[k] / total) < 0.01 for k in rows), (rows, sum)
EOS
ok $? "lines of the cache" || diag "$(head -c 600 ours.json)"
# perf counts a row's first branch again for each of its branches: the truth is in the samples here, too.
"$SONDE" report --stdio -i branch.data 2>/dev/null | sed -n '/^# Branch Statistics:/,$p' | grep : | grep -v '#' >ours
"$SONDE" script -i branch.data -F brstack | grep -o '0x[^ ]*' >branches
python3 - <<'EOS'
import collections
n, all = collections.Counter(), 0
for line in open("branches"):
    part = line.strip().split("/")
    src, dst, kind = int(part[0], 16), int(part[1], 16), part[6]
    if not kind or not src:
        continue
    all += 1
    n[kind] += 1
    if kind == "COND":
        n["COND_FWD" if dst > src else "COND_BWD"] += 1
    if src >> 21 != dst >> 21:
        n["CROSS_2M"] += 1
    elif src >> 12 != dst >> 12:
        n["CROSS_4K"] += 1
wanted = {k: "%.1f%%" % (100 * v / all) for k, v in n.items()}
ours = dict(l.replace(":", "").split() for l in open("ours"))
assert all > 500 and ours == wanted, (ours, wanted)
EOS
ok $? "kinds of branches, below the table"
for key in ipc_lbr ipc_null; do
	exits 129 "--sort $key" "$SONDE" report -i branch.data --sort $key --stdio
	like "$err" "'$key' is not available: " "is refused, and why"
done
head_of() { grep -a '^# ' | grep -av 'To display\|Tip'; }
is "$("$SONDE" report --stdio -i branch.data 2>/dev/null | head_of)" "$(command perf report --stdio -i branch.data 2>/dev/null | head_of)" "the head of a report of branches"
# perf's column of levels is 24 wide, whatever stands in it.
is "$("$SONDE" report --stdio -i real.data --mem-mode --sort snoop,tlb 2>/dev/null | head_of)" \
	"$(command perf report --stdio -i real.data --mem-mode --sort snoop,tlb 2>/dev/null | head_of)" "the head of one of accesses"
like "$("$SONDE" report --stdio -i branch.data --sort symbol_from,symbol_to 2>&1)" '82.42% +\[\.\] first +\[\.\] first' "from function to function"
for workers in 1 2 5; do "$SONDE" report --stdio -i branch.data --workers $workers >ours.$workers 2>&1; done
cmp ours.1 ours.2 && cmp ours.1 ours.5
ok $? "the same, however many work"
exits 129 "keys of branches without branches" "$SONDE" report -i mem.data --sort symbol_from --stdio
like "$err" "'symbol_from' needs branch stacks, and the recording has none" "are refused"
"$SONDE" report -i branch.data --json >ours.json 2>/dev/null
python3 -c 'import json; assert "symbol_from" in open("ours.json").read(); json.load(open("ours.json"))'
ok $? "--json"

# ---- report --total-cycles. perf 6.1 is killed by SIGSEGV over any recording in which a branch has a function: the truth is in the samples.
for form in "" swap; do
	"$gen" walk "$PWD/prog" "$at" walk$form.data $form
	"$SONDE" report --total-cycles -i walk$form.data --json >blocks.json 2>/dev/null
	"$SONDE" script -i walk$form.data -F brstack 2>/dev/null >stacks
	nm -S prog | awk '$3 ~ /[Tt]/ && NF == 4 { print $1, $2, $4 }' >functions
	python3 - <<'EOS'
import collections, json
funcs = [(int(a, 16), int(s, 16), n) for a, s, n in (l.split() for l in open("functions"))]
def place(addr):
    for start, size, name in funcs:
        if start <= addr - 0x400000 < start + size:
            return name, addr - 0x400000
    return None, addr
cycles, count, first, total, branches = collections.Counter(), collections.Counter(), {}, 0, 0
for line in open("stacks"):
    stack = [w.split("/") for w in line.split()]
    stack = [(int(p[0], 16), int(p[1], 16), int(p[5])) for p in stack]
    branches += len(stack)
    if not stack or not stack[0][2]:
        continue
    led_to = None
    for src, dst, took in reversed(stack):
        total += took
        name, at = place(src)
        if took and name:
            cycles[at] += took
            count[at] += 1
            if led_to is not None and place(led_to)[0] == name and place(led_to)[1] <= at:
                first[at] = min(first.get(at, at), place(led_to)[1])
        led_to = dst
event = json.load(open("blocks.json"))["events"][0]
assert event["sampled_cycles"] == total and event["branches"] == branches, event
rows, average = event["rows"], {a: cycles[a] // count[a] for a in cycles}
assert len(rows) == len(cycles) > 8
assert [r["sampled_cycles"] for r in rows] == sorted(cycles.values(), reverse=True)
for r in rows:
    fits = [a for a in cycles if cycles[a] == r["sampled_cycles"] and average[a] == r["avg_cycles"]]
    assert fits, r
    assert abs(r["sampled_cycles_percent"] - 100 * r["sampled_cycles"] / total) < 0.01, r
    assert abs(r["avg_cycles_percent"] - 100 * r["avg_cycles"] / sum(average.values())) < 0.01, r
    line = {"first": 2, "second": 3, "main": 4}
    assert any(r["block_range"] == "[%s -> prog.c:%d]" % ("prog.c:%d" % line[place(a + 0x400000)[0]] if a in first else "unknown",
        line[place(a + 0x400000)[0]]) for a in fits), r
EOS
	ok $? "report --total-cycles: blocks as the samples have them $form" || diag "$(head -c 600 blocks.json)"
done
out=$("$SONDE" report --stdio --total-cycles -i walk.data 2>/dev/null)
like "$out" '^# Sampled Cycles%  Sampled Cycles  Avg Cycles%  Avg Cycles +\[Program Block Range\] +Shared Object' "perf's columns"
like "$out" '^ +[0-9.]+%  +[0-9.]+K +[0-9.]+%  +[0-9]+  +\[prog\.c:[234] -> prog\.c:[234]\]  +prog *$' "and rows"
for workers in 1 2 5; do "$SONDE" report --stdio --total-cycles -i walk.data --workers $workers >ours.$workers 2>&1; done
cmp ours.1 ours.2 && cmp ours.1 ours.5
ok $? "the same, however many work"
exits 0 "a filter that fits nobody" "$SONDE" report --stdio --total-cycles -i walk.data --comms nobody
unlike "$out" % "holds"
like "$err" "nobody" "and is named"
exits 0 "--total-cycles without branches" "$SONDE" report --stdio --total-cycles -i mem.data
like "$err" "no branch stacks" "says so, and shows the usual rows"

# ---- report --branch-history: the paths that led to samples. perf adds what is known of their branches to places, in parentheses, and by itself
# begins with the oldest branch but shows where it led before where it came from: newest first, the paths are the same.
plain() { grep -v '^#' | sed 's/ ([A-Za-z][^();]*)\?//g; s/ *-  *- *$//; s/ *$//' | grep .; }
for form in "" swap; do
	command perf report --stdio --branch-history -g folded,0,callee,count -i walk$form.data 2>/dev/null | plain | sort >theirs
	"$SONDE" report --stdio --branch-history -g folded,0,callee,count -i walk$form.data 2>ours.err | plain | sort >ours
	cmp -s ours theirs && [ "$(grep -c ';' ours)" -gt 200 ]
	ok $? "report --branch-history: paths $form" || diag "$(diff theirs ours | head -6)" "$(cat ours.err)"
	command perf report --stdio --branch-history -g callee,2 -i walk$form.data 2>/dev/null | plain >theirs
	"$SONDE" report --stdio --branch-history -g callee,2 -i walk$form.data 2>/dev/null | plain >ours
	is "$(sort ours)" "$(sort theirs)" "the tree $form"
done
is "$("$SONDE" report --stdio --branch-history -i walk.data 2>/dev/null | grep -c '^ .*prog.c:2 *\[\.\] first *prog *$')" 1 "rows by line, function and object"
for workers in 1 2 5; do "$SONDE" report --stdio --branch-history -i walk.data --workers $workers >ours.$workers 2>&1; done
cmp ours.1 ours.2 && cmp ours.1 ours.5
ok $? "the same, however many work"
exits 0 "--branch-history without branches" "$SONDE" report --stdio --branch-history -i mem.data
like "$err" "no branch stacks" "says so, and shows the usual rows"
done_testing
