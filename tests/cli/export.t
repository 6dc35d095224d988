#!/usr/bin/env bash
# Exports are read back by readers that know nothing of the writers, and hold the samples that went in.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde python3
gen=$(dirname "$SONDE")/tests/stacks_gen
cd "$SONDE_TMP" || exit 1
cat >one.txt <<'END'
0 app 7 7 1000 main;parse;lex
1 app 7 8 3000 main;na"me\é<x>
0.5 app 7 7 1500 main;parse;lex
1 app 7 7 1000 main;parse
2.5 other 9 9 1000 @;main;parse;lex
END
"$gen" one.data names <one.txt
want='1000 1 app 7;main;parse
1000 1 other 9;[app];main;parse;lex
2500 2 app 7;main;parse;lex
3000 1 app 8;main;na"me\é<x>'
for format in pprof speedscope firefox; do
	exits 0 "--to $format" "$SONDE" export --to $format -i one.data --kallsyms names -o out.$format
	like "$err" "out.$format: 5 samples" "$format: says what it wrote"
	is "$(python3 "$SONDE_SRC/tests/cli/export_read.py" $format out.$format)" "$want" "$format: read back: every stack with its weight and samples"
done
exits 0 "--to firefox, compressed" "$SONDE" export --to firefox one.data --kallsyms names -o out.json.gz
is "$(gzip -dc out.json.gz | cmp - out.firefox && echo same)" same "a name that ends in .gz is compressed"
exits 0 "--to folded" "$SONDE" export --to folded one.data --kallsyms names
is "$(grep -c . <<<"$out")" 4 "folded goes to standard output"
like "$out" '^app;main;parse;lex 2500$' "a stack with its weight"
unlike "$out" '_\[' "and no marks that nobody asked for"
if type -P go >/dev/null; then
	like "$(go tool pprof -top out.pprof 2>&1)" "lex" "go tool pprof reads it"
else
	skip "go is not installed" "go tool pprof reads it"
fi
exits 1 "no tracepoints" "$SONDE" export --to perfetto one.data -o out.trace
like "$err" "no tracepoints" "is said"
[ ! -e out.trace ]
ok $? "and no file is left"
exits 129 "a format that is not there" "$SONDE" export --to speedscop one.data
like "$err" "did you mean 'speedscope'" "the closest is named"
exits 129 "no format" "$SONDE" export one.data
exits 1 "no recording" "$SONDE" export --to pprof -i none.data
exits 0 "JSON" "$SONDE" export --to pprof one.data --kallsyms names -o out.pb.gz --json
is "$(python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["format"], d["samples"])' <<<"$out")" "pprof 5" "says what was made"

done_testing
