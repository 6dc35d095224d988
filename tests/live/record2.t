#!/usr/bin/env bash
# where: host 6.12
# needs: root
# timeout: 900
# `sonde record`, the rest of it, where the kernel has a say: pipes, groups, reads, weights, users, cgroups, rings that are written over.
# What is ours alone is in record_files.t. perf reads one file of a kind in the guest, where it takes seconds to start.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events
cd "$SONDE_TMP" || exit 1
[ "$SONDE_GUEST" = host ] || WAIT_SECONDS=30
. "$SONDE_SRC/tests/live/record_lib.sh"
slow=1 # programs start slowly in guests
[ "$SONDE_GUEST" = host ] || slow=4

# ---- pipes
"$SONDE" record -F 999 -g -o - -- "$SONDE" workload leaf 0.5 >pipe.data 2>pipe.err
is $? 0 "-o -"
like "$(cat pipe.err)" 'standard output: .* samples, 0 lost' "says where it went"
wanted=$(sed -n 's/.*, \([0-9]*\) samples, .*/\1/p' pipe.err)
like "$(cat pipe.data | "$SONDE" report -i - --stdio --no-children -g none 2>&1)" 'workload_leaf' "report -i - reads it"
is "$(cat pipe.data | "$SONDE" script -i - -F comm,event 2>/dev/null | grep -c clock:)" "$wanted" "script -i - finds every sample"
"$SONDE" record -q -- sh -c 'echo mine; exit 3' 2>own.err | cat >own.data
is "${PIPESTATUS[0]}" 3 "the command's status comes through"
like "$(cat own.err)" '^mine$' "what the command prints is not mixed into the recording"
[ ! -e perf.data ]
ok $? "standard output is a pipe: no perf.data"
# ---- namespaces of tasks that were there before
"$SONDE" record -q -a --namespaces -e dummy:u -o ns.data -- true
"$SONDE" script -i ns.data --show-namespace-events -F comm,tid >ns.txt 2>ns.err
like "$(grep -A 9 "PERF_RECORD_NAMESPACES $$/$$ - nr_namespaces: 7" ns.txt | tr '\n\t' '  ')" "0/net: [0-9]+/0x$(printf %x "$(stat -Lc %i /proc/$$/ns/net)").*5/mnt: [0-9]+/0x$(printf %x "$(stat -Lc %i /proc/$$/ns/mnt)")" "--namespaces -a: those of a running task, as /proc has them" || diag "$(head -5 ns.txt ns.err)"
needs_or_skip "tracepoints into a pipe" tracefs || {
	# A sanitizer's start-up may add a few of its own.
	between "$("$SONDE" record -q -e syscalls:sys_enter_getppid -- "$SONDE" workload syscalls 100 | "$SONDE" script -i - | grep -c 'sonde .*sys_enter_getppid:')" 100 105 "formats come with them"
}
exits 129 "a pipe cannot be switched" "$SONDE" record --switch-output -o - -- true

# ---- groups
exits 0 "a group read by its leader" "$SONDE" record -e '{cpu-clock,page-faults}:S' -o s.data -- "$SONDE" workload leaf 0.3
between "$(said_samples)" 10 100000 "has samples"
needs_or_skip "perf reads the group" perf || {
	out=$(perf script -i s.data -F event,period 2>perf.err)
	is "$(cat perf.err)" "" "perf has nothing to complain about"
	like "$out" 'page-faults' "and finds the member's counts in the leader's samples"
	like "$(perf evlist -v -i s.data 2>&1 | head -1)" 'sample_type: .*READ.*read_format: ID.GROUP' "by PERF_FORMAT_GROUP"
}
# A group of which one read would be over 16 KB is more than the kernel takes.
many=page-faults$(printf ',page-faults%.0s' $(seq 700))
exits 1 "a group that cannot be one" "$SONDE" record -e "{$many}:S" -o w.data -- true
exits 0 "a weak group that cannot be one" "$SONDE" record -e "{$many}:SW" -o w.data -- true
like "$err" 'weak group \(W\) cannot be measured together; they are measured separately' "says so"
exits 0 "-W" "$SONDE" record -W -o weight.data -- "$SONDE" workload leaf 0.2
reads weight.data once
ok $? "weights: readable"
exits 0 "-s" "$SONDE" record -s -o stat.data -- sh -c "'$SONDE' workload leaf 0.2; true"
needs_or_skip "-s as perf sees it" perf || {
	reads=$(perf report -D -i stat.data 2>/dev/null | grep -c PERF_RECORD_READ)
	if [ "$reads" = 0 ] && [ "$SONDE_GUEST" != host ]; then
		skip "this kernel writes no READ records, for perf neither" "counts of threads are there"
	else
		like "$reads" '^[1-9]' "counts of threads are there"
	fi
}
exits 0 "-n" "$SONDE" record -n -o none.data -- "$SONDE" workload leaf 0.2
is "$(said_samples)" 0 "no samples with -n"
exits 0 "-aRf of old texts" "$SONDE" record -aRf -o old.data -- sleep 0.2
exits 0 "what perf also takes" "$SONDE" record -N --buildid-all --buildid-mmap --timestamp-boundary -F 999 -o b.data -- "$SONDE" workload leaf 0.2
exits 0 "-B" "$SONDE" record -B -F 999 -o nob.data -- "$SONDE" workload leaf 0.2
needs_or_skip "build ids as perf sees them" perf || {
	like "$(perf buildid-list -i b.data 2>/dev/null)" '/sonde$' "build ids are in the table"
	like "$(perf report -i b.data --header-only 2>/dev/null)" 'time of last sample' "and the time of the last sample"
	like "$(perf report -i nob.data --header-only -I 2>/dev/null)" '^# missing features:.* BUILD_ID ' "-B: the table is missing"
}
if lacks pmu >/dev/null; then
	exits 1 "-b where no hardware keeps branches" "$SONDE" record -b -o x.data -- true
	like "$err" 'cannot record branches' "says why"
	exits 1 "-j" "$SONDE" record -j any_call,u -o x.data -- true
fi
exits 129 "-j with a word that is none" "$SONDE" record -j any,sideways -o x.data -- true
like "$err" "unknown branch type 'sideways'" "is shown"

# ---- of whom
someone=64321 # who runs nothing else here
setpriv --reuid $someone --clear-groups "$SONDE" workload noploop 300 & busy=$!
"$SONDE" workload noploop 300 & other=$!
wait_until catches $busy PROF
exits 0 "-u" "$SONDE" record -F 499 -u $someone -o user.data -- bash -c "burn 100 $busy $other"
is "$("$SONDE" script -i user.data -F pid 2>/dev/null | sort -u | tr -d ' \n')" "$busy" "only that user's process"
kill $busy $other
exits 129 "-u nobody knows" "$SONDE" record -u no-such-user -o x.data
cgroups=$(awk '$3 == "cgroup" && $4 ~ /perf_event/ { v1 = $2 } $3 == "cgroup2" { v2 = $2 } END { print v1 ? v1 : v2 }' /proc/mounts)
if [ -n "$cgroups" ] && mkdir "$cgroups/sonde-test.$$" 2>/dev/null; then
	"$SONDE" workload noploop 300 & busy=$!
	"$SONDE" workload noploop 300 & other=$!
	wait_until catches $busy PROF
	echo $busy >"$cgroups/sonde-test.$$/cgroup.procs"
	"$SONDE" record -F 499 -a -G "sonde-test.$$" -o cgroup.data -- bash -c "burn 100 $busy $other" 2>cgroup.err
	status=$?
	if grep -q 'no perf_event controller' cgroup.err; then
		skip "the cgroups here have no perf_event controller" "-G"
	else
		is $status 0 "-G"
		is "$("$SONDE" script -i cgroup.data -F pid 2>/dev/null | sort -u | tr -d ' \n')" "$busy" "only what is in the group"
	fi
	kill $busy $other
	wait $busy $other 2>/dev/null
	rmdir "$cgroups/sonde-test.$$"
	exits 1 "-G of a group that is not there" "$SONDE" record -a -G no-such-group -o x.data -- true
	exits 129 "-G needs -a" "$SONDE" record -G / -o x.data -- true
else
	skip "no cgroup file system here" "-G"
fi
needs_or_skip "--exclude-perf" tracefs || {
	# Of this recorder only: others on the machine write as well.
	own_writes() {
		# Until it has written, while its events are on.
		"$SONDE" record -q -a -e syscalls:sys_enter_pwritev "$@" -- bash -c 'written() { sed -n "s/^syscw: //p" /proc/$PPID/io; }
			for i in 1 2 3; do n=$(written); while [ "$(written)" -le "$n" ]; do sleep 0.1; done; done' & recorder=$!
		wait $recorder
		recorded=$?
		"$SONDE" script -i "${*: -1}" -F pid 2>/dev/null | grep -cx " *$recorder *"
	}
	isnt "$(own_writes -o with.data)" 0 "without it we see ourselves"
	is "$(own_writes --exclude-perf -o without.data; echo $recorded)" "0
0" "with --exclude-perf not, nor any of our threads"
}
exits 129 "--exclude-perf only applies to tracepoints" "$SONDE" record -e cpu-clock --exclude-perf -o x.data -- true

# ---- the newest samples only
# On one CPU: there is a ring for each.
cpu=$(taskset -pc $$ | sed 's/.*: //; s/[-,].*//')
exits 0 "--overwrite" "$SONDE" record --overwrite -m 4 -F 4000 -e cpu-clock -o ow.data -- taskset -c "$cpu" "$SONDE" workload leaf 1
all=$(said_samples)
between "$all" 50 1000 "what fits into the rings"
reads ow.data
ok $? "is read" || diag "$(cat ours.err perfs.err)"
is "$(grep -c clock: ours.txt)" "$all" "all of it"
"$SONDE" record -q --overwrite --switch-output -a -m 16 -F 999 -e cpu-clock -o snap.data 2>snap.err & recorder=$!
wait_until test -e snap.data
wait_until catches $recorder USR2
sleep "$slow"
kill -USR2 $recorder
one_is_there() { [ "$(find . -name 'snap.data.2*' | wc -l)" = 1 ]; }
wait_until one_is_there
sleep "$slow"
kill -INT $recorder
wait $recorder 2>/dev/null
# shellcheck disable=SC2046
set -- $(find . -name 'snap.data.2*' | sort)
is $# 2 "SIGUSR2 writes a file, and so does the end"
good=0
for file; do reads "$file" once || diag "$(cat ours.err perfs.err)"; done
for file; do "$SONDE" script -i "$file" >ours.txt 2>/dev/null && [ "$(grep -c clock: ours.txt)" -gt 100 ] && good=$((good + 1)); cp ours.txt "$file.txt"; done
is $good 2 "both have samples"
[ "$(tail -1 "$1.txt" | grep -o '[0-9]*\.[0-9]*:' | tr -d .:)" -le "$(head -1 "$2.txt" | grep -o '[0-9]*\.[0-9]*:' | tr -d .:)" ]
ok $? "the second goes on where the first ended"
done_testing
