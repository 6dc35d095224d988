#!/usr/bin/env bash
# where: host
# needs: root
# what --listen: columns as OpenMetrics on loopback, for whoever has the token. session/test_http has Host, Origin and clients that never read.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde python3
cd "$SONDE_TMP" || exit 1
cat >ask.py <<'END'
import sys, urllib.error, urllib.request
url, headers = sys.argv[1], dict(h.split(": ", 1) for h in sys.argv[2:])
try:
    answer = urllib.request.build_opener(urllib.request.ProxyHandler({})).open(urllib.request.Request(url, headers=headers), timeout=60)
except urllib.error.HTTPError as e:
    answer = e
print(answer.status, answer.headers["Content-Type"])
print(answer.read().decode("utf-8"), end="")
END
ask() { python3 ask.py "$@" 2>&1; }

printf 'a-token-of-sixteen\n' >token
"$SONDE" what --listen 127.0.0.1:0 --token-file token -y -p -n 0.1 >out.txt 2>err.txt &
pid=$!
wait_until grep -q . err.txt
if grep -q libmicrohttpd err.txt; then
	skip "libmicrohttpd is not installed" "columns as metrics"
	done_testing
	exit
fi
url=$(sed -n 's/^serving //p' err.txt)
like "$url" '^http://127\.0\.0\.1:[0-9]+/$' "the URL is printed, without a token that was chosen"
page=$(ask "$url?token=a-token-of-sixteen")
like "$page" '^200 text/html' "a page for people"
unlike "$page" 'https?://' "which refers to nothing elsewhere"
# The page asks for rows that are newer than those it has.
rows_of() { ask "${url}data?token=a-token-of-sixteen&since=$1&generation=$2" | tail -n +2; }
has_rows() { rows_of 0 -1 | python3 -c 'import json, sys; sys.exit(len(json.load(sys.stdin)["rows"]) < 3)'; }
wait_until has_rows
ok $? "rows for a page"
rows_of 0 -1 >first.json
python3 - <<'END' >since
import json
d = json.load(open("first.json"))
assert all(len(r) == 1 + len(d["columns"]) for r in d["rows"])
print(d["rows"][-1][0], d["generation"])
END
ok $? "each has a value for each column"
rows_of $(cat since) >second.json
python3 - <<'END'
import json
a, b = json.load(open("first.json")), json.load(open("second.json"))
assert "columns" not in b and all(r[0] > a["rows"][-1][0] for r in b["rows"])
END
ok $? "a page that has rows gets only newer ones"
has_processes() { rows_of 0 -1 | python3 -c 'import json, sys; sys.exit(not json.load(sys.stdin)["processes"])'; }
while :; do :; done &
load=$!
wait_until has_processes
ok $? "processes, while somebody asks"
kill $load
like "$(ask "${url}data?token=a-token-of-sixteen&since=x")" '^400 ' "an argument that is no number is refused"
like "$(ask "${url}data")" '^(401|403) ' "no data without the token"
url=${url}metrics
ask "$url" "Authorization: Bearer a-token-of-sixteen" >page.txt
is "$(head -1 page.txt)" "200 application/openmetrics-text; version=1.0.0; charset=utf-8" "a page for whoever has the token"
is "$(tail -1 page.txt)" "# EOF" "it is whole"
switches() { ask "$url?token=a-token-of-sixteen" | sed -n 's/^sonde_sys_switches_total //p'; }
real() { awk '$1 == "ctxt" { print $2 }' /proc/stat; }
first=$(switches)
grown() { local now; now=$(switches); [ "${now:-0}" -gt "${first:-0}" ]; }
wait_until grown
ok $? "counters grow from page to page"
[ -n "$first" ] && [ "$first" -le "$(real)" ]
ok $? "and are the kernel's own"
like "$(ask "$url")" '^(401|403) ' "no page without the token"
like "$(ask "$url?token=a-token-of-sixteeN")" '^(401|403) ' "nor with a wrong one"
if ! needs_or_skip "promtool: the page is well-formed" promtool; then
	sed 1d page.txt | promtool check metrics >lint.txt 2>&1
	unlike "$(cat lint.txt)" 'error|parse' "promtool: the page is well-formed"
fi
kill -INT $pid
wait $pid
ok $? "Ctrl-C ends it"
is "$(cat out.txt)" "" "nothing on standard output"
exits 129 "not with --record" "$SONDE" what --listen 127.0.0.1:0 --record x.data
exits 129 "a token without --listen" "$SONDE" what --token-file token 0.1 1
exits 1 "a token file that is not there" "$SONDE" what --listen 127.0.0.1:0 --token-file nowhere 0.1 1
"$SONDE" what --listen 0.0.0.0:0 0.1 1 >/dev/null 2>err.txt
isnt $? 0 "loopback only"
done_testing
