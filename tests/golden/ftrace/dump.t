#!/usr/bin/env bash
# `ftrace dump` against trace-cmd 3.1.6: version 6 by the byte; version 7 but for the lines that tell where sections lie.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde python3
cd "$SONDE_SRC/tests/data/trace" || exit 1
parts="--systems --clock --head-page --head-event --cmd-lines --printk --kallsyms --ftrace-events --events -v"
compare() { # FILE OPTION: what trace-cmd says, without sections
	is "$("$SONDE" ftrace dump "$2" -i "$1" | md5sum)" "$(trace-cmd dump "$2" -i "$1" 2>/dev/null | grep -v '^	\[Section ' | md5sum)" "$1 $2"
}
if trace-cmd --help 2>&1 | grep -q 'version 3.1.6'; then
	for f in 6.1-events_v6.dat 6.1-marker_v6.dat; do
		for o in --summary --options --flyrecord $parts; do compare $f $o; done
	done
	for f in 6.12-events_v7_zstd.dat 6.1-marker.dat; do
		for o in $parts; do compare $f $o; done
	done
else
	skip "trace-cmd 3.1.6 is not installed" "as trace-cmd has it"
fi
for f in *.dat; do
	"$SONDE" ftrace dump --json $f | python3 -c 'import json,sys; assert json.load(sys.stdin)["version"] in (6, 7)' || break
done
ok $? "--json of every file"
exits 129 "two files" "$SONDE" ftrace dump 6.1-graph.dat 6.1-lost.dat
exits 1 "no file" "$SONDE" ftrace dump none.dat
like "$err" "none.dat" "is named"
exits 1 "not a trace.dat" "$SONDE" ftrace dump corrections.awk
done_testing
