#!/usr/bin/env bash
# `ftrace report --json`: one object a line, the same events as the text.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde python3

data=$SONDE_SRC/tests/data/trace
for name in 6.1-events_v6 6.1-instance_v6 6.12-stacks 6.1-marker arm64-syscalls; do
	[ -f "$data/$name.dat" ] || continue
	"$SONDE" ftrace report --json "$data/$name.dat" >"$SONDE_TMP/json"
	ok $? "$name: printed"
	"$SONDE" ftrace report -R "$data/$name.dat" | grep -cE '^.{0,30}-[0-9]+ +\[' >"$SONDE_TMP/lines"
	python3 - "$SONDE_TMP/json" "$(cat "$SONDE_TMP/lines")" <<'END' >"$SONDE_TMP/said" 2>&1
import json, sys
last, nr = 0, 0
for line in open(sys.argv[1]):
    e = json.loads(line)
    assert {"time_ns", "cpu", "pid", "comm", "system", "event", "fields"} <= set(e), e
    assert e["fields"]["common_pid"] == e["pid"], e
    assert e["time_ns"] >= last, e
    last, nr = e["time_ns"], nr + 1
assert nr == int(sys.argv[2]), (nr, sys.argv[2])
END
	is "$(cat "$SONDE_TMP/said")" "" "$name: every line is an object, in order, as many as the text has"
done
"$SONDE" ftrace report --json "$data/6.1-events_v6.dat" | grep -m1 '"event":"sched_switch"' >"$SONDE_TMP/one"
like "$(cat "$SONDE_TMP/one")" '"system":"sched","event":"sched_switch","fields":\{"common_type":[0-9]+,.*"prev_comm":"[^"]+","prev_pid":[0-9]+' \
	"fields are typed"
done_testing
