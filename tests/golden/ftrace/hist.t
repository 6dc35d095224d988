#!/usr/bin/env bash
# `ftrace hist` of a file against trace-cmd 3.1.6: hist.md5 has what `trace-cmd hist -i FILE` and `trace-cmd hist -P -i FILE` printed.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde python3
list=$SONDE_SRC/tests/golden/ftrace/hist.md5
cd "$SONDE_SRC/tests/data/trace" || exit 1
while read -r sum how f; do
	is "$("$SONDE" ftrace hist ${how#each} -i "$f" | md5sum)" "$sum  -" "$f $how"
done <"$list"
# trace-cmd finds any of several names of a task, we the one that the file has; the rest is the same.
is "$("$SONDE" ftrace hist 6.1-events_v7_none.dat | sed 's/(153) sh/(153) trace-cmd/' | md5sum)" "73c92ba7f5e997519a37ea75829d36e0  -" "a task with two names"
# Of a file with instances trace-cmd leaves the top-level buffer out: ours has both.
exits 0 "two buffers" "$SONDE" ftrace hist 6.1-instance_and_top.dat
is "$(head -1 <<<"$out")" "top-level buffer:" "the top-level buffer first"
is "$(sed '1,/^foo:$/d' <<<"$out" | md5sum)" "0fb395d0381939cfe5ba8581cefb3f97  -" "the instance as trace-cmd has it"
exits 0 "--json" "$SONDE" ftrace hist --json 6.12-stacks.dat
python3 -c '
import json, sys
d = json.loads(sys.argv[1])
assert d["total"] >= sum(r["count"] for r in d["rows"]) > 100, d["total"]
for r in d["rows"]:
    path = [r["count"]]
    for c in r["callers"]:
        del path[c["depth"]:]
        assert c["count"] <= path[-1], (r, c)
        path.append(c["count"])
assert any(c["depth"] > 5 for r in d["rows"] for c in r["callers"])' "$out"
ok $? "callers are never more than what they call"
exits 1 "no file" "$SONDE" ftrace hist none.dat
like "$err" "none.dat" "is named"
exits 1 "a word that looks like an event" "$SONDE" ftrace hist sched:sched_switch
like "$err" "give a field with -k KEY" "is one"
exits 1 "a latency tracer's file" "$SONDE" ftrace hist rt-wakeup.dat
like "$err" "holds the text of a latency tracer" "has no chains"
exits 129 "two files" "$SONDE" ftrace hist 6.1-graph.dat 6.1-lost.dat
ln -s "$SONDE" "$SONDE_TMP/trace-cmd"
is "$(cd "$SONDE_TMP" && cp "$OLDPWD/6.1-kprobes.dat" trace.dat && ./trace-cmd hist | md5sum)" "$("$SONDE" ftrace hist 6.1-kprobes.dat | md5sum)" "called as trace-cmd: trace.dat"
done_testing
