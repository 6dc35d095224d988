#!/usr/bin/env bash
# `ftrace graph` against sums over the events one by one, on recordings of the function graph tracer.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde python3

data=$SONDE_SRC/tests/data/trace
for f in "$data"/*graph*.dat; do
	name=$(basename "$f")
	"$SONDE" ftrace report --json "$f" >"$SONDE_TMP/events"
	"$SONDE" ftrace graph --json --tree "$f" >"$SONDE_TMP/graph"
	said=$(python3 "$SONDE_SRC/tests/golden/ftrace/graph.py" "$SONDE_TMP/events" "$SONDE_TMP/graph" 2>&1)
	ok $? "$name: $said"
	# One worker or many.
	"$SONDE" ftrace graph --json --tree --threads 5 "$f" | cmp -s - "$SONDE_TMP/graph"
	ok $? "$name: five workers say the same"
done
f=$data/6.1-graph.dat
# A planted fault must be seen.
"$SONDE" ftrace report --json "$f" | sed '0,/"rettime":[0-9]*/s//"rettime":9999999999999/' >"$SONDE_TMP/events"
"$SONDE" ftrace graph --json --tree "$f" >"$SONDE_TMP/graph"
! python3 "$SONDE_SRC/tests/golden/ftrace/graph.py" "$SONDE_TMP/events" "$SONDE_TMP/graph" 2>/dev/null >&2
ok $? "another duration of one call is noticed"
exits 0 "as text" "$SONDE" ftrace graph "$f"
like "$out" "Calls +Total ns +Self ns +Avg ns +Max ns +Function" "columns"
is "$(sed -n 4p <<<"$out" | awk '{ print $6 }')" "vfs_read" "heaviest first"
exits 0 "by name" "$SONDE" ftrace graph -s name "$f"
is "$(sed 1,3d <<<"$out" | awk '{ print $6 }')" "$(sed 1,3d <<<"$out" | awk '{ print $6 }' | LC_ALL=C sort)" "sorted by name"
exits 0 "--csv" "$SONDE" ftrace graph --csv "$f"
is "$(head -1 <<<"$out")" "calls,total_ns,self_ns,avg_ns,max_ns,function" "has a head"
exits 0 "--tree" "$SONDE" ftrace graph --tree "$f"
like "$out" "%.* vfs_read" "has the outermost function"
exits 0 "a file without it" "$SONDE" ftrace graph "$data/6.1-marker_v6.dat"
like "$err" "no function graph events" "says so"
like "$err" "ftrace record -p function_graph" "and what to do"
exits 129 "a wrong key" "$SONDE" ftrace graph -s totl "$f"
like "$err" "total" "names the right ones"
done_testing
