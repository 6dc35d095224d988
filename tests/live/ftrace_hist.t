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
exits 0 "time from waking to running" f hist --latency sched:sched_waking,sched:sched_switch --by pid=next_pid sleep 0.5
like "$out" '^usecs: p50 [0-9]+-[0-9]+ us, p90 [0-9]+-[0-9]+ us, p99 [0-9]+-[0-9]+ us, max [0-9]+-[0-9]+ us$' "with percentiles, as far as the kernel's buckets tell"
powers=$(sed -n 's/.*~ 2^\([0-9]*\).*/\1/p' <<<"$out")
is "$powers" "$(sort -n <<<"$powers")" "buckets are sorted by value"
is "$(cat $tracefs/synthetic_events)" "" "the synthetic event is gone"
done_testing
