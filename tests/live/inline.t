#!/usr/bin/env bash
# Inlined functions in script and report, as perf 6.1 shows them (it runs addr2line for them); -F srcline; --no-inline.
# where: host
# needs: perf_events
# timeout: 300
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde perf

cd "$SONDE_TMP" || exit 1
export HOME=$SONDE_TMP XDG_CACHE_HOME=$SONDE_TMP/cache
unset SONDE_CACHE
gcc -O2 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -o loop "$SONDE_SRC/tests/live/inline_loop.c" ||
	{ ok 1 "the program is built"; done_testing; exit; }
perf_record() { # perf 6.1 sometimes aborts beside other recorders
	local i
	for i in 1 2 3 4 5; do
		perf record -q "$@" >/dev/null 2>&1 && return 0
	done
	return 1
}
perf_record -F 499 --call-graph dwarf,4096 -e cpu-clock:u -o dwarf.data ./loop 180000 >/dev/null
perf_record -F 499 -g -e cpu-clock:u -o fp.data ./loop 180000 >/dev/null

# perf 6.1 calls __libc_start_main inlined where debug file and symbol do not agree in its name, and loses the folder's header there.
without_start() { grep -v -e '__libc_start' -e 'libc[-_]start'; }

for how in "" "--no-inline" "-F +srcline" "-F +srcline --full-source-path"; do
	# shellcheck disable=SC2086
	perf script -i dwarf.data $how 2>/dev/null | without_start >theirs
	# shellcheck disable=SC2086
	"$SONDE" script -i dwarf.data $how 2>ours.err | without_start >ours
	sed -i -e 's/^  :0$/  ??:0/' theirs # of a place without lines it says one or the other
	cmp -s ours theirs && [ -s ours ]
	ok $? "script $how: the same bytes as perf's ($(grep -c inlined ours) inlined frames of $(grep -c '^	' ours))" ||
		diag "$(diff theirs ours | head -6)"
done
grep -q 'mix+0x[0-9a-f]* (inlined)$' ours || grep -q 'inlined' ours
ok $? "there are inlined frames among them"

perf report --stdio -i dwarf.data -g caller --no-children --sort comm,sym 2>/dev/null | grep -v '^#' | without_start >theirs
"$SONDE" report --stdio -i dwarf.data -g caller --no-children --sort comm,sym 2>/dev/null | grep -v '^#' | without_start >ours
diff <(sed 's/^[ |]*//; s/-*[0-9.]*%-*//' theirs | sort -u) <(sed 's/^[ |]*//; s/-*[0-9.]*%-*//' ours | sort -u) >differ
ok $? "report: the same frames in the call graphs" || diag "$(head -6 differ)"

# Frame pointers: perf 6.1 leaves inlined functions out, later ones show them; a caller is asked about its call, not what follows it.
like "$("$SONDE" script -i fp.data -F +srcline 2>/dev/null | head -40)" 'middle\+0x[0-9a-f]+
  inline_loop\.c:26 \(inlined\)' "a caller's line is that of the call"
unlike "$("$SONDE" script --no-inline -i fp.data 2>/dev/null)" 'inlined' "script --no-inline leaves them out"
like "$("$SONDE" report --stdio -g none -i fp.data 2>/dev/null)" '\[\.\] middle \(inlined\)' "report has rows for them"
unlike "$("$SONDE" report --stdio --no-inline -i fp.data 2>/dev/null)" 'inlined' "report --no-inline leaves them out"

# What was found out is kept; the second time nothing is opened, and the text is the same.
"$SONDE" report --stdio -i fp.data >first 2>&1
mv loop gone
"$SONDE" report --stdio -i fp.data >second 2>&1
cmp -s first second
ok $? "the second report needs no program"
[ -n "$(find cache -name '*-*' -type f)" ]
ok $? "answers are kept below the cache folder"
for f in cache/sonde/names/*; do head -c 3000 /dev/urandom >"$f"; done
mv gone loop
"$SONDE" report --stdio -i fp.data >third 2>&1
cmp -s first third
ok $? "rubbish in the cache is not believed"
# Split DWARF: the same functions out of the .dwo; without it that is said, with the file that is missing, and nothing of it is kept.
gcc -O2 -g -gsplit-dwarf -fno-omit-frame-pointer -fno-optimize-sibling-calls -o split "$SONDE_SRC/tests/live/inline_loop.c"
dwo=$(echo ./*.dwo)
perf_record -F 499 -g -e cpu-clock:u -o split.data ./split 180000 >/dev/null
mv "$dwo" kept
out=$("$SONDE" report --stdio -g none -i split.data 2>&1)
like "$out" "split keeps its debug information in other files \\(split DWARF\\): .*$(basename "$dwo") was not found, nor .*split\\.dwp: inlined functions are missing" "split DWARF: what is missing is said"
unlike "$out" '\(inlined\)' "... and there are no inlined functions then"
mv kept "$dwo"
out=$("$SONDE" report --stdio -g none -i split.data 2>&1)
like "$out" '\[\.\] middle \(inlined\)' "split DWARF: inlined functions"
unlike "$out" 'not found' "... and nothing is said"
# Exports carry the same stacks, with lines and marks of what is inlined.
"$SONDE" export --to folded --kinds -i fp.data 2>/dev/null | sed 's/_\[i\]/ (inlined)/g; s/_\[[kj]\]//g; s/^\([^;]*\);/\1 0;/; s/^\(.*\) \([0-9]*\)$/\2 \1/' | sort >want
for format in pprof speedscope firefox; do
	"$SONDE" export --to $format -i fp.data -o out.$format 2>/dev/null
	python3 "$SONDE_SRC/tests/cli/export_read.py" $format out.$format | sed 's/^\([0-9]*\) [0-9]* \([^;]*\) [0-9]*;/\1 \2 0;/' | sort >got
	cmp -s want got && grep -q 'middle (inlined)' got
	ok $? "export --to $format: the same stacks, inlined functions marked" || diag "$(diff want got | head -6)"
	like "$(python3 "$SONDE_SRC/tests/cli/export_read.py" $format out.$format lines)" 'middle \(inlined\) .*inline_loop\.c:[0-9]+' "... and lines"
done
like "$("$SONDE" export --to folded --lines --kinds -i fp.data 2>/dev/null)" ';middle [^;]*inline_loop\.c:[0-9]+_\[i\]' "folded has them where asked for"

done_testing
