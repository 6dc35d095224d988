#!/usr/bin/env bash
# where: 6.1 6.12
# needs: root tracefs
# timeout: 300
# smp: 1
# Histograms, and times between events, that the kernel makes.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root tracefs guest
cd "$SONDE_TMP" || exit 1
f() { timeout 60 "$SONDE" ftrace "$@"; }
exits 0 "a histogram" f hist -k common_pid.execname -s hitcount.descending sched:sched_switch sleep 0.5
like "$out" '^# trigger info: hist:keys=common_pid.execname:vals=hitcount:sort=hitcount.descending' "as the kernel prints it"
like "$out" 'Hits: [1-9]' "and something was counted"
exits 0 "as JSON" f --json hist -k common_pid.execname,prev_prio,stacktrace -w prev_pid sched:sched_switch sleep 0.5
is "$(python3 -c '
import json, sys
v = json.load(sys.stdin)
k = v["rows"][0]["key"]
k["stacktrace"] = k.get("stacktrace", k.get("common_stacktrace")) # 6.3 renamed it
print(type(k["common_pid"]["id"]).__name__, type(k["prev_prio"]).__name__, type(k["stacktrace"]).__name__, len(k["stacktrace"]) > 1, v["totals"]["entries"] == len(v["rows"]), type(v["rows"][0]["values"]["prev_pid"]).__name__)' <<<"$out")" \
	"int int list True True int" "keys are typed"
exits 0 "time from waking to running" f hist --latency sched:sched_waking,sched:sched_switch --by pid=next_pid sleep 0.5
like "$out" '^usecs: p50 [0-9]+-[0-9]+ us, p90 [0-9]+-[0-9]+ us, p99 [0-9]+-[0-9]+ us, max [0-9]+-[0-9]+ us$' "with percentiles, as far as the kernel's buckets tell"
powers=$(sed -n 's/.*~ 2^\([0-9]*\).*/\1/p' <<<"$out")
is "$powers" "$(sort -n <<<"$powers")" "buckets are sorted by value"
is "$(cat $tracefs/synthetic_events)" "" "the synthetic event is gone"
done_testing
