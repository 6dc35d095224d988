#!/usr/bin/env bash
# where: host
# needs: root
# what --push: a receiver that decodes what comes, refuses some of it, never answers, or is not there. Every sample is taken or counted as lost.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde python3
cd "$SONDE_TMP" || exit 1
ip link set lo up 2>/dev/null
cat >receive.py <<'END'
"""Answers requests with the statuses that are named, the last one for all others; 0: never. Writes what it took, a line a sample."""
import http.server, struct, sys

def varint(b, at):
    v = shift = 0
    while True:
        v |= (b[at] & 127) << shift
        shift += 7
        at += 1
        if not b[at - 1] & 128:
            return v, at

def unsnap(b):
    want, at = varint(b, 0)
    out = b""
    while at < len(b):
        tag = b[at]
        at += 1
        assert tag & 3 == 0, "a literal"
        n = tag >> 2
        if n >= 60:
            extra = n - 59
            n = int.from_bytes(b[at:at + extra], "little")
            at += extra
        out += b[at:at + n + 1]
        at += n + 1
    assert len(out) == want
    return out

def fields(b):
    at = 0
    while at < len(b):
        tag, at = varint(b, at)
        if tag & 7 == 2:
            n, at = varint(b, at)
            yield tag >> 3, b[at:at + n]
            at += n
        elif tag & 7 == 1:
            yield tag >> 3, struct.unpack("<d", b[at:at + 8])[0]
            at += 8
        else:
            v, at = varint(b, at)
            yield tag >> 3, v

class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        global number
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status = statuses[min(number, len(statuses) - 1)]
        number += 1
        if not status:
            self.rfile.read(1)  # until the other end gives up
            return
        assert self.path == "/api/v1/write" and self.headers["Content-Encoding"] == "snappy"
        for _, series in fields(unsnap(body)):
            labels, samples = [], []
            for number_, value in fields(series):
                part = list(fields(value))
                (labels if number_ == 1 else samples).append([v for _, v in part])
            names = [n.decode() for n, _ in labels]
            assert names == sorted(names)
            if status == 200:
                for value, ms in samples:
                    print(*(f"{n.decode()}={v.decode()}" for n, v in labels), value, ms, file=out, flush=True)
        self.send_response(status)
        self.end_headers()
    def log_message(self, *_):
        pass

statuses, number, out = [int(s) for s in sys.argv[1:]], 0, open("taken", "w")
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, file=open("port.new", "w"), flush=True)
import os
os.rename("port.new", "port")
server.serve_forever()
END
receiver=
trap 'kill -9 $receiver 2>/dev/null; rm -rf "$SONDE_TMP"' EXIT
receive() {
	[ -z "$receiver" ] || kill $receiver
	rm -f port
	python3 receive.py "$@" 2>receiver.txt &
	receiver=$!
	wait_until test -e port
	url=http://127.0.0.1:$(cat port)/api/v1/write
}
field() { python3 -c 'import json,sys; print(json.load(open("result.json"))[sys.argv[1]])' "$1"; }

receive 200
"$SONDE" what --push "$url" -y -p -C 0 -c --json 0.2 3 >result.json 2>err.txt
ok $? "three intervals are pushed" || diag "$(cat err.txt receiver.txt)"
is "$(field samples) $(field lost)" "$(wc -l <taken) 0" "as many samples as were received, and none lost"
is "$(grep -c '^__name__=sonde_sys_switches_total ' taken)" 3 "one of each interval"
like "$(head -1 taken)" "^__name__=sonde_[a-z_]+ instance=$(hostname) job=sonde " "labels, sorted"
is "$(grep -c '^__name__=sonde_cpu_user_percent .* name=0 ' taken)" 3 "the device is a label"
awk '$1 ~ /switches_total/ { if (last && ($4 < last || $5 <= when)) exit 1; last = $4; when = $5 }' taken
ok $? "totals and times grow"

# Refused for now: the same samples come again. Refused for good: they are lost.
receive 503 503 200
"$SONDE" what --push "$url" -p --json 0.2 3 >result.json 2>err.txt
is "$? $(field lost) $(grep -c forks_total taken)" "0 0 3" "what is refused with 503 is sent again" || diag "$(cat err.txt receiver.txt)"
is "$(field refusals)" 2 "refusals are counted"
receive 400 200
"$SONDE" what --push "$url" -p --json 0.2 3 >result.json 2>err.txt
is "$? $(field lost) $(field samples) $(grep -c forks_total taken)" "1 3 6 2" "what is refused with 400 is lost, and said" || diag "$(cat err.txt receiver.txt)"
like "$(cat err.txt)" "did not take 3 samples" "in words, too"

# Nobody waits for a server that never answers, or is not there.
receive 0
"$SONDE" what --push "$url" -p --json 0.05 3 >result.json 2>err.txt
is "$? $(field samples) $(field lost)" "1 0 9" "a server that never answers holds nothing up"
kill $receiver
wait $receiver 2>/dev/null
receiver=
"$SONDE" what --push "$url" -p --json 0.05 2 >result.json 2>err.txt
is "$? $(field lost)" "1 6" "a server that is not there"
like "$(cat err.txt)" "6 samples: Connection refused" "says why"
exits 129 "no URL" "$SONDE" what --push nonsense 0.1 1
exits 129 "HTTPS is not pretended" "$SONDE" what --push https://127.0.0.1/ 0.1 1
like "$err" "HTTPS is not supported" "which is said"
exits 129 "not with --listen" "$SONDE" what --push "$url" --listen 127.0.0.1:0 0.1 1
done_testing
