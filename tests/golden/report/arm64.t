#!/usr/bin/env bash
# An arm64 recording (hardware cycles in the QEMU guest, `sonde record -F 499 -e cycles -g -- sonde workload leaf 0.3`)
# read on whatever machine this is: the same rows, the same graphs, places in files where the files are not here.
. "${SONDE_SRC:-.}/tests/lib.sh"

data=$SONDE_SRC/tests/data/perf/arm64-leaf.data
want=$SONDE_SRC/tests/golden/report/arm64
compare() {
	local name=$1
	shift
	"$SONDE" report -i "$data" --symfs "$SONDE_TMP" "$@" >"$SONDE_TMP/got" 2>"$SONDE_TMP/err"
	[ -n "${REWRITE:-}" ] && cp "$SONDE_TMP/got" "$want.$name"
	cmp -s "$SONDE_TMP/got" "$want.$name"
	ok $? "report $*" || diag "$(diff "$SONDE_TMP/got" "$want.$name" | head -10)"
}
compare flat --no-children -g none
compare graph
like "$(cat "$SONDE_TMP/err")" "from a different kernel than the running one" "says why the kernel has no names"
samples=$("$SONDE" report -i "$data" --json -g none 2>/dev/null | python3 -c 'import json,sys; print(json.load(sys.stdin)["events"][0]["samples"])')
is "$samples" "$(sed -n 's/^# Samples: \([0-9]*\).*/\1/p' "$want.flat")" "as many samples in JSON"
if command -v perf >/dev/null; then
	perf report --stdio --no-children -g none -i "$data" 2>/dev/null | grep -v '^#' | awk 'NF {print $1, $2, $3}' | sort >"$SONDE_TMP/perf"
	grep -v '^#' "$want.flat" | awk 'NF {print $1, $2, $3}' | sort | cmp -s - "$SONDE_TMP/perf"
	ok $? "perf gives every row the same share"
else
	skip "perf is not installed" "perf gives every row the same share"
fi
done_testing
