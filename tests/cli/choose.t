#!/usr/bin/env bash
# Which samples are shown, and what of them: ranges and slices of time, lists of fields.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde
gen=$(dirname "$SONDE")/tests/stacks_gen
cd "$SONDE_TMP" || exit 1
# Milliseconds behind the first second.
"$gen" one.data names <<'END'
0 app 7 7 1000 main;parse;lex
0.5 app 7 7 1500 main;parse;lex
1 app 7 7 1000 main;parse
2.5 other 9 9 1000 main;parse;lex
END
times() { "$SONDE" script -i one.data --kallsyms names -F time --time "$1" 2>/dev/null | tr -d ' :' | xargs; }
is "$(times 1.0004,1.0006)" "1.000500" "a range with digits behind the point"
is "$(times 1.0005,1.001)" "1.000500 1.001000" "both of its ends belong to it"
is "$(times ,1.0005)" "1.000000 1.000500" "without a start"
is "$(times 1.001,)" "1.001000 1.002500" "without an end"
is "$(times 50%/1)" "1.000000 1.000500 1.001000" "the first half"
is "$(times 50%/2)" "1.002500" "the second half has nothing of the first"
is "$(times 10%-50%)" "1.000500 1.001000" "from one share to another"
exits 129 "neither start nor end" "$SONDE" script -i one.data --time ,
like "$err" "invalid time range ','" "invalid time range"

fields() { "$SONDE" script -i one.data --kallsyms names --time 1.001,1.001 -F "$1" 2>/dev/null | head -n 1 | xargs; }
is "$(fields comm,period)" "app 1000" "a list of fields"
like "$(fields +pid)" ' 7/7 .* 1000 ' "one more than usual"
exits 129 "a sign in the middle of a list" "$SONDE" script -i one.data -F comm,+pid
like "$err" "unknown field '\+pid'" "is pointed at"
done_testing
