#!/usr/bin/env bash
# timeout: 900
# Files that were made to break arithmetic, or to cost far more time or memory than their size (tests/gen/hostile.py). For any input:
# an answer or a clear refusal within 5 s + 5 s for each 10 MB, in 64 MB + 20 times its size.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde python3

cd "$SONDE_TMP" || exit 1
make() { python3 "$SONDE_SRC/tests/gen/hostile.py" "$1" "$1" || exit 1; }

# ---- times and weights that do not fit into a word ----

for kind in wild_times late_zero wild_periods; do
	make "$kind"
	for way in "flame -o page.html" "flame --svg -o page.svg" "flame --term" "export --to firefox -o out.json" \
		"export --to pprof -o out.pb" "export --to speedscope -o out.ss" \
		"script" "report --stdio --sort time" "report --stdio --time 10%-90%"; do
		# shellcheck disable=SC2086
		exits 0 "$kind: $way" "$SONDE" ${way%% *} -i "$kind" ${way#"${way%% *}"}
	done
done
"$SONDE" flame -i wild_times -o page.html 2>messages
is "$(python3 "$SONDE_SRC/tests/golden/flame/read_page.py" page.html | cut -d' ' -f3-)" "0 3 3
1844 1 1
3689 2 2" "wild_times: every sample is in the bucket of its time"
"$SONDE" flame -i late_zero -o page.html 2>messages
is "$(python3 "$SONDE_SRC/tests/golden/flame/read_page.py" page.html | cut -d' ' -f3-)" "0 3 3
1000 1 1
2000 1 1" "late_zero: samples without a time are as old as the first that has one"
"$SONDE" export --to firefox -i late_zero -o out.json 2>messages
is "$(python3 -c 'import json; print([t["samples"]["time"] for t in json.load(open("out.json"))["threads"]])')" \
	"[[0, 0, 0, 0.002, 0.004]]" "late_zero: no time before the first"
like "$("$SONDE" flame -i wild_periods --term 2>messages)" '^\|:7 +\|:8$' "wild_periods: two halves of the whole"
"$SONDE" report --stdio -i wild_times --time 50%-100% >out 2>messages
like "$(cat out)" "Samples: 2 " "wild_times: the second half of all time has its samples"

done_testing
