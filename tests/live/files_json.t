#!/usr/bin/env bash
# `sonde data convert --to-json` writes the same bytes as perf 6.1's.
# where: host
# needs: root
# timeout: 300
. "${SONDE_SRC:-.}/tests/lib.sh"

need perf perf_events
cd "$SONDE_TMP" || exit 1
export PERF_BUILDID_DIR=$SONDE_TMP/debug
ln -s "$SONDE" perf

make() { # NAME RECORDER OPTION...
	local name=$1 recorder=$2
	shift 2
	for _ in 1 2 3 4 5 6; do
		"$recorder" record -q -o "$name.data" "$@" >/dev/null 2>&1
		command perf script -i "$name.data" >/dev/null 2>&1 && return
	done
}
make flat "$(command -v perf)" -F 999 -e cpu-clock -- "$SONDE" workload leaf 0.2
make chains "$(command -v perf)" -F 999 -g -e cpu-clock,page-faults -- "$SONDE" workload leaf 0.2
make ours "$SONDE" -F 999 -g -k mono -e cpu-clock -- sh -c "ls -lR /usr/share/doc | head -300; '$SONDE' workload leaf 0.1"
make packed "$SONDE" -z -F 999 -g -e cpu-clock -- "$SONDE" workload leaf 0.2
lacks tracefs >/dev/null || make points "$(command -v perf)" -g -e sched:sched_switch -- sh -c 'sleep 0.02; ls; sleep 0.02'
# Stubs: perf 6.1 calls those of libc "@plt" and the head of the table by the symbol before it (see report_compare.py).
stubs() { sed -E 's/"symbol": "(_init|[^"]*@plt|\.plt[.a-z]*)"/"symbol": STUB/'; }
for name in flat chains ours packed points; do
	[ -e $name.data ] || { skip "no tracefs" "$name"; continue; }
	command perf data convert --to-json theirs.$name -i $name.data 2>/dev/null
	"$SONDE" data convert --to-json mine.$name -i $name.data 2>mine.err
	grep -q timestamp mine.$name && cmp -s <(stubs <theirs.$name) <(stubs <mine.$name)
	ok $? "$name: the same bytes ($(wc -c <mine.$name))" || diag "$(diff theirs.$name mine.$name | head -5)"
	like "$(cat mine.err)" "^\[ sonde data convert: Converted and wrote [0-9.]+ MB \([0-9]+ samples\) \]$" "says how much"
done
is "$("$SONDE" data convert --to-json - -i ours.data 2>/dev/null)" "$(cat mine.ours)" "into standard output"
is "$(cat ours.data | "$SONDE" data convert -i - --to-json - 2>/dev/null | grep -c timestamp)" "$(grep -c timestamp theirs.ours)" "from standard input"
exits 1 "a file that is there" "$SONDE" data convert --to-json mine.flat -i flat.data
like "$err" 'Use --force to overwrite' "is said"
exits 0 "--force" "$SONDE" data convert --force --to-json mine.flat -i flat.data
exits 255 "as perf: its status" ./perf data convert --to-json mine.flat -i flat.data
exits 129 "into what?" "$SONDE" data convert -i flat.data
exits 1 "no recording" "$SONDE" data convert --to-json x.json -i /etc/passwd
exits 1 "no such folder" "$SONDE" data convert --to-json /nowhere/x.json -i flat.data
[ -z "$(find . -name 'x.json*')" ]
ok $? "nothing is left behind"
done_testing
