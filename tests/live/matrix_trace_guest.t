#!/usr/bin/env bash
# where: 6.1 6.12
# needs: root tracefs
# timeout: 200
# Rows of the acceptance matrix about live printing of a probe in the kernel: in a guest.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root tracefs guest kprobes python3
cd "$SONDE_TMP" || exit 1
mkdir bin && ln -s "$SONDE" bin/perf
ip link set lo up 2>/dev/null || ifconfig lo up 2>/dev/null
cat >send.py <<'END'
import socket
a = socket.create_server(("127.0.0.1", 0))
b = socket.create_connection(a.getsockname())
c, _ = a.accept()
for _ in range(3):
    b.sendall(b"x" * 1234)
END
add_probe probe:tcp_sendmsg --add 'tcp_sendmsg size' || skip_all "$reason"
trap 'remove_probes; rm -rf "$SONDE_TMP"' EXIT
./bin/perf trace -e probe:tcp_sendmsg -a >live.out 2>live & tracer=$!
wait_until counts_events $tracer
sent() { python3 send.py && [ "$(grep -c 'size: 1234' live)" -ge 3 ]; }
wait_until sent
ok $? "S0-047: calls of the probed function, system-wide, as they happen" || diag "$(head -5 live)"
like "$(cat live)" '^ +[0-9]+\.[0-9]{3} python3[^/ ]*/[0-9]+ probe:tcp_sendmsg\(__probe_ip: (0x[0-9a-f]+|[0-9]+), size: 1234\)$' "S0-046: with the process and the size of each"
kill -INT $tracer
wait $tracer 2>/dev/null
is $? 130 "S0-047: until Ctrl-C"
done_testing
