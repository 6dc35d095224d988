#!/usr/bin/env bash
# where: host
# needs: root bpf
# run --listen: maps of a script that runs, as OpenMetrics on loopback.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root bpf tracefs
cd "$SONDE_TMP" || exit 1

# Asks for a URL with headers; the status comes first. Lines of the page have to be what the format allows.
cat >ask.py <<'END'
import re, sys, urllib.error, urllib.request
url, headers = sys.argv[1], dict(h.split(": ", 1) for h in sys.argv[2:])
try:
    answer = urllib.request.build_opener(urllib.request.ProxyHandler({})).open(urllib.request.Request(url, headers=headers), timeout=60)
except urllib.error.HTTPError as e:
    answer = e
body = answer.read().decode("utf-8")
print(answer.status, answer.headers["Content-Type"])
print(body, end="")
if answer.status == 200:
    label = r'[a-z_][a-z0-9_]*="(?:[^"\\\n]|\\[n"\\])*"'
    line = re.compile(r'(sonde_[a-z0-9_]+)(?:\{' + label + '(?:,' + label + r')*\})? -?[0-9]+\Z')
    family, seen = None, set()
    for text in body.split("\n")[:-2]:
        if text.startswith("# TYPE "):
            family = text.split()[2]
            assert family not in seen, "family twice: " + text
            seen.add(family)
            continue
        found = line.match(text)
        assert found and re.fullmatch(re.escape(family) + "(_total|_bucket|_count|_sum)?", found.group(1)), text
    assert body.endswith("\n# EOF\n")
END
ask() { python3 ask.py "$@" 2>&1; }

printf 'a-token-of-sixteen\n' >token
"$SONDE" run -q --listen 127.0.0.1:0 --token-file token -e 'BEGIN { @g = -5; @c["a\"b\\", 2] = count(); @s = stats(3); @h["x\ny"] = hist(5); @h["x\ny"] = hist(70); @m = max(7); @t = "text"; @ = sum((int64)4); } interval:ms:10 { @ticks = count(); }' >out.txt 2>err.txt &
pid=$!
wait_until grep -q . err.txt
url=$(sed -n 's/^serving //p' err.txt)
if grep -q 'libmicrohttpd' err.txt; then
	skip "libmicrohttpd is not installed" "maps as metrics"
	done_testing
fi
[ -n "$url" ]
ok $? "it serves" || { sed 's/^/# /' err.txt; done_testing; }
like "$url" '^http://127\.0\.0\.1:[0-9]+/metrics$' "the URL is printed, without a token that was chosen"
ticks() { ask "$url?token=a-token-of-sixteen" | sed -n 's/^sonde_map_ticks_total //p'; }
first=$(ticks)
more() { [ "$(ticks)" -gt "${first:-0}" ]; }
wait_until more
ok $? "counters grow from page to page while the script runs"
ask "$url" "Authorization: Bearer a-token-of-sixteen" >page.txt
is "$(head -1 page.txt)" "200 application/openmetrics-text; version=1.0.0; charset=utf-8" "a page for whoever has the token, well-formed" ||
	sed 's/^/# /' page.txt
is "$(grep -v -e ticks -e ^200 page.txt)" '# TYPE sonde_map gauge
sonde_map 4
# TYPE sonde_map_c counter
sonde_map_c_total{key0="a\"b\\",key1="2"} 1
# TYPE sonde_map_g gauge
sonde_map_g -5
# TYPE sonde_map_h histogram
sonde_map_h_bucket{key="x\ny",le="-1"} 0
sonde_map_h_bucket{key="x\ny",le="0"} 0
sonde_map_h_bucket{key="x\ny",le="1"} 0
sonde_map_h_bucket{key="x\ny",le="3"} 0
sonde_map_h_bucket{key="x\ny",le="7"} 1
sonde_map_h_bucket{key="x\ny",le="15"} 1
sonde_map_h_bucket{key="x\ny",le="31"} 1
sonde_map_h_bucket{key="x\ny",le="63"} 1
sonde_map_h_bucket{key="x\ny",le="127"} 2
sonde_map_h_bucket{key="x\ny",le="+Inf"} 2
sonde_map_h_count{key="x\ny"} 2
# TYPE sonde_map_m gauge
sonde_map_m 7
# TYPE sonde_map_s summary
sonde_map_s_count 1
sonde_map_s_sum 3
# EOF' "counters, gauges, histograms and summaries; keys are labels"
is "$(ask "$url" | head -1)" "403 text/plain; charset=utf-8" "nothing without it"
is "$(ask "$url?token=a-token-of-sixteen" "Origin: http://evil.example" | head -1)" "403 text/plain; charset=utf-8" "nor for other sites"
kill -INT $pid
wait $pid
is $? 130 "Ctrl-C ends it"
like "$(cat out.txt)" '^@ticks: [1-9]' "and maps are printed as ever"

"$SONDE" run -q --listen 0.0.0.0:0 -e 'BEGIN { }' >out.txt 2>err.txt
is $? 1 "other addresses than loopback are refused"
like "$(cat err.txt)" "only on loopback" "with the reason"
"$SONDE" run -q --listen 127.0.0.1:0 --token-file /nonexistent -e 'BEGIN { }' >out.txt 2>err.txt
is $? 1 "a token file that is not there"
done_testing
