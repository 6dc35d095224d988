#!/usr/bin/env bash
# `ftrace dump` against trace-cmd 3.1.6, both versions, by the byte.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde python3
cd "$SONDE_SRC/tests/data/trace" || exit 1
parts="--systems --clock --head-page --head-event --cmd-lines --printk --ftrace-events --sections --strings --options --flyrecord -v"
compare() { # FILE OPTION...: the same bytes
	local f=$1
	shift
	is "$("$SONDE" ftrace dump "$@" -i "$f" | md5sum)" "$(trace-cmd dump "$@" -i "$f" 2>/dev/null | md5sum)" "$f $*"
}
if trace-cmd --help 2>&1 | grep -q 'version 3.1.6'; then
	for f in *.dat; do
		compare "$f" --summary
		compare "$f" --options --flyrecord
		compare "$f" --all
	done
	for f in 6.1-instance_v6.dat 6.12-events_v7_zstd.dat; do
		for o in $parts; do compare $f $o; done
	done
	for how in zstd none; do
		"$SONDE" ftrace convert --compression $how -i 6.1-lost.dat -o "$SONDE_TMP/own-$how.dat" 2>/dev/null
		compare "$SONDE_TMP/own-$how.dat" --all
	done
else
	skip "trace-cmd 3.1.6 is not installed" "as trace-cmd has it"
fi
exits 0 "a file of our own" "$SONDE" ftrace convert -i 6.1-lost.dat -o "$SONDE_TMP/own.dat"
is "$("$SONDE" ftrace dump --sections "$SONDE_TMP/own.dat" | sed -n 's/.*"\(.*\)",.*/\1/p' | xargs)" \
	"headers ftrace events events format kallsyms printk command lines buffer flyrecord options strings" "names its sections"
# What a host that traced guests adds (trace-cmd cannot be asked to make one here): a version 6 file with such options.
python3 - 6.1-events_v6.dat "$SONDE_TMP/guest.dat" <<'END'
import struct, sys
data = open(sys.argv[1], 'rb').read()
at = data.index(b'options  \0') + 10
opt = lambda id, body: struct.pack('<HI', id, len(body)) + body
shift = struct.pack('<QIII', 0xabc, 1, 1, 2) + struct.pack('<6q', 10, 20, -5, 7, 1, 1) + struct.pack('<2q', 3, 4)
guest = b'vm1\0' + struct.pack('<QI', 0xabc, 2) + struct.pack('<4I', 0, 100, 1, 101)
extra = opt(12, shift) + opt(13, guest) + opt(14, struct.pack('<IIQ', 3, 4, 5)) + opt(99, b'xy')
open(sys.argv[2], 'wb').write(data[:at] + extra + data[at:])
END
exits 0 "options of a host with guests" "$SONDE" ftrace dump --options -i "$SONDE_TMP/guest.dat"
like "$out" '^	-5 1 3 10\[offset \* scaling >> fraction @ time\]$' "how clocks differ"
like "$out" '^vm1 \[Guest name\]$' "the guest"
like "$out" '^  1 101 \[guest cpu, host pid\]$' "its CPUs"
like "$out" '^3 4 5 \[multiplier, shift, offset\]$' "the TSC"
like "$out" '^ 99 2	\[Unknown option, size - skipping\]$' "and what nobody knows"
[ -z "$(type -P trace-cmd)" ] || is "$out" "$(trace-cmd dump --options -i "$SONDE_TMP/guest.dat" 2>/dev/null)" "as trace-cmd has it"
for f in *.dat; do
	"$SONDE" ftrace dump --json "$f" | python3 -c 'import json,sys; assert json.load(sys.stdin)["version"] in (6, 7)' || break
done
ok $? "--json of every file"
exits 129 "two files" "$SONDE" ftrace dump 6.1-graph.dat 6.1-lost.dat
exits 1 "no file" "$SONDE" ftrace dump none.dat
like "$err" "none.dat" "is named"
exits 1 "not a trace.dat" "$SONDE" ftrace dump corrections.awk
done_testing
