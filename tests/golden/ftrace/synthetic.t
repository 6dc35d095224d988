#!/usr/bin/env bash
# Files that no recording happens to be: durations of every size, calls cut by other tasks and by page ends, names learned on
# the way, every value of the flags, lost events. trace-cmd says what is right.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde
corpus=${SONDE_BUILD:-$SONDE_SRC/build}/tests/trace_corpus
[ -x "$corpus" ] || { skip "trace_corpus is not built" "synthetic files"; done_testing; exit; }
oracle=
trace-cmd --help 2>&1 | grep -q 'version 3.1.6' && oracle=1

for kind in graph function tasks flags lost; do
	for version in 6 7 zstd; do
		"$corpus" $kind $version >"$SONDE_TMP/x.dat"
		"$SONDE" ftrace report --threads 1 "$SONDE_TMP/x.dat" >"$SONDE_TMP/one"
		"$SONDE" ftrace report --threads 5 "$SONDE_TMP/x.dat" >"$SONDE_TMP/many"
		cmp "$SONDE_TMP/one" "$SONDE_TMP/many" >&2
		ok $? "$kind, $version: five workers print what one prints"
		[ -n "$oracle" ] || continue
		for option in "" -R -t -l -N; do
			trace-cmd report $option "$SONDE_TMP/x.dat" >"$SONDE_TMP/want" 2>/dev/null
			"$SONDE" ftrace report $option "$SONDE_TMP/x.dat" >"$SONDE_TMP/got"
			cmp -s "$SONDE_TMP/want" "$SONDE_TMP/got"
			ok $? "$kind, $version ${option:-without option}: as trace-cmd says" ||
				diff "$SONDE_TMP/got" "$SONDE_TMP/want" | head -4 | sed 's/^/# /'
		done
	done
done
[ -n "$oracle" ] || skip "trace-cmd 3.1.6 is not installed" "as trace-cmd says"

# The only line that differs on purpose: an event without a format is shown with what is known of it.
done_testing
