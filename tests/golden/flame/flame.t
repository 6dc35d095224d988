#!/usr/bin/env bash
# What `flame` makes of known samples: folded text, picture, and the bytes inside of the page, read by another reader.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde python3
gen=$(dirname "$SONDE")/tests/stacks_gen
read_page() { python3 "$SONDE_SRC/tests/golden/flame/read_page.py" "$@"; }
cd "$SONDE_TMP" || exit 1
cat >one.txt <<'END'
0 app 7 7 1000 main;parse;lex
0.5 app 7 7 1000 main;parse;lex
1 app 7 7 1000 main;parse
2 app 7 8 3000 main;<b>&"x
2.5 other 9 9 1000 @;main;parse;lex
3 app 7 7 1000 main;parse;lex
4 app 7 7 500 -
END
"$gen" one.data names <one.txt
exits 0 "folded" "$SONDE" flame --folded one.data --kallsyms names
is "$(sort <<<"$out")" 'app;[app] 500
app;main;<b>&"x 3000
app;main;parse 1000
app;main;parse;lex 3000
other;[app];main;parse;lex 1000' "folded text is weighted by period"
exits 0 "folded, samples" "$SONDE" flame --folded --samples one.data --kallsyms names
is "$(awk '{s += $NF} END {print s}' <<<"$out")" 7 "or counts samples"

exits 0 "a page" "$SONDE" flame one.data --kallsyms names -o one.html --title 'a <b> & "c"'
like "$err" "$(realpath one.html): 7 samples, 0 lost" "says where it is and what is in it"
is "$(read_page one.html)" 'app-7/7;[app] 0 2000 1 500
app-7/7;main;parse 0 500 1 1000
app-7/7;main;parse;lex 0 0 1 1000
app-7/7;main;parse;lex 0 1500 1 1000
app-7/7;main;parse;lex 0 250 1 1000
app-7/8;main;<b>&"x 0 1000 1 3000
other-9/9;[app];main;parse;lex 0 1250 1 1000' "the page holds every sample: stack, time, weight"
facts=$(read_page --facts one.html)
like "$facts" '^bucket_ns 2000$' "times to two microseconds here"
like "$facts" '^host testhost$' "the host"
like "$facts" '^without 1$' "a sample without a stack is told"
is "$(grep -c '<title>a &lt;b&gt; &amp; &quot;c&quot;</title>' one.html)" 1 "the title is escaped"
is "$(grep -ci '&"x' one.html)" 0 "names do not stand in the page as text"
is "$(grep -cE '(src|href)="?(http|//)' one.html)" 0 "nothing in it leads elsewhere"

# Two recordings.
sed 's/1000 main;parse;lex/9000 main;parse;lex/; s/<b>&"x/fresh/' one.txt >two.txt
"$gen" two.data names <two.txt
exits 0 "a difference" "$SONDE" flame one.data two.data --kallsyms names -o diff.html
is "$(read_page diff.html | grep -E 'fresh|<b>|parse;lex')" 'app;main;<b>&"x 0 0 1 3000
app;main;fresh 1 1 1 3000
app;main;parse;lex 0 0 3 3000
app;main;parse;lex 1 1 3 27000
other;[app];main;parse;lex 0 0 1 1000
other;[app];main;parse;lex 1 1 1 1000' "both sides by name of the task"

# More than fits: light branches are joined, nothing is lost.
python3 -c '
for i in range(300):
    print(i, "app", 7, 7, 1000 + i, f"main;f{i % 7};g{i}")' >many.txt
"$gen" many.data many.names <many.txt
exits 0 "a limit" "$SONDE" flame many.data --kallsyms many.names -o many.html --max-frames 100
read_page many.html >got
is "$(awk '{s += $NF; n += $(NF - 1)} END {print n, s}' got)" "300 344850" "all weight is still there"
like "$(cat got)" 'small branches, merged' "what was joined says so"
[ "$(awk '{print $1}' got | sort -u | wc -l)" -le 110 ]
ok $? "and there are no more frames than that"
like "$(read_page --facts many.html)" '^joined [1-9]' "the page tells how many"
like "$err" "300 samples, 0 lost, 308 frames \\([0-9]+ small ones merged\\)" "of how many"
exits 0 "no limit" "$SONDE" flame many.data --kallsyms many.names -o all.html
is "$(comm -23 <(grep -v 'small branches' got | sort) <(read_page all.html | sort))" "" "stacks that are left are as they were"

# What is written is what the name says.
exits 0 "-o NAME.svg" "$SONDE" flame one.data --kallsyms names -o named.svg
is "$(head -c 4 named.svg)" "<svg" "is a picture"
exits 1 "a file that is no recording, and no program" "$SONDE" flame one.txt
like "$err" "'one.txt' is neither a perf.data nor a trace.dat" "is not taken for a command"

# The picture.
exits 0 "a picture" "$SONDE" flame one.data --kallsyms names --svg -o one.svg
python3 - one.svg <<'END'
import sys, xml.etree.ElementTree as tree
svg = tree.parse(sys.argv[1]).getroot()
ns = "{http://www.w3.org/2000/svg}"
titles = {g.find(ns + "title").text: float(g.find(ns + "rect").get("width")) for g in svg.iter(ns + "g")}
assert any(t.startswith('<b>&"x') for t in titles), titles
wide = next(w for t, w in titles.items() if t.startswith("app ("))
assert abs(wide - 1180 * 7500 / 8500) < 0.1, titles
assert not list(svg.iter(ns + "script"))
END
ok $? "is XML, says names as they are, and its widths are right"

# In characters.
exits 0 "a flame graph as text" "$SONDE" flame one.data --kallsyms names --term
is "$(head -4 <<<"$out" | tr -s ' ')" '|all
|app |other
|main |[app] |[app]
|parse |<b>&"x |main' "boxes below each other, the heaviest first"

# What is shown first, and under which title.
exits 0 "a recording of a command" "$SONDE" flame "$SONDE_SRC/tests/data/perf/arm64-leaf.data" --symfs none -o leaf.html
like "$(cat leaf.html)" '<title>./sonde workload leaf 0.3</title>' "the title is the command, not the recorder's own line"
traces=$SONDE_SRC/tests/data/trace
exits 0 "a trace of calls and events, as text" "$SONDE" flame --term "$traces/6.1-graph_events.dat"
like "$out" '\|vfs_read' "begins with the heaviest event: the calls by their time"
exits 0 "the same as a page" "$SONDE" flame "$traces/6.1-graph_events.dat" -o trace.html
like "$(read_page --facts trace.html)" '^events function_graph ' "so does the page"
exits 0 "a trace without stacks" "$SONDE" flame "$traces/6.1-events_v6.dat" -o trace.html
like "$err" 'no call chains: functions are shown without their callers' "says what is missing, and not how high the graph is"
exits 0 "recordings of different things" "$SONDE" flame one.data "$traces/6.1-graph_events.dat" --kallsyms names -o mixed.html
like "$err" 'warning: the recordings have no event in common' "are not compared in silence"
like "$err" 'one.data has cpu-clock, .*graph_events.dat has function_graph, .* and [0-9]+ more' "and it is said what they have"
exits 0 "recordings of the same" "$SONDE" flame one.data two.data --kallsyms names -o same.html
unlike "$err" 'in common' "are compared"

# Bad input.
exits 1 "no such recording" "$SONDE" flame -i none.data
like "$err" "none.data" "is named"
exits 129 "three recordings" "$SONDE" flame one.data two.data many.data
exits 129 "two forms" "$SONDE" flame --svg --folded one.data
head -c 300 one.data >cut.data
"$SONDE" flame cut.data -o cut.html >/dev/null 2>cut.err
isnt "$(cat cut.err)" "" "a damaged recording is complained about"
[ ! -e cut.html ]
ok $? "and leaves no page behind"
exits 1 "a folder that is not there" "$SONDE" flame one.data --kallsyms names -o /nonexistent/x.html
exits 0 "JSON" "$SONDE" flame one.data --kallsyms names -o j.html --json
is "$(python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["file"], d["samples"], d["lost"])' <<<"$out")" "j.html 7 0" "says what was made"
SSH_CONNECTION=x exits 0 "--open over ssh" "$SONDE" flame one.data --kallsyms names -o j.html --open
like "$err" "ssh session" "does not try a browser"
done_testing
