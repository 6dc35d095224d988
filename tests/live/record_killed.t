#!/usr/bin/env bash
# where: host 6.12
# needs: root
# timeout: 600
# A recorder that is killed, and a disk that is full: the recording stays, whole and readable by us and by perf.
# In the guest, where a start takes long enough to be hit anywhere, only our own recorder is killed, and perf reads the last file of it; what we
# make of perf's files and of a full disk has nothing to do with the kernel.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events
cd "$SONDE_TMP" || exit 1
slow=1 # programs start slowly in guests
[ "$SONDE_GUEST" = host ] || slow=4

has_perf() { command -v perf >/dev/null; }
# reads FILE [ours]: by us, and by perf where it is, without complaint; ours: in guests not by perf
reads() {
	"$SONDE" script -i "$1" >ours.txt 2>ours.err || return 1
	[ ! -s ours.err ] || return 1
	[ "$SONDE_GUEST" = host ] || [ -z "${2:-}" ] || return 0
	! has_perf || { perf script -i "$1" >perfs.txt 2>perfs.err && [ ! -s perfs.err ]; }
}
children_of() { cat /proc/"$1"/task/*/children 2>/dev/null; }
# The process that completes the file, among a recorder's children.
watchdog_of() {
	local pid
	for pid in $(children_of "$1"); do
		[ "$(cat /proc/"$pid"/comm 2>/dev/null)" = sonde-watchdog ] && echo "$pid"
	done
}
pause() { sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"; } # MS

event=cpu-clock
lacks tracefs >/dev/null || event=cpu-clock,sched:sched_switch # whose formats are a feature of the file

# ---- killed at any moment, the very first ones included
rounds=20 none=0 good=0 known=0
[ "$SONDE_GUEST" = host ] || rounds=6
for i in $(seq $rounds); do
	rm -f k.data k.data.old
	"$SONDE" record -q -F 4000 -g -e $event -o k.data -- "$SONDE" workload leaf 20 2>/dev/null & recorder=$!
	ms=$((RANDOM % 40 * slow))
	[ $((i % 2)) = 0 ] && ms=$((RANDOM % 500))
	pause $ms
	orphans=$(children_of $recorder)
	dog=$(watchdog_of $recorder)
	kill -KILL $recorder
	wait $recorder 2>/dev/null
	for orphan in $orphans; do [ "$orphan" = "$dog" ] || kill "$orphan" 2>/dev/null; done
	[ -z "$dog" ] || wait_until is_gone "$dog"
	if [ ! -e k.data ]; then
		none=$((none + 1))
	elif reads k.data ours; then
		good=$((good + 1))
		"$SONDE" report --header-only -i k.data 2>/dev/null | grep -qxF "# hostname : $(uname -n)" && known=$((known + 1))
	else
		diag "round $i, killed after $ms ms: $(cat ours.err perfs.err 2>/dev/null)"
	fi
done
is $((none + good)) $rounds "killed $rounds times: no file, or one that is read ($none and $good)"
is $known $good "and each file knows where it was made"

# ---- the watchdog too
spoil() { # FILE: as it is between two writes: no features, and half a record behind what the header claims
	printf '\0%.0s' $(seq 32) | dd of="$1" bs=1 seek=72 conv=notrunc status=none
	printf '\011\0\0\0\2\0\100\0half a record' >>"$1"
}
"$SONDE" record -q -F 999 -e $event -o w.data -- "$SONDE" workload leaf 300 2>/dev/null & recorder=$!
wait_until has_samples w.data 100
exits 1 "a file that is being recorded is left alone" "$SONDE" data repair w.data
like "$err" 'is being recorded' "is said"
orphans=$(children_of $recorder)
dog=$(watchdog_of $recorder)
isnt "$dog" "" "there is a watchdog"
kill -KILL "$dog" $recorder
wait $recorder 2>/dev/null
for orphan in $orphans; do kill "$orphan" 2>/dev/null; done
wait_until is_gone "$dog"
reads w.data ours
ok $? "both killed: readable all the same"
before=$(grep -c clock ours.txt)
spoil w.data
exits 0 "data repair" "$SONDE" data repair w.data
like "$out" "^w.data: repaired, [0-9]+ samples" "says what it found"
reads w.data
ok $? "readable without complaint" || diag "$(cat ours.err perfs.err 2>/dev/null)"
is "$(grep -c clock ours.txt)" "$before" "with every sample"
"$SONDE" report --header-only -i w.data | grep -qxF "# hostname : $(uname -n)"
ok $? "and its features"
cp w.data again.data
exits 0 "once more" "$SONDE" data repair --json w.data
like "$out" '"was_whole": true' "finds nothing to do"
cmp -s w.data again.data
ok $? "and changes nothing"
exits 1 "what is no recording" "$SONDE" data repair /etc/passwd
exits 1 "what is not there" "$SONDE" data repair missing.data
[ "$SONDE_GUEST" = host ] || done_testing

# ---- a killed perf
needs_or_skip "a killed perf" perf || {
	# perf 6.1 aborts on its own recordings while another recorder is at work: made again.
	kill_perf() { # FILE OPTION...
		local file=$1 pid i
		shift
		for i in 1 2 3 4; do
			rm -rf "$file"
			command perf record -q -o "$file" "$@" -- "$SONDE" workload leaf $((5 * slow)) 2>/dev/null & pid=$!
			pause $((1000 * slow * i))
			orphans=$(children_of $pid)
			kill -KILL $pid
			wait $pid 2>/dev/null
			for orphan in $orphans; do kill "$orphan" 2>/dev/null; done
			rm -rf copy.data
			cp -r "$file" copy.data
			"$SONDE" data repair --formats copy.data >/dev/null 2>&1 || "$SONDE" data repair copy.data >/dev/null 2>&1
			command perf script -F comm -i copy.data >copy.txt 2>copy.err
			[ $? -lt 128 ] && ! grep -q assertion copy.err && [ "$(wc -l <copy.txt)" -gt 100 ] && break
		done
	}
	kill_perf p.data -m 4 -F 4000 -e cpu-clock
	like "$(command perf script -i p.data 2>&1 | head -1)" "data size field is 0|incompatible" "perf does not read it"
	exits 0 "data repair of it" "$SONDE" data repair p.data
	reads p.data
	ok $? "perf reads it now" || diag "$(cat ours.err perfs.err)"
	[ "$(grep -c clock perfs.txt)" -gt 100 ]
	ok $? "with samples ($(grep -c clock perfs.txt))"
	is "$(grep -c clock ours.txt)" "$(grep -c clock perfs.txt)" "we as many"
	kill_perf z.data -z -m 4 -F 4000 -e cpu-clock
	"$SONDE" data repair z.data >/dev/null 2>&1
	reads z.data && [ "$(grep -c clock perfs.txt)" -gt 100 ]
	ok $? "a compressed one ($(grep -c clock perfs.txt) samples)" || diag "$(cat ours.err perfs.err)"
	kill_perf d.data --threads -m 4 -F 4000 -e cpu-clock
	"$SONDE" data repair d.data >/dev/null 2>&1
	reads d.data && [ "$(grep -c clock perfs.txt)" -gt 100 ]
	ok $? "a directory ($(grep -c clock perfs.txt) samples)" || diag "$(cat ours.err perfs.err)"
	needs_or_skip "tracepoints of a killed perf" tracefs || {
		kill_perf t.data -m 2 -c 1 -e page-faults -e sched:sched_switch
		exits 0 "tracepoints" "$SONDE" data repair t.data
		like "$err" 'repair --formats t.data' "their formats are missing, and what helps"
		exits 0 "--formats" "$SONDE" data repair --formats t.data
		reads t.data || ! grep -vE 'samples? (was|were) lost' ours.err
		ok $? "perf reads it with the formats of this kernel" || diag "$(cat ours.err perfs.err)"
	}
}

# ---- a full disk
mkdir small
if ! mount -t tmpfs -o size=256k none small 2>/dev/null; then
	skip "no tmpfs can be mounted here" "a full disk"
else
	"$SONDE" record -F 20000 -g -e $event -o small/f.data -- "$SONDE" workload leaf 4 >full.out 2>full.err
	is $? 1 "a disk that becomes full fails the recording"
	like "$(cat full.err)" 'small/f.data: No space left on device' "is said"
	like "$(cat full.err)" 'everything written so far is complete and readable' "and what is kept"
	reads small/f.data
	ok $? "what was written is readable" || diag "$(cat ours.err perfs.err)"
	[ "$(grep -c clock: ours.txt)" -gt 300 ]
	ok $? "with its samples ($(grep -c clock: ours.txt))"
	dd if=/dev/zero of=small/fill bs=4k status=none 2>/dev/null
	rm -f small/f.data
	dd if=/dev/zero of=small/fill2 bs=4k status=none 2>/dev/null
	exits 1 "one that is full from the start" "$SONDE" record -o small/g.data -- true
	like "$err" 'small/g.data: No space left on device' "is said"
	[ ! -e small/g.data ]
	ok $? "and leaves no empty file"
	umount small
fi
done_testing
