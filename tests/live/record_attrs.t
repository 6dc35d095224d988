#!/usr/bin/env bash
# What `record` asks the kernel for is what perf 6.1 asks for, option by option; and what follows from it: events that carry a count are
# recorded once each with that count as their weight, threads and users that were named are recorded and no others, nothing disturbs other tools.
# where: host
# needs: root perf_events tracefs
# timeout: 900
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events tracefs python3
cd "$SONDE_TMP" || exit 1
export HOME=$SONDE_TMP PERF_BUILDID_DIR=$SONDE_TMP/debug
mkdir bin && ln -s "$SONDE" bin/perf

# ---- attrs
build=${SONDE_BUILD:-$SONDE_SRC/build}
if [ ! -e "$build/tests/perf_attr_shim.so" ]; then
	skip "tests/perf_attr_shim.so is not built here" "attrs as perf's"
elif ! needs_or_skip "attrs as perf's" perf; then
	python3 "$SONDE_SRC/tests/oracle/record_attrs" "$build" >attrs.tap
	bad=$(grep -A6 '^not ok' attrs.tap)
	is "$bad" "" "$(grep -c '^ok' attrs.tap) command lines open the same events as perf's"
	ok $(($(grep -c '^ok' attrs.tap) < 150)) "and there are at least 150"
fi

# ---- an event that carries a count: sched_stat_runtime counts nanoseconds
"$SONDE" record -q -e sched:sched_stat_runtime -o runtime.data -- "$SONDE" workload noploop 0.3
"$SONDE" script -i runtime.data -F time,period,trace >runtime.txt 2>/dev/null
ok $(($(wc -l <runtime.txt) < 3)) "sched_stat_runtime was recorded ($(wc -l <runtime.txt) samples)"
is "$(cut -d: -f1 runtime.txt | sort | uniq -d)" "" "each event once"
is "$(sed -E 's/^ *[0-9.]+: +([0-9]+).* runtime=([0-9]+).*/\1 \2/' runtime.txt | awk '$1 != $2')" "" "the weight is what the event counted"
sum=$(sed -E 's/.* runtime=([0-9]+).*/\1/' runtime.txt | awk '{ s += $1 } END { printf "%d", s }')
is "$("$SONDE" report -i runtime.data --stdio 2>/dev/null | sed -n 's/^# Event count (approx.): //p')" "$sum" "report sums up the weights"
is "$("$SONDE" export --to folded -i runtime.data -o - 2>/dev/null | awk '{ s += $NF } END { printf "%d", s }')" "$sum" "and so do folded stacks"
if ! needs_or_skip "perf reads the same weights" perf; then
	is "$(command perf script -i runtime.data -F period 2>/dev/null | awk '{ s += $1 } END { printf "%d", s }')" "$sum" "perf reads the same weights"
fi
"$SONDE" record -q -e sched:sched_switch -o switch.data -- "$SONDE" workload noploop 0.1
is "$("$SONDE" script -i switch.data -F period 2>/dev/null | sort -u | xargs)" 1 "an event without a count weighs 1"

# ---- columns of script: the CPU is there where it was asked for
"$SONDE" record -q -e cpu-clock -o plain.data -- "$SONDE" workload leaf 0.1
unlike "$("$SONDE" script -i plain.data 2>/dev/null | head -n 1)" '\[[0-9]{3}\]' "no column for the CPU in samples of a command"
"$SONDE" record -q --sample-cpu -e cpu-clock -o cpu.data -- "$SONDE" workload leaf 0.1
like "$("$SONDE" script -i cpu.data 2>/dev/null | head -n 1)" '\[[0-9]{3}\]' "--sample-cpu has one"

# ---- who is recorded
"$SONDE" record -q --per-thread -e cpu-clock -o thread.data -- bash -c "\"$SONDE\" workload leaf 0.2; for ((i = 0; i < 200000; i++)); do :; done"
is "$("$SONDE" script -i thread.data -F comm 2>/dev/null | sort -u | xargs)" bash "--per-thread: no children"
"$SONDE" record -q -e cpu-clock -o all.data -- bash -c "\"$SONDE\" workload leaf 0.2; for ((i = 0; i < 200000; i++)); do :; done"
is "$("$SONDE" script -i all.data -F comm 2>/dev/null | sort -u | xargs)" "bash sonde" "without it they are"
cp "$SONDE" theirs && chmod 755 . theirs
python3 -c 'import os, sys; os.setgid(65534); os.setuid(65534); os.execvp(sys.argv[1], sys.argv[1:])' "$PWD/theirs" workload leaf 1000 &
user=$!
"$SONDE" workload leaf 1000 &
other=$!
owned() { [ "$(stat -c %u "/proc/$user")" = 65534 ] && [ "$(cat "/proc/$user/comm")" = theirs ]; }
wait_until owned
ok $? "a program runs for another user"
"$SONDE" record -q -a -u 65534 -e cpu-clock -o user.data -- bash -c "burn 200 $user $other" 2>err
is "$("$SONDE" script -i user.data -F comm 2>/dev/null | sort -u | xargs)" theirs "-a -u: only what runs for that user"
"$SONDE" record -q -p "$(printf '%s\n %s\n' "$user" "$other")" -e cpu-clock -o both.data -- bash -c "burn 200 $user $other" 2>err
is "$("$SONDE" script -i both.data -F comm 2>/dev/null | sort -u | xargs)" "sonde theirs" "-p takes numbers as pgrep prints them"
exits 129 "-p with a word" "$SONDE" record -p "$user x" -o none.data
like "$err" "invalid process ID 'x'" "names it"
exits 129 "-p with nothing" "$SONDE" record -p " " -o none.data
like "$err" "no process ID" "is refused, too"

# ---- without a target
bin/perf record -q -e cpu-clock -o bare.data 2>err &
bare=$!
recorded() { bin/perf script -F comm -i bare.data 2>/dev/null | grep -q theirs; }
wait_until recorded
ok $? "perf record by itself records the whole system"
kill $bare
wait $bare
exits 129 "under our own name it asks" "$SONDE" record -o none.data
like "$err" "nothing to record" "what"
kill $user $other
wait $user $other 2>/dev/null

# ---- what is said
exits 0 "-z" bin/perf record -z -e cpu-clock -F 999 -o z.data -- "$SONDE" workload leaf 0.3
like "$err" 'Captured and wrote [0-9.]+ MB z\.data \([0-9]+ samples\), compressed \(original [0-9.]+ MB, ratio is [0-9.]+\)' "as perf says it"
exits 0 "-z under our own name" "$SONDE" record -z -e cpu-clock -F 999 -o z.data -- "$SONDE" workload leaf 0.3
like "$err" 'compressed from [0-9.]+ [KM]B \([0-9.]+:1\)' "the size before and the ratio"
exits 0 "--off-cpu goes on" bin/perf record --off-cpu -e cpu-clock -o o.data -- "$SONDE" workload leaf 0.1
like "$err" 'warning: --off-cpu' "with a warning"

# ---- build IDs without asking the kernel, which would leave its mark on the records of every other recorder
"$SONDE" record -q -a -e cpu-clock -o ids.data -- "$SONDE" workload leaf 0.2
unlike "$("$SONDE" evlist -v -i ids.data)" 'build_id: 1' "record -a does not ask for build IDs in records of maps"
like "$("$SONDE" buildid-list -i ids.data)" "^$("$SONDE" buildid-list -i "$(readlink -f "$SONDE")" | cut -d' ' -f1) .*/sonde$" "the file has that of a program that was started meanwhile"
"$SONDE" record -q --buildid-mmap -a -e cpu-clock -o asked.data -- true
like "$("$SONDE" evlist -v -i asked.data)" 'build_id: 1' "--buildid-mmap does"

# While another recorder asks, the kernel marks the records of all: those of events that did not ask have no ID, and perf aborts on the mark.
"$SONDE" record -q --buildid-mmap -a -e dummy -o asks.data -- sleep 1000 2>/dev/null &
asks=$!
wait_until counts_events $asks
for how in fp dwarf; do
	"$SONDE" record -q --call-graph $how -e cpu-clock -o marked.data -- sh -c 'ls; ls' >/dev/null 2>&1
	"$SONDE" script -i marked.data --show-mmap-events 2>/dev/null | grep -c 'MMAP2 .* [0-9a-f]*:[0-9a-f]* [0-9]* [0-9]*\]: ' >inodes
	isnt "$(cat inodes)" 0 "records of maps with inodes, while another recorder has build IDs ($how)"
	is "$("$SONDE" script -i marked.data --show-mmap-events 2>/dev/null | grep -c 'MMAP2 .* <[0-9a-f]*>')" 0 "and none that claims an ID that it does not have ($how)"
done
kill $asks
wait $asks 2>/dev/null
done_testing
