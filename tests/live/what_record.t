#!/usr/bin/env bash
# where: host 6.1
# needs: root
# timeout: 120
# A history of counters: what is recorded is replayed, a change that was planted is found, a recorder that is killed leaves what it had, and the
# files stay small.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root python3
cd "$SONDE_TMP" || exit 1
chmod 755 .

rounds() { "$SONDE" what "./$1" --csv 2>/dev/null | sed 1d | grep -c .; }
has_rounds() { [ "$(rounds "$1")" -ge "$2" ]; }
forks() { awk '$1 == "processes" { print $2 }' /proc/stat; }

# ---- as many forks as there were ----
a=$(forks)
"$SONDE" what --record forks.data -p -y -c 0.05 &
pid=$!
wait_until has_rounds forks.data 2
b=$(forks)
for ((i = 0; i < 100; i++)); do /bin/true; done
c=$(forks)
n=$(rounds forks.data)
wait_until has_rounds forks.data $((n + 2))
kill -INT $pid
wait $pid
ok $? "Ctrl-C ends it"
d=$(forks)
x=$("$SONDE" what ./forks.data --json | python3 -c 'import json,sys
print(round(sum(r["interval_s"] * r["proc"]["forks"] for r in map(json.loads, sys.stdin))))')
[ $((c - b)) -le "$x" ] && [ "$x" -le $((d - a)) ]
ok $? "the forks of all intervals are those that there were" || diag "$((c - b)) <= $x <= $((d - a))"
like "$("$SONDE" what ./forks.data -t | sed -n 1p)" '^----system---- ---procs--- ---system-- --total-cpu-usage--$' "titles as they are live, with the time"
is "$("$SONDE" what ./forks.data 0.1 3 | sed 1,2d | wc -l)" 3 "a count ends a replay, too"
last=$("$SONDE" what ./forks.data --json | tail -1)
is "$("$SONDE" what ./forks.data --json --from -0.001s | tail -1)" "$last" "--from before the end"
at=$(python3 -c 'import json,sys; print(int(json.loads(sys.argv[1])["time"]) - 3600)' "$last")
is "$("$SONDE" what ./forks.data --to "$at" --csv | wc -l)" 0 "--to before the beginning: nothing"
exits 129 "a time that is none" "$SONDE" what ./forks.data --from later
like "$err" "invalid time 'later'" "is named"
if ! needs_or_skip "perf reads it" perf; then
	like "$(command perf stat report -i forks.data 2>&1)" 'proc//forks' "perf stat report reads it"
fi
is "$(stat -c %a forks.data)" 600 "it belongs to its owner alone"

# ---- a change that was planted ----
cat >sockets.py <<'END'
import os, socket, sys, time
def rounds():
    return len(os.popen(f"{os.environ['SONDE']} what ./planted.data --csv 2>/dev/null").read().splitlines()) - 1
def wait(n):
    while rounds() < n:
        time.sleep(0.1)
wait(15)
s = [socket.socket(socket.AF_INET, socket.SOCK_STREAM) for i in range(40)]
for i in s:
    i.bind(("127.0.0.1", 0)); i.listen()
began = time.time()
opened = rounds()
wait(opened + 5)
for i in s:
    i.close()
closed = rounds()
wait(closed + 2 * (closed - opened) + 15) # however slow this is, most of the time there are none
open("times", "w").write(f"{began}")
END
cat >planted.sh <<'END'
python3 -c 'import fcntl, socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
fcntl.ioctl(s, 0x8914, struct.pack("16sH14x", b"lo", 0x49))' # SIOCSIFFLAGS: up
"$SONDE" what --record planted.data --tcp 0.1 &
python3 sockets.py
kill -INT $!
wait
END
if unshare -n true 2>/dev/null; then
	unshare -n bash planted.sh
	"$SONDE" how planted.data --json >how.json
	python3 - how.json times <<'END'
import json, sys
began = float(open(sys.argv[2]).read())
how = json.load(open(sys.argv[1]))
changes = [c for c in how["changes"] if c["column"] == "listen"]
assert len(changes) == 1, changes
c = changes[0]
assert c["usual"] == 0 and c["during"] >= 35, c
# It begins in the interval in which the sockets were opened, and ends before the recording does.
assert c["from"] <= began <= c["to"] < how["to"], (c, began)
END
	ok $? "how: 40 listening sockets, when they were there" || diag "$(cat how.json times)"
	like "$("$SONDE" how planted.data)" '^tcp/listen +0 +(3[5-9]|40)' "how: as text"
else
	skip "no network namespaces here" "how: 40 listening sockets, when they were there"
fi

# ---- killed, full ----
"$SONDE" what --record killed.data -a 0.05 &
pid=$!
wait_until has_rounds killed.data 3
kill -KILL $pid
wait $pid 2>/dev/null
[ "$(rounds killed.data)" -ge 3 ]
ok $? "a recorder that was killed leaves what it had"
"$SONDE" what --record small.data --max-size 30K -f -m --psi --vm 0.01 &
pid=$!
wait_until test -e small.data.old
n=$(stat -c %i small.data)
wait_until eval '[ "$(stat -c %i small.data)" != '"$n"' ]'
kill -INT $pid
wait $pid
size=$(($(stat -c %s small.data) + $(stat -c %s small.data.old)))
[ $size -lt 120000 ]
ok $? "two files of 30 KB, and what one interval and the heads need" || diag "$size bytes"
has_rounds small.data.old 1
ok $? "the older one can be replayed"

exits 1 "a file that is none" "$SONDE" what ./sockets.py
exits 1 "how: a file that is not there" "$SONDE" how nowhere.data
like "$err" "nowhere.data" "is named"
exits 129 "how: no file" "$SONDE" how
"$SONDE" record -q -o samples.data -e cpu-clock -- true 2>/dev/null
exits 1 "how: a recording of something else" "$SONDE" how samples.data
exits 1 "a place that cannot be written" "$SONDE" what --record /proc/no/file 0.1 1
done_testing
