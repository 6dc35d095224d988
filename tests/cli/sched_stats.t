#!/usr/bin/env bash
# `sonde sched stats`: known texts of /proc/schedstat, what is not one, and a command in a made /proc.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde python3
cd "$SONDE_TMP" || exit 1
data=$SONDE_SRC/fuzz/corpus/schedstat

# The counters of CPU 0 are 1 to 9 times one, then times three; those of CPU 1 twice that.
exits 0 "report" "$SONDE" sched stats report "$data/v17"
like "$out" '^Time elapsed \(in jiffies\) {40}:         600$' "how long it was"
like "$out" '^CPU: <ALL CPUS SUMMARY>$' "means of all CPUs"
is "$(grep -c '^schedule() called  *: ' <<<"$out")" 3 "and each of them"
is "$(sed -n 's/^schedule() called  *: *//p' <<<"$out" | paste -sd' ')" "9 6 12" "the difference, times 1.5, 1 and 2"
like "$out" '^schedule\(\) left the processor idle {31}:          12  \(   133\.33% \)$' "with its share"
like "$out" '^CPU: 1 \| DOMAIN: MC \| DOMAIN_CPUS: 3$' "domains have names"
like "$out" '^load_balance\(\) found balanced on cpu busy {24}:         160  \$        3\.75 \$$' "how far apart, in jiffies"
like "$out" '^imbalance in load on cpu busy ' "fields of version 17"
like "$out" '^\*load_balance\(\) success count on cpu idle {24}:          40$' "derived: of 400 calls 360 moved nothing"
like "$out" '^\*avg task pulled per successful lb attempt \(cpu idle\) +:        3\.00$' "and how much each moved"
is "$(grep -o '<Category [a-z]*>' <<<"$out" | head -3 | paste -sd' ')" "<Category busy> <Category idle> <Category newidle>" "in the order of that version"
is "$(awk 'length > 160' <<<"$out")" "" "no line is out of shape"
exits 0 "version 15" "$SONDE" sched stats report -C 1 -i "$data/v15"
unlike "$out" 'SUMMARY|CPU: 0' "one CPU only"
like "$out" '^CPU: 1 \| DOMAIN: 0 \| DOMAIN_CPUS: 3$' "domains by number"
is "$(grep -o '<Category [a-z]*>' <<<"$out" | head -3 | paste -sd' ')" "<Category idle> <Category busy> <Category newidle>" "in another order"
like "$out" '^imbalance sum on cpu idle ' "with its own fields"
exits 0 "JSON" "$SONDE" sched stats report --json "$data/v16"
is "$(python3 -c '
import json, sys
r = json.load(sys.stdin)["runs"][0]
print(r["version"], r["elapsed_jiffies"], r["cpus"][1]["sched_count"], r["domains"][0]["busy_lb_count"], r["domains"][0]["idle_lb_count"], r["domains"][1]["ttwu_move_balance"])
' <<<"$out")" "16 600 12 200 400 44" "has the numbers"

exits 0 "diff" "$SONDE" sched stats diff "$data/v17" "$data/v17"
like "$out" '^Time elapsed \(in jiffies\) +:         600,        600$' "both times"
like "$out" '^schedule\(\) called +:           6,          6  \|     0\.00% \|$' "both counts, and the change"
exits 1 "unlike versions" "$SONDE" sched stats diff "$data/v15" "$data/v17"
like "$err" 'versions 15 and 17 cannot be compared' "are refused"

exits 1 "half a line" "$SONDE" sched stats report "$data/cut"
like "$err" 'line 6 cannot be read' "is named"
sed '/^cpu0 /p' "$data/v17" >again
exits 1 "a CPU that comes again" "$SONDE" sched stats report again
like "$err" 'line 4 cannot be read' "is refused"
head -4 "$data/v17" >one
exits 1 "one text" "$SONDE" sched stats report one
like "$err" 'one has one copy of /proc/schedstat, not two' "is not enough"
sed 's/^version.*/version 99/' "$data/v17" >new
exits 1 "a version to come" "$SONDE" sched stats report new
like "$err" 'version 99 of /proc/schedstat: only 15 to 17 are supported' "is named"
# As many CPUs as a text may have, each with a domain of its own number: found by halves, this is half a second.
python3 - "$data/v17" >many <<'END'
import sys
domain = next(l for l in open(sys.argv[1]) if l.startswith("domain")).split(" ", 1)[1].rstrip("\n")
one = "version 17\ntimestamp 1\n" + "".join(f"cpu{c} 0 0 0 0 0 0 0 0 0\ndomain{5000000 + c} {domain}\n" for c in range(60000))
sys.stdout.write(one + one.replace("timestamp 1", "timestamp 2", 1))
END
python3 "$SONDE_SRC/tests/gen/measure.py" cost "$SONDE" sched stats report many >out 2>messages
read -r status cpu mb <cost
is "$status" 0 "many CPUs and domains" || diag "$(head -c 300 messages)"
[ "$mb" -gt 0 ] && awk -v cpu="$cpu" -v mb="$(du -cm many | tail -n 1 | cut -f1)" 'BEGIN { exit cpu > 5 + mb / 2 }'
ok $? "cost time in proportion to the text" || diag "$cpu s, $mb MB"
printf 'PERFILE2xxxxxxxxxxxx' >perf.data
exits 1 "a recording of perf's" "$SONDE" sched stats report -i perf.data
like "$err" "perf's own 'sched stats' cannot be read" "is told apart"
exits 1 "no file" "$SONDE" sched stats report
like "$err" 'sched stats record -o schedstat.txt' "says how to make one"
exits 129 "one file" "$SONDE" sched stats diff one

[ -e /proc/schedstat ] || {
	exits 1 "a kernel without it" "$SONDE" sched stats -- true
	like "$err" 'this kernel has no /proc/schedstat \(CONFIG_SCHEDSTATS\)' "says so"
}

# A /proc of our own, where the command itself moves the counters on. What else is asked of /proc is the real one's.
mkdir -p proc/real proc/sys/kernel/random && cp /proc/sys/kernel/random/boot_id proc/sys/kernel/random/ && echo 0 >proc/sys/kernel/sched_schedstats
for name in self thread-self mounts filesystems; do ln -s real/$name proc/$name; done
half=$(($(wc -l <"$data/v17") / 2))
head -$half "$data/v17" >proc/schedstat
tail -n +$((half + 1)) "$data/v17" >after
made() { unshare -m bash -c 'mount --rbind /proc proc/real && mount --rbind proc /proc && exec "$@"' made "$@"; }
if [ "$(id -u)" != 0 ] || ! made "$SONDE" --version >/dev/null 2>&1; then
	skip "no mount namespace" "a made /proc"
else
	made "$SONDE" sched stats record -o live.txt -- sh -c 'cat /proc/sys/kernel/sched_schedstats >during; cp after proc/schedstat; exit 7' 2>err
	is $? 7 "record: the status of the command"
	cmp -s live.txt "$data/v17"
	ok $? "record: both texts, as they were" || diag "$(cat err)"
	needs_or_skip "counting is switched on" tracefs || {
		is "$(cat during)" 1 "counting was switched on meanwhile" || diag "$(cat err)"
		is "$(cat proc/sys/kernel/sched_schedstats)" 0 "and off afterwards"
	}
	made "$SONDE" sched stats -C 0 -- true >out 2>err
	like "$(cat out)" '^schedule\(\) called +:           0$' "live: nothing happened"
fi
done_testing
