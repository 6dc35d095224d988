#!/usr/bin/env bash
# where: host 6.1
# needs: root
# The timeline of a convoy: threads that wait for one lock, as long as they say themselves.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events python3
cd "$SONDE_TMP" || exit 1

"$SONDE" timeline --json --no-samples -- "$SONDE" workload convoy 50 >data.json 2>messages
ok $? "a command's timeline" || diag "$(cat messages)"
is "$(python3 - <<'END'
import json, re
# With --json, what the command prints goes to standard error.
waited = {int(tid): int(ns) for tid, ns in re.findall(r"^(\d+) (\d+)$", open("messages").read(), re.M)}
data = json.load(open("data.json"))
tracks = {t["tid"]: t for t in data["tracks"]}
print(len(waited) >= 2, data["lost"])
for tid, ns in waited.items():
    # The longest wait is the one for the lock, at least as long as it is held. What the thread measured may also have its ways there and
    # back in it: as long as it ran, or waited for a CPU.
    slices = tracks[tid]["slices"]
    at = max((i for i, s in enumerate(slices) if s["state"] == "blocked"), key=lambda i: slices[i]["to_ns"] - slices[i]["from_ns"])
    blocked = slices[at]["to_ns"] - slices[at]["from_ns"]
    ways = tracks[tid]["ready_ns"] + tracks[tid]["running_ns"]
    if not (0.98 * 50e6 <= blocked <= ns and blocked + ways >= 0.98 * ns) or slices[at].get("woken_by", {}).get("tid") not in tracks:
        print(tid, ns, slices)
END
)" "True 0" "waits are as long as the threads say, and woken by a thread"
ls "${TMPDIR:-/tmp}" | grep -q '^sonde-timeline\.' && left=yes || left=no
is "$left" no "no recording is left behind"

exits 0 "a page of a command" "$SONDE" timeline -o page.html -- "$SONDE" workload convoy 5
like "$err" 'page\.html: [0-9]+ threads? on [0-9]+ CPUs? in ' "says what it is"
exits 3 "the command's status" "$SONDE" timeline -o page.html -- sh -c 'echo $$ >pid; exit 3'
python3 - <<'END'
import base64, re
data = base64.b64decode(re.search(r'id="data"[^>]*>([^<]*)<', open("page.html").read()).group(1))
pid = open("pid").read().strip().encode()
assert b"\x06family" + bytes([len(pid)]) + pid in data, pid
END
ok $? "the page knows which process the command is"

# The same run, recorded in both formats at once, would have different clocks: one after the other.
exits 0 "ftrace record" "$SONDE" ftrace record -q -e sched -o trace.dat -- "$SONDE" workload convoy 5
exits 0 "of a trace.dat" "$SONDE" timeline -o trace.html trace.dat
done_testing
