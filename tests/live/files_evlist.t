#!/usr/bin/env bash
# `sonde evlist`, called as perf, prints the same bytes as perf 6.1 on recordings made by perf and by sonde.
# where: host
# needs: root
# timeout: 300
. "${SONDE_SRC:-.}/tests/lib.sh"

need perf
need python3
cd "$SONDE_TMP" || exit 1
mkdir as && ln -s "$SONDE" as/perf
export PERF_BUILDID_DIR=$SONDE_TMP/debug

make_recordings() {
	perf record -q -F 999 -e cpu-clock -o plain.data -- "$SONDE" workload forks 5
	perf record -q -F 499 -g -a -e cpu-clock,page-faults:u -o several.data -- sleep 0.1
	perf record -q -e sched:sched_switch -e sched:sched_wakeup -a -o tracepoints.data -- sleep 0.1
	perf record -q -g -k mono -e '{cpu-clock,task-clock}:S' -e page-faults -o group.data -- ls /
	perf record -q -e task-clock:u -e mem:0x1000:rw -z -o packed.data -- ls /
	perf_stream stream.data -F 999 -g -e cpu-clock -- ls /
	"$SONDE" record -F 999 -g -e cpu-clock,page-faults -o ours.data -- "$SONDE" workload forks 5
} >/dev/null 2>&1
make_recordings

# Every field of an attr that a machine without a PMU never sets.
python3 - <<'EOF'
import struct
b = open('plain.data', 'rb').read()
at = struct.unpack_from('<Q', b, 24)[0]
for name, kind, sample, read, flags, branch in (
        ('all', 1, (1 << 26) - 1, 0x1f, (1 << 40) - 1, 0xffffffff), ('hardware', 0, 0x107, 4, 1, 0)):
    c = bytearray(b)
    struct.pack_into('<I', c, at, kind)
    struct.pack_into('<QQQII', c, at + 24, sample, read, flags, 7, 3)
    struct.pack_into('<QQQQIiQIHHIIQ', c, at + 56, 0x11, 0x22, branch, 0x33, 44, -5, 0x66, 77, 88, 0, 99, 0, 111)
    open(name + '.data', 'wb').write(c)
EOF

for name in plain several tracepoints group packed stream ours all hardware; do
	for option in "" -v -F -g --trace-fields; do
		perf evlist $option -i $name.data >theirs 2>/dev/null
		as/perf evlist $option -i $name.data >mine 2>mine.err
		[ -s theirs ] && cmp -s theirs mine
		ok $? "same bytes: evlist $option of $name" || diag "$(diff theirs mine | head -5)"
	done
done

out=$("$SONDE" evlist -i tracepoints.data --json | python3 -c '
import json, sys
e = json.load(sys.stdin)
print(e[0]["event"], ",".join(e[0]["fields"][-2:]))')
is "$out" "sched:sched_switch next_pid,next_prio" "--json names the fields"
exits 1 "a file that is no recording" "$SONDE" evlist /etc/passwd
like "$err" "not a perf.data file" "says so"
done_testing
