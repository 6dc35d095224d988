#!/usr/bin/env bash
# Cache lines that CPUs take from each other, which this machine cannot sample: made by tests/gen/perf_c2c in both byte orders, and shown as
# perf 6.1 shows them.
# where: host
# needs:
# timeout: 300
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde perf
gen=$(dirname "$SONDE")/tests/perf_c2c
if [ ! -x "$gen" ]; then
	echo "1..0 # SKIP tests/perf_c2c is not built"
	exit 0
fi
cd "$SONDE_TMP" || exit 1
export HOME=$SONDE_TMP PERF_BUILDID_DIR=$SONDE_TMP/debug

cat >share.c <<'EOS'
__attribute__((aligned(64))) volatile long lines[32] = { 1 };
__attribute__((aligned(16))) void writer(long n) { lines[n] = n; }
__attribute__((aligned(16))) long reader(long n) { return lines[n]; }
__attribute__((aligned(16))) long a_function_with_a_name_longer_than_a_column(long n) { return lines[n]++; }
int main(int n, char **v) { writer(n); return reader(n) + a_function_with_a_name_longer_than_a_column(n); }
EOS
gcc -g -O1 -o share share.c || { ok 1 "a program is built"; done_testing; exit; }
code=$(nm share | awk '$3 == "writer" { print $1 }')
object=$(nm share | awk '$3 == "lines" { print $1 }')
read -r section place < <(readelf -SW share | sed 's/^ *\[ *[0-9]*\]//' | awk '$1 == ".data" { print $3, $4 }')
data=$(printf %x $((0x$object - 0x$section + 0x$place)))
for form in "" swap; do
	for kind in plain peer wild chains; do
		"$gen" "$PWD/share" "$code" "$data" "$kind$form.data" "$kind" $form
		ok $? "a recording: $kind $form"
	done
done

# perf divides by zero where there is no miss.
plain() { sed 's/ *-\?nan%/       0.0%/; s/ *$//' | grep -v '^  *|\|^  *---[a-z]'; }
same() {
	local file=$1
	shift
	command perf c2c report --stdio -i "$file" "$@" 2>/dev/null | plain >theirs
	"$SONDE" c2c report --stdio -i "$file" "$@" 2>ours.err | plain >ours
	cmp ours theirs >/dev/null 2>&1 && [ "$(wc -l <ours)" -gt 50 ]
	ok $? "c2c report -i $file $*" || { diag "$(diff theirs ours | head -6)"; diag "$(cat ours.err)"; }
}
for file in plain.data plainswap.data peer.data wild.data wildswap.data; do
	same $file
	for display in tot lcl rmt peer; do
		same $file -d $display
	done
done
for file in plain.data peer.data; do
	for keys in pid tid iaddr dso pid,iaddr tid,dso pid,tid,dso,iaddr iaddr,pid; do
		same $file -c $keys
	done
	same $file -N
	same $file -NN
	same $file -NNN -d rmt
	same $file -N -d peer
	same $file --full-symbols
	same $file --no-source
	same $file --show-all
	same $file --show-all -d peer -c pid
done
is "$("$SONDE" c2c report --stats -i plain.data)" "$(command perf c2c report --stats -i plain.data 2>/dev/null)" "--stats: counts only"
is "$("$SONDE" c2c report --stdio -i plainswap.data)" "$("$SONDE" c2c report --stdio -i plain.data)" "the same in the other byte order"

# ---- call chains: branches that weigh equally come in any order
graphs() { sed -n '/Pareto/,$p' | sed 's/ *$//' | grep '^  *|\|^  *-[0-9-]\|^  *[a-z_]*$' | tr -d '|' | sed 's/^ *//' | grep . | sort; }
for how in "" "-g graph,0.5,caller" "--call-graph graph,0,callee" "-g fractal,0.5,callee"; do
	for form in "" swap; do
		# shellcheck disable=SC2086
		command perf c2c report --stdio -i chains$form.data $how 2>/dev/null | graphs >theirs
		# shellcheck disable=SC2086
		"$SONDE" c2c report --stdio -i chains$form.data $how 2>ours.err | graphs >ours
		cmp ours theirs >/dev/null 2>&1 && [ "$(wc -l <ours)" -gt 100 ]
		ok $? "call graphs $how $form" || { diag "$(diff theirs ours | head -6)"; diag "$(cat ours.err)"; }
	done
done
unlike "$("$SONDE" c2c report --stdio -i chains.data -g none 2>/dev/null)" '^ +\|' "-g none: no call graphs"

# ---- JSON says what the table says
"$SONDE" c2c report -i plain.data -c pid,iaddr --json >ours.json 2>/dev/null
"$SONDE" script -i plain.data -F pid,addr,data_src >samples 2>/dev/null
python3 - <<'EOS'
import json
r = json.load(open("ours.json"))
assert r["all"]["records"] == 1200 and len(r["lines"]) >= 4, r["all"]
for line in r["lines"]:
    c = line["counts"]
    for what in ("records", "local_hitm", "remote_hitm", "loads", "stores"):
        parts = sum(p["counts"][what] for p in line["places"])
        assert parts <= c[what] and (what not in ("local_hitm", "remote_hitm", "stores") or parts == c[what]), (what, line)
    assert abs(line["percent"] - 100 * (c["local_hitm"] + c["remote_hitm"]) / (r["all"]["local_hitm"] + r["all"]["remote_hitm"])) < 1e-6
    assert all(p["offset"] < 64 and p["pid"] in (4242, 4252) for p in line["places"])
assert [l["percent"] for l in r["lines"]] == sorted((l["percent"] for l in r["lines"]), reverse=True)
assert sum(l.startswith(" ") or True for l in open("samples")) == 1200
worst = r["lines"][0]["places"][0]
assert worst["dso"] == "share" and worst["source"].startswith("share.c:") and "remote_hitm_cycles" in str(r["lines"][0])
EOS
ok $? "--json" || diag "$(head -c 400 ours.json)"

# ---- what cannot be
exits 129 "-c of another word" "$SONDE" c2c report -c where -i plain.data
like "$err" "-c: expected pid, tid, iaddr or dso, not 'where'" "is named"
exits 129 "-d of another word" "$SONDE" c2c report -d far -i plain.data
exits 129 "-g of another word" "$SONDE" c2c report -g nothing -i plain.data
exits 1 "no recording" "$SONDE" c2c report -i nowhere.data
perf_hw=$(dirname "$SONDE")/tests/perf_hw
if [ -x "$perf_hw" ]; then
	"$perf_hw" branch "$PWD/share" "$code" branch.data
	exits 1 "a recording of something else" "$SONDE" c2c report -i branch.data
	like "$err" "branch\.data: no samples of loads and stores" "is told"
	like "$err" "hint: record them with .*c2c record" "with what to do"
else
	skip "tests/perf_hw is not built" "a recording of something else"
fi
exits 0 "a CPU that tells of peers only" "$SONDE" c2c report -i peer.data
like "$err" "hint: .* -d peer" "is shown with -d peer"
for bytes in 200 1000 20000 90000; do
	head -c $bytes plain.data >cut.data
	"$SONDE" c2c report -i cut.data >cut.out 2>&1
	[ $? -lt 2 ]
	ok $? "cut after $bytes bytes"
done
if "$SONDE" c2c record -e list >/dev/null 2>&1; then
	skip "this machine samples memory accesses" "record without them"
else
	exits 1 "record where there is nothing to record with" "$SONDE" c2c record -- true
	like "$err" "cannot sample memory accesses" "is refused, and why"
fi
done_testing
