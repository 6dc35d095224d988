#!/usr/bin/env bash
# The acceptance matrix: a line per row of the seed list, tests that exist, a document that is up to date; and that the check
# itself notices what is wrong.
. "${SONDE_SRC:-.}/tests/lib.sh"
need python3

# Its own TAP, with our numbers.
"$SONDE_SRC/tests/matrix/check" >"$SONDE_TMP/tap" 2>"$SONDE_TMP/stderr"
status=$?
while IFS= read -r line; do
	case $line in
	'ok '*' # SKIP '*) name=${line#* - }; skip "${name##* # SKIP }" "${name% # SKIP *}" ;;
	'ok '*) ok 0 "${line#* - }" ;;
	'not ok '*) ok 1 "${line#* - }" ;;
	1..*) planned=${line#1..} ;;
	*) echo "$line" ;;
	esac
done <"$SONDE_TMP/tap"
is "$tap_count" "${planned:-none}" "the check ran to its end" || cat "$SONDE_TMP/stderr"
is "$status" "$((tap_failed != 0))" "its status says the same"

"$SONDE_SRC/tools/gen-matrix" - >"$SONDE_TMP/matrix.md"
diff "$SONDE_SRC/doc/matrix.md" "$SONDE_TMP/matrix.md" >"$SONDE_TMP/diff"
ok $? "doc/matrix.md is up to date" || { diag "run tools/gen-matrix"; head -20 "$SONDE_TMP/diff" | sed 's/^/# /'; }

# A tree of its own with one test and one wrong line each.
tree=$SONDE_TMP/tree
mkdir -p "$tree/tests/matrix" "$tree/tests/cli" "$tree/build"
cp "$SONDE_SRC"/tests/matrix/{check,rows.py} "$tree/tests/matrix/"
cat >"$tree/tests/cli/matrix_x.t" <<'EOF'
ok 0 "S0-026: records"
ok 0 "S0-022 S0-026: 99 a second"
EOF
with() { # ID STATE DETAIL: rows.tsv with S0-022 and S0-026 passing, and this line changed
	awk -F'\t' -v OFS='\t' -v id="$1" -v state="$2" -v detail="$3" '
		{ if ($2 == "pass" || $2 == "simulated") { $2 = "later"; $3 = "x" } }
		$1 == "S0-022" || $1 == "S0-026" { $2 = "pass"; $3 = "tests/cli/matrix_x.t: " $1 }
		$1 == id { $2 = state; $3 = detail } { print }' "$SONDE_SRC/tests/matrix/rows.tsv" >"$tree/tests/matrix/rows.tsv"
}
with - - -
exits 0 "a tree without faults" "$tree/tests/matrix/check"
like "$out" '^# 2 pass, ' "counts its rows"
refused() { # NAME PATTERN
	exits 1 "$1" "$tree/tests/matrix/check"
	like "$out" "$2" "$1: is said"
}
with S0-001 'done' x; refused "an unknown state" "S0-001: state 'done'"
with S0-001 pass x; refused "a pass without a test" "S0-001: 'x' is not FILE: NAME"
with S0-026 simulated 'tests/cli/matrix_x.t: S0-026'; refused "a row called simulated that a real machine shows" "S0-026: is 'simulated'"
with S0-001 pass 'tests/cli/none.t: a'; refused "a test that is not there" "S0-001: there is no test tests/cli/none.t"
with S0-001 pass 'tests/cli/matrix_x.t: a case'; refused "a case that is not there" "S0-001: tests/cli/matrix_x.t has no 'a case'"
with S0-001 pass 'tests/cli/matrix_x.t: S0-026'; refused "another row's cases" "S0-001: names the cases of another row"
with S0-022 later x; refused "a case that no row claims" "matrix_x.t has cases for S0-022"
with S0-001 n/a gone; refused "n/a without an equivalent" "S0-001: names no row that is its equivalent"
with S0-001 later ''; refused "an empty detail" "S0-001: not four fields"
with - - -
sed -i /^S4-100/d "$tree/tests/matrix/rows.tsv"; refused "a missing row" "963 rows"

# What a run proves.
with - - -
results() { printf 'tests/cli/matrix_x.t%s\t%s\t%s\t%s\n' "$@" >"$tree/build/test-results.tsv"; }
results '' 'S0-026: records' pass '' '' 'S0-022 S0-026: 99 a second' pass ''
exits 0 "all cases passed" "$tree/tests/matrix/check" --report "$tree/build"
like "$out" '^matrix: 2 rows proved in this run, 0 skipped by environment, 0 failed$' "both rows are proved"
results '' 'S0-026: records' pass '' '' 'S0-022 S0-026: 99 a second' fail 'too few'
exits 1 "a case failed" "$tree/tests/matrix/check" --report "$tree/build"
like "$out" '^matrix: 0 rows proved in this run, 0 skipped by environment, 2 failed$' "both rows that it proves failed"
like "$out" '^matrix: FAILED S0-022 .*: too few$' "says why"
results '' 'S0-026: records' pass '' '' 'S0-022 S0-026: 99 a second' skip 'no clock'
exits 0 "a case was skipped" "$tree/tests/matrix/check" --report "$tree/build"
like "$out" '^matrix: 0 rows proved in this run, 2 skipped by environment, 0 failed$' "its rows were not proved"
like "$out" '^matrix: skipped S0-022 S0-026: .*no clock$' "says why"
results '' 'whole file' skip 'not root' @6.1 'S0-022 S0-026: 99 a second' pass ''
exits 0 "here skipped, passed in a guest" "$tree/tests/matrix/check" --report "$tree/build"
like "$out" '^matrix: 2 rows proved' "is proved"
results '' 'S0-022 S0-026: 99 a second' pass '' @6.1 'S0-022 S0-026: 99 a second' fail ''
exits 1 "passed here, failed in a guest" "$tree/tests/matrix/check" --report "$tree/build"
results '' 'S0-026: records' pass '' '' 'something else' pass ''
exits 1 "the case is gone" "$tree/tests/matrix/check" --report "$tree/build"
like "$out" "FAILED S0-022 .*ran without its case" "says so"
: >"$tree/build/test-results.tsv"
exits 0 "the file did not run" "$tree/tests/matrix/check" --report "$tree/build"
like "$out" '0 rows proved in this run, 2 skipped by environment, 0 failed' "nothing is proved"
done_testing
