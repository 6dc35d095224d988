#!/usr/bin/env bash
# where: host
# needs: root
# timeout: 300
# Rows of the acceptance matrix: `record`. perf reads the recording.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events perf
cd "$SONDE_TMP" || exit 1
ln -s "$SONDE" sonde
export PATH=$PWD:$PATH
mkdir as && ln -s "$SONDE" as/perf # it is perf by that name
trap 'remove_probes; rm -rf "$SONDE_TMP"' EXIT

# What perf reads from a file: perf_fields FILE FIELDS
perf_fields() { perf script -i "$1" -F "$2" 2>/dev/null; }
near() { # VALUE WANT PERCENT NAME
	awk -v a="$1" -v b="$2" -v p="$3" 'BEGIN { exit !(a != "" && a >= b * (1 - p / 100) && a <= b * (1 + p / 100)) }'
	ok $? "$4" || diag "got $1, want $2 within $3 %"
}

# ---- the command of the texts, as perf and by our own name
exits 0 "S0-026: record -F 99 -a -g -- sleep 1, called as perf" as/perf record -F 99 -a -g -- sleep 1
like "$err" '^\[ perf record: Woken up [0-9]+ times? to write data \]$' "S0-026: says how often it woke up"
like "$err" '^\[ perf record: Captured and wrote [0-9.]+ MB perf.data \([0-9]+ samples\) \]$' "S0-026: says what it wrote"
said=$(sed -n 's/.*perf.data (\([0-9]*\) samples.*/\1/p' <<<"$err")
is "$(perf_fields perf.data period | wc -l)" "$said" "S0-026: as many samples as were said"
isnt "$(perf_fields perf.data ip,sym | awk 'BEGIN { RS = "" } NF > 4' | head -1)" "" "S0-026: with call chains"
# In the time from the first sample to the last, on each CPU.
perf_fields perf.data cpu,time | tr -d '][:' | awk '{ if (!($1 in first)) first[$1] = $2; last[$1] = $2; n[$1]++ }
	END { for (c in n) if (n[c] > (last[c] - first[c]) * 99 * 1.05 + 2) bad = 1; exit !(NR && !bad) }'
ok $? "S0-026: at most 99 samples per second and CPU" || diag "$said samples"
exits 0 "S0-026: by our own name" sonde record -F 99 -a -g -o own.data -- sleep 1

# ---- periodic sampling; an independent measure of the CPU time: what the shell saw
# A machine that stands still for a moment gives no samples meanwhile: one recording without that shows it.
for _ in 1 2 3 4; do
	sonde record -F 99 -o freq.data -- bash -c 'TIMEFORMAT="%U %S"; { time sonde workload noploop 3; } 2>cpu-times' 2>said
	wanted=$(awk '{ print ($1 + $2) * 99 }' cpu-times)
	[ "$(perf_fields freq.data period | wc -l)" -ge "$(awk -v w="$wanted" 'BEGIN { print int(w * 0.9) }')" ] && break
done
near "$(perf_fields freq.data period | wc -l)" "$wanted" 12 "S0-022 S0-010: -F 99: 99 samples per second of CPU time"
total=$(perf_fields freq.data period | awk '{ s += $1 } END { printf "%.0f", s }')
like "$(sonde report -i freq.data --stdio)" "^# Event count \(approx.\): $total\$" "S0-022: the report's event count is the sum of the periods"
# By CPU, not by task: a task that waits for its CPU is not sampled meanwhile.
sonde record -F 99 -C 0 -o even.data -- sleep 2 2>/dev/null
perf_fields even.data time | tr -d : | awk 'NR > 1 { printf "%d\n", ($1 - last) * 1e6 } { last = $1 }' | sort -n >gaps
near "$(awk '{ g[NR] = $1 } END { print g[int((NR + 1) / 2)] }' gaps)" 10101 5 "S0-010: at an even interval of 1/99 s"

# ---- every running thread, with its stack
exits 0 "S0-011: three threads" sonde record -F 499 -g -o threads.data -- sonde workload --threads 3 thloop 1
perf_fields threads.data tid,ip,sym | awk 'BEGIN { RS = ""; FS = "\n" } /workload_spin/ { split($1, t, " "); frames = NF - 1; print t[1], frames, (/workload_thread/ ? "whole" : "cut") }' >stacks
is "$(cut -d' ' -f1 stacks | sort -u | wc -l)" 3 "S0-011: samples of each thread"
is "$(cut -d' ' -f3 stacks | sort -u)" whole "S0-011: each with the stack up to the thread's function"
exits 0 "S4-243: -g" sonde record -F 499 -g -o g.data -- sonde workload leaf 0.3
exits 0 "S4-243: without -g" sonde record -F 499 -o flat.data -- sonde workload leaf 0.3
like "$(perf evlist -v -i g.data 2>/dev/null)" 'sample_type: [A-Z|]*CALLCHAIN' "S4-243: -g records call chains"
flat=$(perf evlist -v -i flat.data 2>/dev/null)
like "$flat" 'sample_type: [A-Z|]*IP' "S4-243: without it, samples"
unlike "$flat" CALLCHAIN "S4-243: and no chains"
exits 0 "S4-249: a recursion 20 deep" sonde record -F 1999 -g -o deep.data -- sonde workload deep 20
perf_fields deep.data ip,sym | awk 'BEGIN { RS = "" } /workload_spin/ { print gsub(/workload_recurse/, ""), (/main/ ? "main" : "") }' | sort | uniq -c | sort -rn >depth
like "$(head -1 depth)" '^ *[0-9]+ (20|21) main$' "S4-249: frame pointers give all of it, up to main"

# ---- :S: the leader samples for the group. Every fault here is a minor one, so the second counts what the first does.
exits 0 "S4-233: record -e '{page-faults,minor-faults}:S' -c 100" sonde record -e '{page-faults,minor-faults}:S' -c 100 -o read.data -- sonde workload faults 5000
like "$(perf evlist -v -i read.data 2>/dev/null)" '^page-faults.*sample_type: [A-Z|]*READ.*read_format: [A-Z|]*GROUP' "S4-233: samples carry the counts of the group"
perf_fields read.data event,period | sed 's/^ *//; s/:.*//' | awk '{ print $2 }' | sort | uniq -c | awk '{ print $2, $1 }' >members
is "$(awk '{ print $1 }' members | xargs)" "minor-faults page-faults" "S4-233: perf reads values of both from each sample"
is "$(awk '{ print $2 }' members | sort -u | wc -l)" 1 "S4-233: as many of the one as of the other"
[ "$(awk '/^page/ { print $2 }' members)" -ge 50 ]
ok $? "S4-233: a sample every 100 faults" || diag "$(cat members)"
# A fault is counted as a fault before it is counted as a minor one: the member is behind by one where a sample is taken.
sonde script -i read.data -F event,period | awk '/minor-faults/ { minor += $1 } /page-faults/ { all += $1 } END { print minor, all }' >sums
awk '{ exit !($1 >= 4900 && $1 <= $2 && $1 >= $2 - 100) }' sums
ok $? "S4-233: the counts of the member that is only read add up" || diag "$(cat sums)"
is "$(sonde script -i read.data)" "$(perf script --no-inline -i read.data 2>/dev/null)" "S4-233: printed as perf prints it"

# ---- which event
exits 0 "S0-020: -e, and -e again" sonde record -e cpu-clock -e page-faults -o e1.data -- sonde workload faults 1000
exits 0 "S0-020: -e A,B" sonde record -e cpu-clock,page-faults -o e2.data -- sonde workload faults 1000
exits 0 "S0-020: -e A" sonde record -e page-faults -c 1 -o e3.data -- sonde workload faults 1000
events() { sonde report -i "$1" --stdio | sed -n "s/^# Samples: .* of event '\(.*\)'/\1/p" | xargs; }
is "$(events e1.data)" "cpu-clock page-faults" "S0-020: both events"
is "$(events e2.data)" "cpu-clock page-faults" "S0-020: both events with a comma"
is "$(events e3.data)" "page-faults" "S0-020: one event alone"

# ---- the file
is "$(head -c 8 g.data)" PERFILE2 "S0-028: perf.data by its magic"
out=$(perf report -i g.data --stdio --no-children -g none 2>perf-err)
is "$? $(cat perf-err)" "0 " "S0-028: perf reads it without a word"
percent() { sed -n 's/^ *\([0-9.]*\)% .*\[\.\] workload_leaf *$/\1/p'; }
isnt "$(percent <<<"$out")" "" "S0-028: perf finds the function"
for _ in 1 2 3; do # perf 6.1 aborts now and then
	perf record -q -F 499 -g -o peer.data -- sonde workload leaf 0.3 2>/dev/null && break
done
theirs=$(perf report -i peer.data --stdio --no-children -g none 2>/dev/null | percent)
if [ -n "$theirs" ]; then
	is "$(sonde report -i peer.data --stdio --no-children -g none | percent)" "$theirs" "S0-028: of perf's file we say what perf says"
else
	skip "perf record aborts here" "S0-028: of perf's file we say what perf says"
fi

# ---- how it is done
if ! needs_or_skip "S0-030: system calls" strace; then
	strace -f -qq -e trace=perf_event_open,execve -o calls "$SONDE" record -F 99 -o s.data -- /bin/true 2>/dev/null
	like "$(cat calls)" 'perf_event_open\(\{type=PERF_TYPE_' "S0-030: events are opened with perf_event_open"
	is "$(grep 'execve(' calls | grep -v ENOENT | sed 's/.*execve("\([^"]*\)".*/\1/' | xargs -n1 basename | xargs)" "sonde true" \
		"S0-030: no other program does it for us"
fi

# ---- a software event of a command, then its report
exits 0 "S4-238: record -e minor-faults -g -- ls" sonde record -e minor-faults -g -- ls /
like "$out" '^(bin|etc|usr)$' "S4-238: the command's output is its own"
like "$(perf evlist -v 2>/dev/null)" '^minor-faults: .*CALLCHAIN' "S4-238: minor faults with call chains"
is "$(perf_fields perf.data comm | sort -u | xargs)" ls "S4-238: of ls"
exits 0 "S4-237: report of what record left" sonde report
like "$out" "^# Samples: $(perf_fields perf.data period | wc -l) +of event 'minor-faults'" "S4-237: with all of its samples"
exits 3 "S4-290: record runs a command" sonde record -o run.data -- sh -c 'sonde workload noploop 0.3; exit 3'
like "$(sonde report -i run.data --sort comm,sym)" 'sonde +\[\.\] workload_spin' "S4-290: and records its profile"

# ---- accesses to an address
if ! needs_or_skip "S1-007 S4-094: watch a variable" gcc nm; then
	printf 'volatile int target; int main(void) { for (int i = 0; i < 1000; i++) target = i; return 0; }\n' >watch.c
	gcc -no-pie -o watch watch.c
	address=0x$(nm watch | awk '$3 == "target" { print $1 }')
	exits 0 "S1-007 S4-094: record -e mem:ADDRESS:w" sonde record -c 1 -e "mem:$address:w" -o mem.data -- ./watch
	is "$(perf_fields mem.data comm,sym,ip | grep -c main)" 1000 "S1-007 S4-094: every one of 1000 writes, in main"
	code=0x$(nm watch | awk '$3 == "main" { print $1 }')
	exits 0 "S1-007: record -e mem:ADDRESS:x" sonde record -c 1 -e "mem:$code:x" -o exec.data -- ./watch
	is "$(perf_fields exec.data ip,sym | grep -c main)" 1 "S1-007: a code address, run once"
	like "$(perf evlist -v -i mem.data 2>/dev/null)" 'type: 5, .*bp_type: 2' "S4-094: by a debug register"
fi

# ---- a user probe, on the whole system: the calls of one process are counted
if add_probe_libc_malloc; then
	printf '#!/bin/sh\necho $$ >pid\nexec sonde workload malloc 5000\n' >allocate
	chmod +x allocate
	# NUMBER NAME: the program itself calls malloc a few times; what others do meanwhile can overrun the rings, which is said
	about_5000() {
		local lost
		lost=$(sed -n 's/.* samples, \([0-9]*\) lost;.*/\1/p' <<<"$err")
		[ $(($1 + lost)) -ge 5000 ] && [ "$1" -le 5200 ]
		ok $? "$2" || diag "$1 calls, $lost lost"
	}
	mkfifo ctl ack
	until_ctrl_c() { # when it answers, it records
		local recorder answer
		exec 8<>ack 9<>ctl
		"$SONDE" record -e probe_libc:malloc -a --control fifo:ctl,ack & recorder=$!
		echo ping >&9
		read -r -t 100 answer <&8
		./allocate
		kill -INT $recorder
		exec 8>&- 9>&-
		wait $recorder
	}
	exits 130 "S0-062: record -e probe_libc:malloc -a, until Ctrl-C" until_ctrl_c
	about_5000 "$(perf_fields perf.data pid | grep -cw "$(cat pid)")" "S0-062: every call is there"
	like "$(perf report --stats 2>&1)" 'probe_libc:malloc stats' "S0-062: Ctrl-C leaves a whole file"
	exits 0 "S4-340: record -e probe_libc:malloc -aR sleep 1" sonde record -e probe_libc:malloc -aR sleep 1
	exits 0 "S4-340 S4-341: with a known number of calls" sonde record -e probe_libc:malloc -aR ./allocate
	about_5000 "$(perf_fields perf.data pid | grep -cw "$(cat pid)")" "S4-340: every call is there"
	like "$(perf evlist -v 2>/dev/null)" '^probe_libc:malloc: .*sample_type: [A-Z|]*RAW' "S4-341: raw data in every sample"
	like "$(perf_fields perf.data event,trace | head -1)" 'probe_libc:malloc: +\([0-9a-f]+\)$' "S4-341: which perf can print"
	exits 0 "S4-342: record -g -e probe_libc:malloc -aR" sonde record -g -e probe_libc:malloc -aR ./allocate
	about_5000 "$(perf_fields perf.data pid,ip,sym | awk -v pid="$(cat pid)" '
		BEGIN { RS = "" } $1 == pid && /malloc.*workload_malloc.*main/ { n++ } END { print n + 0 }')" "S4-342: chains lead from malloc to main"
	like "$(sonde report --no-children --sort comm,sym 2>/dev/null)" '--malloc' "S4-342: and are shown"
else
	for row in "S0-062" "S4-340 S4-341" "S4-342"; do skip "$reason" "$row: a user probe"; done
fi

# ---- what profiling costs: CPU time that the recorder itself used for a second of CPU time that was profiled, beyond its start
own_and_profiled() { # SECONDS: both, in seconds of CPU
	"$SONDE" record --json -F 99 -g -e cpu-clock -o light.data -- "$SONDE" workload leaf "$1" >light.json 2>/dev/null || return 1
	python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["recorder_cpu_seconds"], d["samples"] / 99)' <light.json
}
cheap() { awk -v a="$short" -v b="$long" 'BEGIN { split(a, s); split(b, l); exit !(l[2] > s[2] && l[1] - s[1] < 0.03 * (l[2] - s[2])) }'; }
for _ in 1 2 3 4; do # what else runs can make a single start dear
	short=$(own_and_profiled 0.5) && long=$(own_and_profiled 4)
	status=$?
	[ $status = 0 ] && ! cheap || break
done
ok $status "S4-105: record -F 99 -g says what it cost"
cheap
ok $? "S4-105: profiling at 99 Hz costs less than three percent" || diag "recorder and profiled: $short, then $long"
done_testing
