#!/usr/bin/env bash
# where: arm64
# needs: root
# timeout: 300
# record --call-graph dwarf on another machine, where linker stubs have no unwind tables: stacks are whole, ours and those of perf's
# recording.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events
cd "$SONDE_TMP" || exit 1

# whole FILE: of the stacks that begin in bash's own execution, how many reach _start
whole() {
	"$SONDE" script --no-inline -i "$1" 2>/dev/null | awk 'BEGIN { RS = "" } { gsub(/\n/, " ") }
		/ main\+/ || / execute_command/ { n++; if ($0 ~ / _start\+/) w++ } END { print n + 0, w + 0 }'
}
loop='for i in {1..6000}; do x=${x:0:20}$i; done'
exits 0 "records" "$SONDE" record -F 499 --call-graph dwarf -o ours.data -- bash -c "$loop"
like "$err" '[0-9]+ of [0-9]+ stacks truncated' "and says how many stacks are truncated"
got=$(whole ours.data)
n=${got% *} w=${got#* }
[ "$n" -gt 10 ] && [ "$w" = "$n" ]
ok $? "all stacks are whole" || diag "$w of $n"
perf record -q -F 499 --call-graph dwarf -o perf.data -- bash -c "$loop" 2>/dev/null
got=$(whole perf.data)
n=${got% *} w=${got#* }
[ "$n" -gt 10 ] && [ "$w" = "$n" ]
ok $? "those of perf's recording too" || diag "$w of $n"
done_testing
