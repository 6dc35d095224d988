#!/usr/bin/env bash
# `ftrace convert` and `ftrace split`: every recording of tests/data/trace in both versions and all packings; trace-cmd reads what we write.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde
cd "$SONDE_TMP" || exit 1

differ() { # FILE: what is not as it should be
	local n=$1 i=0 how
	"$SONDE" ftrace report "$n" >ours.want 2>/dev/null
	[ -z "$peer" ] || trace-cmd report -i "$n" >peer.want 2>/dev/null
	for how in "7 zstd" "7 zlib" "7 none" "6 none"; do
		i=$((i + 1))
		"$SONDE" ftrace convert --file-version "${how% *}" --compression "${how#* }" -i "$n" -o "out$i.dat" 2>err ||
			echo "$how: $(cat err)"
		"$SONDE" ftrace report "out$i.dat" >got 2>/dev/null
		cmp -s got ours.want || echo "$how: our report differs"
		# Debian's trace-cmd is built without zlib.
		[ -n "$peer" ] && [ "$how" != "7 zlib" ] || continue
		trace-cmd report -i "out$i.dat" >got 2>/dev/null
		cmp -s got peer.want || echo "$how: trace-cmd's report differs"
	done
	"$SONDE" ftrace convert --file-version 6 out1.dat back.dat 2>/dev/null
	cmp -s back.dat out4.dat || echo "from 7 back to 6: the file differs"
}

peer=$(type -P trace-cmd)
for f in "$SONDE_SRC"/tests/data/trace/*.dat; do
	is "$(differ "$f")" "" "$(basename "$f"): v6, v7, zstd, zlib"
done

f=$SONDE_SRC/tests/data/trace/6.1-events_v6.dat
exits 0 "the default is version 7 with zstd" "$SONDE" ftrace convert "$f" small.dat
like "$(head -c 32 small.dat | tr '\0' ' ')" 'tracing7 .*zstd' "and says so in its head"
[ "$(stat -c %s small.dat)" -lt "$(stat -c %s "$f")" ]
ok $? "and is smaller"
exits 0 "as JSON" "$SONDE" ftrace convert --json --file-version 6 small.dat old.dat
like "$out" '"version": 6' "the version"
exits 129 "version 6 cannot be packed" "$SONDE" ftrace convert --file-version 6 --compression zstd "$f" x.dat
exits 129 "no such version" "$SONDE" ftrace convert --file-version 5 "$f" x.dat
head -c 5000 "$f" >cut.dat
exits 1 "a file that is cut before its events" "$SONDE" ftrace convert cut.dat x.dat
[ ! -e x.dat ] && ! compgen -G 'x.dat*' >/dev/null
ok $? "nothing is left behind"
exits 1 "a folder that is not there" "$SONDE" ftrace convert "$f" nowhere/x.dat

# ---- split: pieces together have the lines of the whole, each once.
lines() { "$SONDE" ftrace report -t "$@" 2>/dev/null | tail -n +2; }
for name in 6.1-events_v7_none 6.12-events_v7_zstd arm64-syscalls 6.1-instance_v6; do
	f=$SONDE_SRC/tests/data/trace/$name.dat
	rm -f part.*
	total=$(lines "$f" | grep -vc 'EVENTS DROPPED')
	exits 0 "$name in pieces of 300 events" "$SONDE" ftrace split -r -e 300 -i "$f" -o part
	[ "$(compgen -G 'part.*' | wc -l)" -ge $((total / 300)) ]
	ok $? "$name: as many as that makes"
	is "$(for p in $(ls part.* | sort -t. -k2n); do lines "$p"; done | sed 's/^[^[]*//' | md5sum)" "$(lines "$f" | sed 's/^[^[]*//' | md5sum)" \
		"$name: together they have all lines of the whole, in order"
	if [ -n "$peer" ]; then
		# -N: trace-cmd's own layout of sched_switch calls state I W.
		is "$(trace-cmd report -N -i part.1 2>/dev/null | md5sum)" "$("$SONDE" ftrace report -N part.1 | md5sum)" "$name: trace-cmd reads a piece"
	fi
done
f=$SONDE_SRC/tests/data/trace/6.1-events_v7_none.dat
times=$(lines "$f" | sed 's/.*\] *\([0-9.]*\): .*/\1/')
from=$(sed -n 100p <<<"$times") to=$(sed -n 200p <<<"$times")
exits 0 "a stretch of time" "$SONDE" ftrace split -i "$f" -o mid "$from" "$to"
is "$(lines mid.1 | sed 's/^[^[]*//')" "$(lines "$f" | sed -n 100,200p | sed 's/^[^[]*//')" "has the events of that time, both ends included, and no others"
exits 1 "a stretch without events" "$SONDE" ftrace split -i "$f" -o none 1 2
exits 129 "no time" "$SONDE" ftrace split -i "$f" -o none xyz
done_testing
