#!/usr/bin/env bash
# speedscope, as npm has it, opens what `sonde export` writes: it reads every stack with its weight, and slices inside each other.
# timeout: 240
cache=${SONDE_CACHE:-$HOME/.cache/sonde}
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde python3
[ -n "$(type -P chromium chromium-browser google-chrome)" ] || skip_all "chromium is not installed (tools/deps check)"
gen=$(dirname "$SONDE")/tests/stacks_gen
cd "$SONDE_TMP" || exit 1

# One version, so that nothing changes by itself; kept outside of the checkout.
version=1.25.0
sum=7297fd1d64d97f58a32d7049ae4f3b55eff9e2d9d8c7aae57f48144e1be7de8a24ea1eb784b5d539088c7f8e0f4fe5e8579d3770f7ef7e24f980fe6fa23a7a02
release=$cache/speedscope-$version/dist/release
if [ ! -e "$release/index.html" ]; then
	type -P npm >/dev/null || skip_all "speedscope is not in $cache, and there is no npm to fetch it"
	timeout 90 npm pack --loglevel=error --fetch-retries=1 --fetch-timeout=20000 "speedscope@$version" >npm.log 2>&1 || skip_all "speedscope is not in $cache, and npm cannot fetch it: $(tail -1 npm.log)"
	echo "$sum  speedscope-$version.tgz" | sha512sum --status -c || skip_all "npm's speedscope $version is not what it was"
	mkdir -p "$cache" && tar xzf "speedscope-$version.tgz"
	mv -T package "$cache/speedscope-$version" 2>/dev/null # another run may have been faster
fi

cat >one.txt <<'END'
0 app 7 7 1000 main;parse;lex
1 app 7 8 3000 main;na"me\é<x>
0.5 app 7 7 1500 main;parse;lex
1 app 7 7 1000 main;parse
2.5 other 9 9 1000 @;main;parse;lex
END
"$gen" one.data names <one.txt
status=0
"$SONDE" export --to pprof one.data --kallsyms names -o one.pb.gz 2>/dev/null || status=1
"$SONDE" export --to speedscope one.data --kallsyms names -o one.speedscope.json 2>/dev/null || status=1
"$SONDE" export --to folded one.data --kallsyms names -o one.collapsedstack.txt 2>/dev/null || status=1
"$SONDE" export --to firefox one.data --kallsyms names -o one.firefox.json 2>/dev/null || status=1
traces="6.1-date 6.1-graph_events 6.1-marker arm64-graph_depth3 rt-events"
for trace in $traces; do
	"$SONDE" export --to chrome -i "$SONDE_SRC/tests/data/trace/$trace.dat" -o "$trace.json" 2>/dev/null || status=1
done
ok $status "files are made"
# shellcheck disable=SC2086
python3 "$SONDE_SRC/tests/browser/speedscope.py" "$release" one.pb.gz one.speedscope.json one.collapsedstack.txt one.firefox.json ${traces// /.json }.json
ok $? "speedscope opens them"
is "$(cat one.speedscope.json.seen)" 'app 7: 1000 main;parse
app 7: 2500 main;parse;lex
app 8: 3000 main;na"me\é<x>
other 9: 1000 [app];main;parse;lex' "speedscope's own format: threads, stacks, weights"
is "$(cat one.pb.gz.seen)" 'one.pb.gz: 1000 [app];main;parse;lex
one.pb.gz: 3000 main;na"me\é<x>
one.pb.gz: 1000 main;parse
one.pb.gz: 2500 main;parse;lex' "pprof: stacks and weights"
is "$(cat one.collapsedstack.txt.seen)" 'one.collapsedstack.txt: 3000 app;main;na"me\é<x>
one.collapsedstack.txt: 1000 app;main;parse
one.collapsedstack.txt: 2500 app;main;parse;lex
one.collapsedstack.txt: 1000 other;[app];main;parse;lex' "folded: stacks and weights"
is "$(cat one.firefox.json.seen)" "refused" "the Firefox Profiler's format is none of speedscope's: it says so and reads nothing else into it"
for trace in $traces; do
	is "$(grep '^warning' "$trace.json.seen" | head -3)" "" "$trace: nothing ends that is not on top, nothing stays open"
	# The time in which anything is open on a track, once from our file and once from what speedscope made of it.
	is "$(python3 - "$trace.json" <<'END'
import collections, json, re, sys
tracks, seen = collections.defaultdict(list), collections.Counter()
for e in json.load(open(sys.argv[1]))["traceEvents"]:
    if e["ph"] == "X":
        tracks[f"{e['pid']} {e['tid']}"].append((e["ts"], e["ts"] + e["dur"]))
for line in open(sys.argv[1] + ".seen"):
    pid, tid, weight = re.search(r"\(pid (\d+)(?:\), .*? \(|, )tid (-?\d+)\): (\S+)", line).groups()
    seen[f"{pid} {tid}"] += float(weight)
for track, slices in tracks.items():
    busy = end = 0
    for a, b in sorted(slices):
        busy += max(0, b - max(a, end))
        end = max(end, b)
    if busy != seen[track]:
        print("track", track, "has", busy, "seen", seen[track])
print(len(tracks) > 0)
END
)" True "$trace: as much time on every track"
done
done_testing
