#!/usr/bin/env bash
# where: 6.1
# needs: root
# timeout: 200
# Rows of the acceptance matrix about live printing of a probe on a function of the kernel: in a guest, where there may be some.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events tracefs guest kprobes python3
cd "$SONDE_TMP" || exit 1
mkdir bin && ln -s "$SONDE" bin/perf
export PATH=$PWD/bin:$PATH

# A program that sends what is asked for through the loopback device, size by size.
cat >sender.py <<'END'
import socket, sys
server = socket.create_server(("127.0.0.1", 0))
a = socket.create_connection(server.getsockname())
b, _ = server.accept()
open("/proc/self/comm", "w").write("sender")
for size in sys.stdin:
    a.sendall(bytes(int(size)))
    b.recv(1 << 20)
END
ip link set lo up 2>/dev/null || python3 -c '
import fcntl, socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
fcntl.ioctl(s, 0x8914, struct.pack("16sh14x", b"lo", 0x41))'
exits 0 "the probe of the row before" perf probe --add 'tcp_sendmsg size'
mkfifo sizes
python3 sender.py <sizes & sender=$!
exec 3>sizes
bin/perf trace -e probe:tcp_sendmsg -a >live.out 2>live 3>&- & tracer=$!
trap 'kill -9 $tracer $sender 2>/dev/null; rm -rf "$SONDE_TMP"' EXIT
wait_until counts_events $tracer
line() { printf '^ +[0-9]+\\.[0-9]{3} (sender|python3)/%d probe:tcp_sendmsg\\(.*size(_u64)?: %s\\)$' $sender "$1"; }
sent() { echo 4242 >&3; grep -qE "$(line '(4242|0x1092)')" live; }
wait_until sent
ok $? "S0-047: a line for each call, with its size" || diag "$(head -5 live) $(cat live.out)"
echo 1234 >&3
wait_until grep -qE "$(line '(1234|0x4d2)')" live
ok $? "S0-047: while it runs"
before=$(grep -cE "$(line '(777|0x309)')" live)
for _ in 1 2 3 4 5; do echo 777 >&3; done
five() { [ "$(grep -cE "$(line '(777|0x309)')" live)" -ge 5 ]; }
wait_until five
is "$before $(grep -cE "$(line '(777|0x309)')" live)" "0 5" "S0-047: as many lines as calls"
kill -0 $tracer
ok $? "S0-047: of the whole system, until Ctrl-C"
like "$(cat live)" " sender/$sender probe:tcp_sendmsg\\(" "S0-046: the process by its name and number"
# Another process, which the trace has not seen before.
echo 99 >other
python3 sender.py <other
wait_until grep -qE ' sender/[0-9]+ probe:tcp_sendmsg\(.*size(_u64)?: (99|0x63)\)$' live
ok $? "S0-046: each process that calls it"
isnt "$(grep -oE 'sender/[0-9]+ probe.*(99|0x63)\)$' live | grep -oE '[0-9]+' | head -1)" "$sender" "S0-046: by its own number"
kill -INT $tracer
wait $tracer
is $? 130 "S0-047: Ctrl-C ends it"
kill $sender
wait $sender 2>/dev/null
exec 3>&-
is "$(grep -vE "^perf trace: |^  hint: " live | grep -vcE "^ *[0-9]+\.[0-9]{3} [^/]+.*/[0-9]+ probe:tcp_sendmsg\(.*\)\$")" 0 "S0-046: command and number are on every line"
exits 0 "and the probe can be removed" perf probe --del probe:tcp_sendmsg
done_testing
