#!/usr/bin/env bash
# The page of `what --listen` in a headless browser: it draws, asks nobody but us, survives our end, and takes names for text.
# timeout: 300
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde python3
[ -n "$(type -P chromium chromium-browser google-chrome)" ] || skip_all "chromium is not installed (tools/deps check)"
cd "$SONDE_TMP" || exit 1
# A process whose name wants to be markup.
cp "$(type -P bash)" '<img src=x>'
"./<img src=x>" -c 'while :; do :; done' &
load=$!
"$SONDE" what --listen 127.0.0.1:0 -cdm --psi -C 0,total 0.2 >out.txt 2>err.txt &
pid=$!
trap 'kill -9 $load $pid 2>/dev/null; rm -rf "$SONDE_TMP"' EXIT
wait_until grep -q . err.txt
grep -q libmicrohttpd err.txt && skip_all "libmicrohttpd is not installed"
python3 "$SONDE_SRC/tests/browser/what_page.py" "$(sed -n 's/^serving //p' err.txt)" $pid
