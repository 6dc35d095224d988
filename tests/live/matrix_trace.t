#!/usr/bin/env bash
# where: host
# needs: root
# timeout: 120
# Rows of the acceptance matrix about live printing of events.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events tracefs
[ -e $tracefs/events/kmem/kmalloc ] || skip_all "kernel without kmem:kmalloc"
cd "$SONDE_TMP" || exit 1
mkdir bin && ln -s "$SONDE" bin/perf

# Every program that starts allocates; until three of ours are there, by name.
busy() { for _ in 1 2 3 4 5; do cat /proc/self/status >/dev/null; done; }
shown() { busy; [ "$(grep -cE "$1" live)" -ge 3 ]; }
./bin/perf trace -e kmem:kmalloc >live.out 2>live & tracer=$!
trap 'kill -9 $tracer 2>/dev/null; rm -rf "$SONDE_TMP"' EXIT
wait_until counts_events $tracer
number='(-?[0-9]+|0x[0-9a-f]+)'
wait_until shown "^ +[0-9]+\.[0-9]{3} cat/[0-9]+ kmem:kmalloc\(call_site: 0x[0-9a-f]+, ptr: 0x[0-9a-f]+, bytes_req: [0-9]+, bytes_alloc: [0-9]+, gfp_flags: [0-9]+(, [a-z]+: $number)*\)$"
ok $? "S0-037: lines of allocations of the whole system, as they happen, with their fields" || diag "$(head -3 live)"
kill -0 $tracer
ok $? "S0-037: until Ctrl-C"
kill -INT $tracer
wait $tracer 2>/dev/null
is $? 130 "S0-037: which ends it"
is "$(grep -vcE '^ *[0-9]+\.[0-9]{3} [^/]*.*/[0-9]+ kmem:kmalloc\(.*\)$' live)" "$(grep -c '^perf trace: \|^  hint: ' live)" "S0-036: command and thread are on every line"
[ "$(grep -oE '^ +[0-9.]+ [^/]+/' live | awk '{ print $2 }' | sort -u | wc -l)" -ge 2 ]
ok $? "S0-036: of several programs"
is "$(awk '/kmem:kmalloc/ { print $1; exit }' live)" "0.000" "S0-037: times count from the first event"
awk '/kmem:kmalloc/ { if ($1 + 0 < last) exit 1; last = $1 + 0 }' live
ok $? "S0-037: in their order"

exits 1 "S4-298: perf trace of a command" ./bin/perf trace cat /nonexistent/file
like "$err" '^ +[0-9]+\.[0-9]{3} \( *[0-9]+\.[0-9]{3} ms\): cat/[0-9]+ openat\(dfd: CWD, .*\) += -1 ENOENT \(No such file or directory\)$' "S4-298: its system calls, with arguments, errors and times"
exits 0 "S4-298: perf trace -s" ./bin/perf trace -s dd if=/dev/zero of=/dev/null bs=1 count=300 status=none
like "$err" '^   write +300      0 ' "S4-298: and a summary of them"
./bin/perf help >help 2>&1
like "$(cat help)" '^   trace ' "S4-298: it is among perf's commands"
done_testing
