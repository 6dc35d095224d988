#!/usr/bin/env bash
# `export --to perfetto` of trace.dat: slices, arrows, counters, markers and gaps against sums over the events one by one.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde python3
cd "$SONDE_TMP" || exit 1
data=$SONDE_SRC/tests/data/trace
check() { python3 "$SONDE_SRC/tests/golden/ftrace/chrome.py" "$SONDE" "$1" "$2" 2>&1 | tail -1; }

# Markers in the words that programs use for slices and counters.
python3 - "$data/6.1-marker_v6.dat" >marked.dat <<'END'
import sys
words = [(b"marker line 1", b"B|77|working1"), (b"marker line 2", b"C|77|level|42"), (b"marker line 3", b"E|77|________")]
data = open(sys.argv[1], "rb").read()
for a, b in words:
    assert a in data and len(a) == len(b)
    data = data.replace(a, b)
sys.stdout.buffer.write(data)
END
for f in "$data"/*.dat marked.dat; do
	[ "${f##*/}" = rt-wakeup.dat ] && continue # text of a latency tracer
	"$SONDE" export --to perfetto -i "$f" -o trace.json 2>err
	ok $? "$(basename "$f"): written"
	said=$(check "$f" trace.json)
	like "$said" '^[0-9]+ instants, ' "$(basename "$f"): $said"
done
"$SONDE" export --to chrome -i marked.dat -o - | grep -o '"name":"working1","ph":"X","pid":[0-9]*' >got
is "$(cat got)" '"name":"working1","ph":"X","pid":1073741828' "B and E make a slice"
"$SONDE" export --to perfetto -i "$data/6.1-systems.dat" -o - 2>err | grep -o '"node":-*[0-9]*' | sort | uniq -c >got
is "$(awk '{ print $1, $2 }' got)" '210 "node":-1' "negative fields keep their sign"
# Planted faults must be seen.
"$SONDE" export --to perfetto -i "$data/6.1-graph.dat" -o trace.json 2>err
sed '0,/"dur":[0-9.]*/s//"dur":9999999.000/' trace.json >bad.json
unlike "$(check "$data/6.1-graph.dat" bad.json)" '^[0-9]+ instants, ' "another duration of one slice is noticed"
sed '0,/"ph":"i"/s//"ph":"I"/' trace.json >bad.json
"$SONDE" export --to perfetto -i "$data/6.1-date.dat" -o trace.json 2>err
sed '0,/"ph":"i"/s//"ph":"I"/' trace.json >bad.json
unlike "$(check "$data/6.1-date.dat" bad.json)" '^[0-9]+ instants, ' "and an instant less"
exits 1 "text of a latency tracer" "$SONDE" export --to perfetto -i "$data/rt-wakeup.dat" -o none.json
[ ! -e none.json ]
ok $? "is no trace"
done_testing
