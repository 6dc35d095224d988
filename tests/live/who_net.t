#!/usr/bin/env bash
# `sonde who`, network bytes: a known number of bytes over TCP and UDP is attributed to who sent and who received them, whatever else goes on.
# where: host 6.1 6.12 arm64
# needs: root
# timeout: 120
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root python3
cd "$SONDE_TMP" || exit 1
unset TMUX
note=$("$SONDE" who -b -n 2 -d 0.1 -p $$ -o PID,RECV/s,SENT/s 2>&1 >first.txt)
case $note in *"network bytes are not known"*) skip_all "$note" ;; esac
like "$(cat first.txt)" '^ +PID +RECV/s +SENT/s *$' "columns"
exits 0 "--net" "$SONDE" who -b --net -n 1 -d 0.1 -p $$
like "$out" '^ +PID +USER +RECV/s +SENT/s +SOCKETS +%CPU +COMMAND *$' "its columns"

cat >net.py <<'END'
import fcntl, os, socket, struct, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
fcntl.ioctl(s, 0x8914, struct.pack("16sH14x", b"lo", 0x49))  # SIOCSIFFLAGS: up
s.close()
listen = socket.create_server(("127.0.0.1", 0))
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(("127.0.0.1", 0))
def wait(name):
    while not os.path.exists(name):
        time.sleep(0.02)
child = os.fork()
if not child:
    wait("go")
    tcp = socket.create_connection(listen.getsockname())
    tcp.sendall(b"x" * 1048576)
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for i in range(100):
        out.sendto(b"y" * 1000, udp.getsockname())
        assert tcp.recv(1) == b"!"  # it was received
    a, b = socket.socketpair()
    a.send(b"z" * 5000)
    b.recv(5000)
    open("sent", "w").close()
    wait("end")
    os._exit(0)
with open("pids.new", "w") as f:
    f.write(f"{os.getpid()} {child}\n")
os.rename("pids.new", "pids")
tcp = listen.accept()[0]
left = 1048576
tcp.recv(1000, socket.MSG_PEEK)
while left:
    left -= len(tcp.recv(min(left, 65536)))
for i in range(100):
    udp.recv(2000)
    tcp.send(b"!")
os.waitpid(child, 0)
END
unshare=
unshare -n true 2>/dev/null && unshare="unshare -n"
$unshare python3 net.py &
net=$!
wait_until test -e pids
read -r receiver sender <pids
"$SONDE" who --json -b -d 0.2 -o PID,RECV/s,SENT/s -p "$receiver,$sender" >who.json 2>who.err &
who=$!
lines() { [ "$(wc -l <who.json)" -ge "$1" ]; }
wait_until lines 2
touch go
wait_until test -e sent
wait_until lines $(($(wc -l <who.json) + 2))
kill -INT $who
wait $who
touch end
wait $net
cat >sums.py <<'END'
import json, sys
sums = {}
for line in open("who.json"):
    table = json.loads(line)
    for t in table["tasks"]:
        for key in ("received", "sent"):
            rate = t.get(f"{key}_kib_per_s")
            if rate is not None:
                sums[t["pid"], key] = sums.get((t["pid"], key), 0) + rate * 1024 * table["interval_ns"] / 1e9
print(*(round(sums.get((int(pid), key), -1)) for pid in sys.argv[1:] for key in ("received", "sent")))
END
is "$(python3 sums.py "$sender" "$receiver")" "100 1148576 1148576 100" "bytes of both, to the byte" || diag "$(tail -2 who.json; cat who.err)"

# Threads have their own.
rm -f go sent end pids
$unshare python3 net.py &
net=$!
wait_until test -e pids
read -r receiver sender <pids
"$SONDE" who --json -b -H -d 0.2 -o PID,RECV/s,SENT/s -p "$receiver,$sender" >who.json 2>who.err &
who=$!
wait_until lines 2
touch go
wait_until test -e sent
wait_until lines $(($(wc -l <who.json) + 2))
kill -INT $who
wait $who
touch end
wait $net
is "$(python3 sums.py "$sender" "$receiver")" "100 1148576 1148576 100" "by thread" || diag "$(tail -2 who.json; cat who.err)"
done_testing
