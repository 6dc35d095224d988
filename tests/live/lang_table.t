#!/usr/bin/env bash
# where: host 6.1 6.12
# needs: root bpf
# timeout: 600
# The small scripts of tests/lang/table.txt (operators, types, maps, formats, functions), many in one run: in the kernel, in user space as end
# blocks, and, those that say so, by bpftrace 0.17 where it is installed.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root bpf python3
table=$SONDE_SRC/tests/lang/table.txt

# All of a table in one case: hundreds of them would hide the others.
agrees() {
	local name=$1 bad
	shift
	python3 "$SONDE_SRC/tests/lang/table.py" "$@" >"$SONDE_TMP/lines.txt" 2>&1
	bad=$?
	sed -n '/^not ok/,/^ok/p' "$SONDE_TMP/lines.txt" | grep -v '^ok' | sed 's/^not ok - /# /' | head -200
	[ $bad = 0 ] && [ "$(grep -c '^ok' "$SONDE_TMP/lines.txt")" -ge "$minimum" ]
	ok $? "$name" || tail -3 "$SONDE_TMP/lines.txt" | sed 's/^/# /'
}

minimum=500 agrees "small scripts print what they should" begin "$table" "$SONDE" run -q --no-final-maps --no-warnings -e
minimum=450 agrees "so they do as end blocks, in user space" end "$table" "$SONDE" run -q --no-final-maps --no-warnings -e
if [ "$SONDE_GUEST" = host ] && command -v bpftrace >/dev/null && timeout 100 bpftrace -e 'BEGIN { exit(); }' >/dev/null 2>&1; then
	minimum=100 agrees "those that bpftrace 0.17 knows print the same there" peer "$table" bpftrace -q -e
else
	skip "bpftrace" "it does not run here"
fi
done_testing
