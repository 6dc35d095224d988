#!/usr/bin/env bash
# Files that are cut, empty, of another kind or hostile; options that make no sense.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde

data=$SONDE_SRC/tests/data/trace
v6=$data/6.1-events_v6.dat

exits 1 "a missing file" "$SONDE" ftrace report "$SONDE_TMP/none.dat"
like "$err" "none.dat: No such file" "it is named"
: >"$SONDE_TMP/empty.dat"
exits 1 "an empty file" "$SONDE" ftrace report "$SONDE_TMP/empty.dat"
like "$err" "is empty" "it says so"
exits 1 "a file of another kind" "$SONDE" ftrace report /bin/sh
like "$err" "/bin/sh: not a trace.dat" "it says so"
exits 1 "a folder" "$SONDE" ftrace report /tmp
exits 129 "CPUs that are none" "$SONDE" ftrace report --cpu 0,x "$v6"
exits 129 "two files" "$SONDE" ftrace report "$v6" "$v6"

"$SONDE" ftrace report "$v6" >"$SONDE_TMP/whole"
size=$(stat -c %s "$v6")
for part in 95 80 60; do
	head -c $((size * part / 100)) "$v6" >"$SONDE_TMP/cut.dat"
	exits 0 "cut to $part %" "$SONDE" ftrace report "$SONDE_TMP/cut.dat"
	like "$err" "the file is truncated" "cut to $part %: it says so"
	lines=$(printf '%s\n' "$out" | wc -l)
	[ "$lines" -gt 1 ] && [ "$lines" -lt "$(wc -l <"$SONDE_TMP/whole")" ]
	ok $? "cut to $part %: the rest is printed"
done
head -c 40000 "$v6" >"$SONDE_TMP/cut.dat"
"$SONDE" ftrace report "$SONDE_TMP/cut.dat" >/dev/null 2>"$SONDE_TMP/err"
isnt "$(cat "$SONDE_TMP/err")" "" "cut in the formats: it says so"

head -c 160000 "$data/6.1-events_v7_none.dat" >"$SONDE_TMP/cut.dat"
exits 0 "version 7, cut" "$SONDE" ftrace report "$SONDE_TMP/cut.dat"
like "$err" "the file is truncated" "version 7, cut: it says so"
like "$err" "at the end of the file and was lost" "and why nothing is left"

# Called by the name of the tool whose place it takes.
ln -s "$SONDE" "$SONDE_TMP/trace-cmd"
"$SONDE_TMP/trace-cmd" report -i "$v6" >"$SONDE_TMP/called" 2>&1
cmp "$SONDE_TMP/whole" "$SONDE_TMP/called" >&2
ok $? "trace-cmd report -i FILE"

# Output nobody reads.
"$SONDE" ftrace report "$v6" | head -1 >/dev/null
[ "${PIPESTATUS[0]}" -ne 139 ] && [ "${PIPESTATUS[0]}" -ne 134 ]
ok $? "a closed pipe does no harm"

done_testing
