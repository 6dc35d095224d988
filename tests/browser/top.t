#!/usr/bin/env bash
# The page of `top --listen` in a headless browser: a flame graph of planted functions, ranges of time, zoom, search, processes; it asks nobody
# but us and takes names for text. Wrong tokens, foreign names and origins get nothing, and a client that never reads holds up nobody.
# needs: root
# timeout: 300
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events python3
[ -n "$(type -P chromium chromium-browser google-chrome)" ] || skip_all "chromium is not installed (tools/deps check)"
cd "$SONDE_TMP" || exit 1
# A process whose name wants to be markup, and one whose functions are known.
cp "$SONDE" '<img src=x>'
"./<img src=x>" workload leaf 1000 >/dev/null 2>&1 &
load=$!
trap 'kill -9 $load $pid 2>/dev/null; rm -rf "$SONDE_TMP"' EXIT
burn 50 $load
"$SONDE" top --listen 127.0.0.1:0 -e cpu-clock -F 499 -d 0.3 -p $load >out.txt 2>err.txt &
pid=$!
has_url() { grep -q '^serving ' err.txt || grep -q libmicrohttpd err.txt || is_gone $pid; }
wait_until has_url
grep -q libmicrohttpd err.txt && skip_all "libmicrohttpd is not installed"
python3 "$SONDE_SRC/tests/browser/top_page.py" "$(sed -n 's/^serving //p' err.txt)" $pid $load
