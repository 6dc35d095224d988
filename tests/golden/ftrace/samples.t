#!/usr/bin/env bash
# report, script, flame and export on trace.dat: events as samples, stacks as call chains, calls by their time.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde python3

data=$SONDE_SRC/tests/data/trace
check="$SONDE_SRC/tests/golden/ftrace/samples.py"
for f in "$data"/*.dat; do
	[ "${f##*/}" = rt-wakeup.dat ] && continue # text of a latency tracer
	name=$(basename "$f")
	said=$(python3 "$check" "$SONDE" "$f" 2>&1)
	ok $? "$name: $said"
done

# Files that no recording happens to be.
corpus=${SONDE_BUILD:-$SONDE_SRC/build}/tests/trace_corpus
for kind in stacks graph function tasks lost; do
	for version in 6 7 zstd; do
		"$corpus" $kind $version >"$SONDE_TMP/x.dat"
		said=$(python3 "$check" "$SONDE" "$SONDE_TMP/x.dat" 2>&1 | tail -1)
		like "$said" '^[0-9]+ samples ' "$kind, $version: $said"
		"$SONDE" export --to perfetto -i "$SONDE_TMP/x.dat" -o "$SONDE_TMP/x.json" 2>/dev/null
		said=$(python3 "$SONDE_SRC/tests/golden/ftrace/chrome.py" "$SONDE" "$SONDE_TMP/x.dat" "$SONDE_TMP/x.json" 2>&1 | tail -1)
		like "$said" '^[0-9]+ instants, ' "$kind, $version: $said"
	done
done

# One worker or many.
for f in 6.12-stacks 6.1-graph_events 6.12-events_v7_zstd 6.1-instance_and_top; do
	f=$data/$f.dat
	for verb in "script" "report --stdio" "flame --folded"; do
		# shellcheck disable=SC2086
		"$SONDE" $verb --workers 1 -i "$f" >"$SONDE_TMP/one" 2>/dev/null
		# shellcheck disable=SC2086
		"$SONDE" $verb --workers 5 -i "$f" >"$SONDE_TMP/five" 2>/dev/null
		[ -s "$SONDE_TMP/one" ] && cmp -s "$SONDE_TMP/one" "$SONDE_TMP/five"
		ok $? "$(basename "$f"): $verb: five workers say the same"
	done
done

# What a person sees.
exits 0 "script" "$SONDE" script -i "$data/6.1-events_v6.dat"
is "$(head -1 <<<"$out")" "          <idle>     0 [000]     6.876300:        irq:softirq_raise: vec=1 [action=TIMER]" "perf script's layout"
exits 0 "script of stacks" "$SONDE" script "$data/6.12-stacks.dat"
like "$(sed -n 1p <<<"$out")" '^cat  3337 \[000\]   204\.878653: sched:sched_switch: prev_comm=trace-cmd ' "the event"
like "$(sed -n 2p <<<"$out")" '^	ffffffff9e10c92e __bpf_trace_sched_cpu_capacity_tp\+0x78e \(\[kernel\.kallsyms\]\)$' "and its stack"
exits 0 "markers" "$SONDE" script -F comm,trace -i "$data/6.1-marker_v6.dat"
is "$(grep -c 'marker line' <<<"$out")" 3 "are there"
is "$(grep -c '^$' <<<"$out")" 0 "and bring no empty lines"
exits 0 "report of a graph recording" "$SONDE" report --stdio -g none -i "$data/6.1-graph.dat"
like "$out" "of event 'function_graph'" "is of calls"
like "$out" '74\.34% +8\.98% +cat +\[kernel\.kallsyms\] +\[k\] vfs_read' "by their time, with what they called"
exits 0 "report of functions" "$SONDE" report --stdio -g caller -i "$data/6.1-function.dat"
like "$out" '\|--9\.96%--__do_sys_newfstatat' "knows who called them"
exits 0 "report of plain events" "$SONDE" report --stdio -i "$data/6.1-nocomm.dat"
like "$out" 'cat +NR 3 = 0' "is by task and text"
exits 0 "by a field" "$SONDE" report --stdio -s next_comm -i "$data/6.1-date.dat"
like "$out" '% +kworker/0:1' "of the event"
exits 0 "part of the time" "$SONDE" script --time 0%-50% -i "$data/6.1-date.dat"
first=$(grep -c . <<<"$out")
exits 0 "all of it" "$SONDE" script -i "$data/6.1-date.dat"
[ "$first" -gt 10 ] && [ "$first" -lt "$(grep -c . <<<"$out")" ]
ok $? "is less than all"
exits 0 "lost events" "$SONDE" report --stdio -i "$data/6.1-lost.dat"
like "$err" 'events were lost [0-9]+ times' "are told"
exits 0 "flame of a trace.dat, without -i" "$SONDE" flame --folded "$data/6.1-graph.dat"
like "$out" '^cat;vfs_read;fuse_file_read_iter 16970$' "unexpected command"
exits 0 "two of them" "$SONDE" flame "$data/6.1-graph.dat" "$data/6.1-graph_events.dat" -o "$SONDE_TMP/two.html"
for to in pprof speedscope firefox folded; do
	exits 0 "export --to $to" "$SONDE" export --to "$to" -i "$data/6.1-graph.dat" -o "$SONDE_TMP/out.$to"
	[ -s "$SONDE_TMP/out.$to" ]
	ok $? "writes something"
done

# What it has not is said.
exits 1 "text of a latency tracer" "$SONDE" flame --folded "$data/rt-wakeup.dat"
like "$err" "'sonde ftrace report' shows it" "is no profile"
exits 1 "--header" "$SONDE" report --header -i "$data/6.1-graph.dat"
like "$err" "header is only for perf.data, and this is a trace.dat" "is not there"
like "$err" "sonde ftrace dump" "and where to look"
exits 1 "--show-mmap-events" "$SONDE" script --show-mmap-events -i "$data/6.1-graph.dat"
like "$err" "is only for perf.data" "is not there"

# Cut anywhere, it ends in an error or in what is whole; never otherwise.
size=$(stat -c %s "$data/6.12-stacks.dat")
for part in 1 2 3 5 7 8 9; do
	head -c $((size * part / 10)) "$data/6.12-stacks.dat" >"$SONDE_TMP/cut.dat"
	"$SONDE" script -i "$SONDE_TMP/cut.dat" >"$SONDE_TMP/cut.out" 2>"$SONDE_TMP/cut.err"
	status=$?
	[ "$status" -le 1 ] && { [ "$status" -eq 0 ] || [ -s "$SONDE_TMP/cut.err" ]; }
	ok $? "cut at $part tenths"
done

# Several -i: files of one kernel are one recording.
cd "$SONDE_TMP" || exit 1
exits 0 "a file in pieces" "$SONDE" ftrace split -r -e 200 -i "$data/6.12-stacks.dat" -o piece
is "$(ls piece.* | wc -l)" 3 "three of them"
for verb in script "report --stdio" "flame --folded -o -"; do
	is "$("$SONDE" $verb -i piece.3 -i piece.1 -i piece.2 | md5sum)" "$("$SONDE" $verb -i "$data/6.12-stacks.dat" | md5sum)" "$verb: pieces together are the whole"
done
exits 1 "files of two kernels" "$SONDE" report -i "$data/6.1-graph.dat" -i "$data/6.12-stacks.dat"
like "$err" "are from different kernels" "cannot be named by one list"
"$SONDE" record -q -o some.data -- true 2>/dev/null
if [ -s some.data ]; then
	exits 1 "and a perf.data" "$SONDE" script -i piece.1 -i some.data
	like "$err" "is a trace.dat and some.data is not" "is no part of it"
else
	skip "nothing can be sampled here" "a perf.data and a trace.dat"
fi
exits 129 "-i and a word" "$SONDE" script -i piece.1 -i piece.2 piece.3
done_testing
