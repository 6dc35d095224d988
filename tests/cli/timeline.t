#!/usr/bin/env bash
# `sonde timeline`: of a known trace, and of what it cannot read.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde python3
cd "$SONDE_TMP" || exit 1
data=$SONDE_SRC/tests/data/trace

exits 0 "a page" "$SONDE" timeline "$data/6.1-events_v6.dat"
like "$err" 'timeline\.html: [0-9]+ threads on [0-9]+ CPUs in 0\.087 s, [0-9]+ switches, [0-9]+ samples, 0 lost' "says what it is"
is "$(head -c 15 timeline.html)" "<!DOCTYPE html>" "timeline.html"
exits 0 "to standard output" "$SONDE" timeline -i "$data/6.1-events_v6.dat" --title '<b>&' -o -
like "$out" '<title>&lt;b&gt;&amp;</title>' "a title is text"
unlike "$out" 'https?://[^w]' "nothing is fetched"

# The same as `sched why` says of the trace, thread by thread.
"$SONDE" timeline --json "$data/6.1-events_v6.dat" >timeline.json 2>/dev/null
"$SONDE" sched why --json -i "$data/6.1-events_v6.dat" >why.json 2>/dev/null
is "$(python3 - <<'END'
import json
why = {t["tid"]: t for t in json.load(open("why.json"))}
tracks = {t["tid"]: t for t in json.load(open("timeline.json"))["tracks"]}
keys = "running_ns", "ready_ns", "blocked_ns", "unknown_ns"
print(len(why) > 5, sum([t[k] for k in keys] != [tracks[tid][k] for k in keys] for tid, t in why.items()))
for t in tracks.values():
    sums = dict.fromkeys(keys, 0)
    end = 0
    for s in t["slices"]:
        sums[s["state"] + "_ns"] += s["to_ns"] - s["from_ns"]
        if s["from_ns"] < end:
            print("overlap", t["tid"], s)
        end = s["to_ns"]
    if any(sums[k] != t[k] for k in keys):
        print("sums", t["tid"])
END
)" "True 0" "slices add up to what 'sched why' says"

exits 1 "no scheduler in it" "$SONDE" timeline "$data/6.1-systems.dat"
like "$err" 'has no sched:sched_switch events' "says so"
like "$err" 'hint: .*sched record' "and how to get them"
exits 1 "no file" "$SONDE" timeline -i nowhere
exits 129 "two files" "$SONDE" timeline -i nowhere "$data/6.1-lost.dat"
exits 129 "two recordings" "$SONDE" timeline "$data/6.1-lost.dat" "$data/6.1-lost.dat"
exits 129 "-p of no process" "$SONDE" timeline -p x "$data/6.1-lost.dat"
exits 1 "a folder that is not there" "$SONDE" timeline -o none/page.html "$data/6.1-lost.dat"
done_testing
