#!/usr/bin/env bash
# `ftrace profile --functions` of a recording: the kernel's table, from calls of the function graph tracer.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde python3
data=$SONDE_SRC/tests/data/trace
for name in 6.1-graph 6.12-graph_depth3 arm64-graph_depth3; do
	"$SONDE" ftrace profile --functions --input "$data/$name.dat" >"$SONDE_TMP/table"
	ok $? "$name: printed"
	like "$(head -1 "$SONDE_TMP/table")" '^  Function +Hit +Time +Avg +s\^2$' "$name: with the kernel's head"
	"$SONDE" ftrace report --json "$data/$name.dat" >"$SONDE_TMP/json"
	"$SONDE" ftrace profile --functions --json --input "$data/$name.dat" >"$SONDE_TMP/rows"
	python3 - "$SONDE_TMP/json" "$SONDE_TMP/rows" <<'END' >"$SONDE_TMP/said" 2>&1
import json, statistics, sys
calls = {}
for line in open(sys.argv[1]):
    e = json.loads(line)
    if e["event"] == "funcgraph_exit":
        f = e["fields"]
        calls.setdefault(f["func"], []).append((f["rettime"] - f["calltime"]) / 1000)
want = sorted((len(v), round(sum(v), 3), round(statistics.variance(v) if len(v) > 1 else 0, 2)) for v in calls.values())
got = sorted((r["hits"], round(r["time_us"], 3), round(r["variance_us2"], 2)) for r in json.load(open(sys.argv[2])))
# Functions of one name are one row there.
if len(got) == len(want):
    for g, w in zip(got, want):
        assert g[0] == w[0] and abs(g[1] - w[1]) < 0.01 and abs(g[2] - w[2]) <= 0.01 * max(1, w[2]), (g, w)
assert sum(g[0] for g in got) == sum(w[0] for w in want), (sum(g[0] for g in got), sum(w[0] for w in want))
END
	is "$(cat "$SONDE_TMP/said")" "" "$name: hits, time and variance are those of the calls"
done
done_testing
