#!/usr/bin/env bash
# where: host
# needs: root
# timeout: 300
# Rows of the acceptance matrix: the verbs around recordings, called as perf, beside perf 6.1.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events perf
cd "$SONDE_TMP" || exit 1
mkdir as && ln -s "$SONDE" as/perf # it is perf by that name
ours=$PWD/as/perf
theirs() { command perf --buildid-dir "$SONDE_TMP/debug" "$@"; }
export PERF_BUILDID_DIR=$SONDE_TMP/debug

# perf 6.1 aborts now and then while another recorder is at work: until there is one it reads.
for _ in 1 2 3 4 5 6; do
	theirs record -q -F 999 -g -e cpu-clock,page-faults -o perf.data -- "$SONDE" workload leaf 0.3 2>/dev/null
	theirs buildid-list -H >/dev/null 2>&1 && break
done
for _ in 1 2 3 4 5 6; do
	theirs record -q -F 999 -g -e cpu-clock,page-faults -o old.data -- "$SONDE" workload leaf 0.2 2>/dev/null
	theirs report --stdio -i old.data >/dev/null 2>&1 && break
done

# ---- evlist, buildid-list, diff: the same text
for words in evlist "evlist -v" "evlist -F" "evlist -g"; do
	# shellcheck disable=SC2086
	is "$("$ours" $words 2>&1)" "$(theirs $words 2>/dev/null)" "S4-283: perf $words"
done
is "$("$ours" buildid-list 2>&1)" "$(theirs buildid-list 2>/dev/null)" "S4-281: perf buildid-list"
is "$("$ours" buildid-list -i "$SONDE" 2>&1)" "$(theirs buildid-list -i "$SONDE" 2>/dev/null)" "S4-281: of a binary"
# perf leaves rows of no difference in the order of its tables.
rows() { grep -v '^#\|^$' | sed 's/ *$//' | sort; }
for compute in delta delta-abs ratio wdiff:1,2; do
	is "$("$ours" diff -c $compute old.data perf.data 2>/dev/null | rows)" "$(theirs diff -c $compute old.data perf.data 2>/dev/null | rows)" "S4-282: perf diff -c $compute"
done
[ "$("$ours" diff old.data perf.data 2>/dev/null | grep -c workload_leaf)" -ge 1 ]
ok $? "S4-282: and they are about something"

# ---- buildid-cache, archive
exits 0 "S4-280: perf buildid-cache -a" "$ours" buildid-cache -a "$(command -v ls)"
like "$(theirs buildid-cache -l 2>/dev/null)" '^[0-9a-f]{40} /usr/bin/ls$' "S4-280: perf finds it"
# perf keeps the vdso, and does not list it.
is "$("$ours" buildid-cache -l | grep -v '\[vdso\]$')" "$(theirs buildid-cache -l 2>/dev/null)" "S4-280: -l as perf says it"
exits 0 "S4-280: perf buildid-cache -r" "$ours" buildid-cache -r "$(command -v ls)"
unlike "$(theirs buildid-cache -l 2>/dev/null)" '/usr/bin/ls$' "S4-280: gone for perf too"
if command -v bzip2 >/dev/null; then
	exits 0 "S4-278: perf archive" "$ours" archive
	like "$out" 'tar xvf perf.data.tar.bz2 -C ~/.debug' "S4-278: says what to do with it"
else
	exits 0 "S4-278: perf archive" "$ours" archive -o perf.data.tar.gz
fi
mkdir there && tar xf perf.data.tar.* -C there
id=$("$ours" buildid-list -i "$SONDE")
cmp -s "there/.build-id/${id:0:2}/${id:2}/elf" "$SONDE"
ok $? "S4-278: the program is there by its build id"

# ---- inject
exits 0 "S4-284: perf inject -b" "$ours" inject -b -i perf.data -o more.data
is "$(theirs script -i more.data 2>/dev/null)" "$(theirs script -i perf.data 2>/dev/null)" "S4-284: the same samples"
like "$(theirs buildid-list -i more.data 2>/dev/null)" "^$id $(realpath "$SONDE")$" "S4-284: with build ids"

# ---- what a newer perf may write
python3 - <<-'PY'
	import struct
	d = open('perf.data', 'rb').read()
	h = list(struct.unpack('<13Q', d[:104]))
	at, size, features = h[5], h[6], h[9:13]
	odd = struct.pack('<IHHQ', 120, 0, 16, 7) + struct.pack('<IHHQ', 40, 0, 16, 7) + struct.pack('<IHH', 0x1234567, 0, 8)
	nr = sum(bin(f).count('1') for f in features)
	table = d[at + size:at + size + 16 * nr]
	moved = b''.join(struct.pack('<QQ', o + len(odd) if o >= at else o, s) for o, s in struct.iter_unpack('<QQ', table))
	h[6] = size + len(odd)
	open('newer.data', 'wb').write(struct.pack('<13Q', *h) + d[104:at] + odd + d[at:at + size] + moved + d[at + size + 16 * nr:])
PY
exits 0 "S4-107: records of unknown types" "$SONDE" script -i newer.data
is "$out" "$("$SONDE" script -i perf.data 2>/dev/null)" "S4-107: are skipped by their size"

# ---- attaching, and what is lost
"$SONDE" workload noploop 300 & busy=$!
"$SONDE" workload noploop 300 & other=$!
exits 0 "S0-021: record -p PID -- sleep 1" "$SONDE" record -F 499 -e cpu-clock -o p.data -p $busy -- bash -c "sleep 1; burn 50 $busy"
is "$(command perf script -i p.data -F pid 2>/dev/null | sort -u | tr -d ' ')" $busy "S0-021: only that process"
exits 0 "S0-021: -p A,B" "$SONDE" record -F 499 -e cpu-clock -o p2.data -p $busy,$other -- bash -c "sleep 1; burn 50 $busy $other"
is "$(command perf script -i p2.data -F pid 2>/dev/null | sort -u | wc -l)" 2 "S0-021: both"
kill $busy $other
# The reader stands still during the flood: how fast it is on this machine decides nothing.
exits 0 "S0-031: rings that are too small" "$SONDE" record -m 1 -e page-faults -c 1 -g -o lost.data -- \
	sh -c 'kill -STOP $PPID; "$0" workload faults 200000; kill -CONT $PPID' "$SONDE"
lost=$(sed -n 's/.*, \([0-9]*\) lost.*/\1/p' <<<"$err")
[ "$lost" -gt 0 ]
ok $? "S0-031: what was lost is said ($lost)"
said=$("$SONDE" report --stdio -i lost.data 2>/dev/null | sed -n 's/^# Total Lost Samples: //p')
is "$said" "$lost" "S0-031: and counted once in the report"
[ "$(("$lost" + $(command perf script -i lost.data -F event 2>/dev/null | grep -c faults)))" -ge 200000 ]
ok $? "S0-031: samples and losses make all 200000"
done_testing
