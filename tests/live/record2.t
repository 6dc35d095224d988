#!/usr/bin/env bash
# where: host 6.12
# needs: root
# timeout: 500
# `sonde record`, the rest of it: pipes, several files, commands from outside, groups, cgroups and users.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events
cd "$SONDE_TMP" || exit 1
slow=1 # programs start slowly in guests
[ "$SONDE_GUEST" = host ] || slow=4

between() { # VALUE LOW HIGH NAME
	[ -n "$1" ] && [ "$1" -ge "$2" ] && [ "$1" -le "$3" ]
	ok $? "$4" || diag "got $1, want $2 to $3"
}
said_samples() { sed -n 's/.*, \([0-9]*\) samples, .*/\1/p' <<<"$err"; }
has_perf() { command -v perf >/dev/null; }
# reads FILE: by us, and by perf where it is, without complaint
reads() {
	"$SONDE" script -i "$1" >ours.txt 2>ours.err || return 1
	! has_perf || { perf script -i "$1" >perfs.txt 2>perfs.err && [ ! -s perfs.err ]; }
}

# ---- pipes
"$SONDE" record -F 999 -g -o - -- "$SONDE" workload leaf 0.5 >pipe.data 2>pipe.err
is $? 0 "-o -"
like "$(cat pipe.err)" 'standard output: .* samples, 0 lost' "says where it went"
wanted=$(sed -n 's/.*, \([0-9]*\) samples, .*/\1/p' pipe.err)
like "$(cat pipe.data | "$SONDE" report -i - --stdio --no-children -g none 2>&1)" 'workload_leaf' "report -i - reads it"
is "$(cat pipe.data | "$SONDE" script -i - -F comm,event 2>/dev/null | grep -c clock:)" "$wanted" "script -i - finds every sample"
needs_or_skip "perf reads a pipe" perf || {
	out=$(cat pipe.data | perf report -i - --stdio --no-children -g none --header 2>perf.err)
	is "$(cat perf.err)" "" "perf report -i - has nothing to complain about"
	like "$out" 'workload_leaf' "and names the function"
	grep -qF "os release : $(uname -r)" <<<"$out"
	ok $? "and has the features"
	is "$(cat pipe.data | perf script -i - -F comm,event 2>/dev/null | grep -c clock:)" "$wanted" "perf script -i - finds every sample"
	out=$("$SONDE" record -q -z -- "$SONDE" workload leaf 0.3 2>/dev/null | perf report -i - --stdio 2>perf.err)
	like "$out$(cat perf.err)" 'workload_leaf' "compressed into a pipe, without -o"
}
"$SONDE" record -q -- sh -c 'echo mine; exit 3' 2>own.err | cat >own.data
is "${PIPESTATUS[0]}" 3 "the command's status comes through"
like "$(cat own.err)" '^mine$' "what the command prints is not mixed into the recording"
[ ! -e perf.data ]
ok $? "standard output is a pipe: no perf.data"
"$SONDE" record -F 4000 -- sh -c "'$SONDE' workload leaf $slow; exit 5" 2>gone.err | head -c 64 >/dev/null
is "${PIPESTATUS[0]}" 5 "the reader leaves: the command's status is kept"
unlike "$(cat gone.err)" 'cannot|Broken|lost' "and nothing is said"
timeout 60 "$SONDE" record -F 999 -a 2>gone.err | head -c 64 >/dev/null
is "${PIPESTATUS[0]}" 141 "the reader of -a leaves: SIGPIPE"
needs_or_skip "tracepoints into a pipe" tracefs || {
	# A sanitizer's start-up may add a few of its own.
	between "$("$SONDE" record -q -e syscalls:sys_enter_getppid -- "$SONDE" workload syscalls 100 | "$SONDE" script -i - | grep -c 'sonde .*sys_enter_getppid:')" 100 105 "formats come with them"
	# The command sleeps on after its calls: they must be here long before it ends.
	(
		"$SONDE" record -q --no-buffering -e syscalls:sys_enter_getppid -o - -- sh -c "'$SONDE' workload syscalls 50; exec sleep $((6 * slow))" >live.data
		date +%s%N >live.end
	) &
	recorder=$!
	for _ in $(seq $((40 * slow))); do
		sleep 0.1
		seen=$("$SONDE" script -i live.data 2>/dev/null | grep -c 'sonde .*sys_enter_getppid:')
		[ "$seen" -ge 50 ] && break
	done
	when=$(date +%s%N)
	wait $recorder
	between "$seen" 50 55 "--no-buffering: all 50 are out"
	[ "$when" -lt "$(cat live.end)" ]
	ok $? "while the command still runs"
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
like "$err" 'weak group \(W\) cannot be measured together; each is by itself' "says so"
exits 0 "-W" "$SONDE" record -W -o weight.data -- "$SONDE" workload leaf 0.2
reads weight.data
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
	unlike "$(perf report -i nob.data --header-only -I 2>/dev/null | sed -n '/missing features/p')x" '^x$' "-B: the table is missing"
}
if lacks pmu >/dev/null; then
	exits 1 "-b where no hardware keeps branches" "$SONDE" record -b -o x.data -- true
	like "$err" 'no branches can be recorded' "says why"
	exits 1 "-j" "$SONDE" record -j any_call,u -o x.data -- true
fi
exits 129 "-j with a word that is none" "$SONDE" record -j any,sideways -o x.data -- true
like "$err" "'sideways' is no kind of branch" "is shown"

# ---- of whom
setpriv --reuid 65534 --clear-groups "$SONDE" workload noploop $((3 * slow)) & busy=$!
"$SONDE" workload noploop $((3 * slow)) & other=$!
sleep 0.3
exits 0 "-u" "$SONDE" record -F 499 -u 65534 -o user.data -- sleep "$slow"
is "$("$SONDE" script -i user.data -F pid 2>/dev/null | sort -u | tr -d ' \n')" "$busy" "only that user's process"
kill $busy $other
exits 129 "-u nobody knows" "$SONDE" record -u no-such-user -o x.data
cgroups=$(awk '$3 == "cgroup" && $4 ~ /perf_event/ { v1 = $2 } $3 == "cgroup2" { v2 = $2 } END { print v1 ? v1 : v2 }' /proc/mounts)
if [ -n "$cgroups" ] && mkdir "$cgroups/sonde-test.$$" 2>/dev/null; then
	"$SONDE" workload noploop $((3 * slow)) & busy=$!
	"$SONDE" workload noploop $((3 * slow)) & other=$!
	echo $busy >"$cgroups/sonde-test.$$/cgroup.procs"
	"$SONDE" record -F 499 -a -G "sonde-test.$$" -o cgroup.data -- sleep "$slow" 2>cgroup.err
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
	"$SONDE" record -q -a -e syscalls:sys_enter_pwritev -o with.data -- sleep 1.5
	exits 0 "--exclude-perf" "$SONDE" record -q -a -e syscalls:sys_enter_pwritev --exclude-perf -o without.data -- sh -c 'sleep 1.5'
	isnt "$("$SONDE" script -i with.data -F comm 2>/dev/null | grep -c sonde)" 0 "without it we see ourselves"
	is "$("$SONDE" script -i without.data -F comm 2>/dev/null | grep -c sonde)" 0 "with it not, nor any of our threads"
}
exits 129 "--exclude-perf is for tracepoints" "$SONDE" record -e cpu-clock --exclude-perf -o x.data -- true

# ---- several files
exits 0 "--switch-output by time" "$SONDE" record --switch-output=${slow}s -F 999 -o t.data -- "$SONDE" workload leaf "$(awk "BEGIN { print 2.5 * $slow }")"
set -- t.data.*
between $# 3 4 "a file for each while"
all=1
for f; do reads "$f" && grep -q workload_leaf ours.txt || all=0; done
is $all 1 "each can be read by itself, with names"
[ ! -e t.data ]
ok $? "and none is left without a time"
exits 0 "--switch-output by size" "$SONDE" record --switch-output=60K --switch-max-files 2 -F 4000 -g -o z.data -- "$SONDE" workload leaf $((2 * slow))
set -- z.data.*
is $# 2 "--switch-max-files keeps the last two"
"$SONDE" record -q --switch-output -F 999 -o u.data -- "$SONDE" workload leaf $((3 * slow)) & recorder=$!
sleep "$slow"
kill -USR2 $recorder
wait $recorder
is $? 0 "SIGUSR2"
set -- u.data.*
is $# 2 "makes a second file"
exits 129 "--switch-output by nonsense" "$SONDE" record --switch-output=often -o x.data -- true
exits 0 "--max-size" "$SONDE" record --max-size 100K -F 4000 -g -o max.data -- "$SONDE" workload leaf $((20 * slow))
like "$err" 'stopped at [0-9]+ KB, by --max-size' "says that it stopped"
between "$(stat -c %s max.data)" 100000 1500000 "near that size"
reads max.data
ok $? "--max-size: readable"
exits 0 "--mmap-flush" "$SONDE" record --mmap-flush 64K -F 999 -o flush.data -- "$SONDE" workload leaf 0.3
between "$(said_samples)" 10 100000 "what does not fill it comes all the same"
exits 129 "--off-cpu is refused" "$SONDE" record --off-cpu -o x.data -- true
like "$err" 'hint: Use -e sched:sched_switch -g' "with what to use"

# ---- commands from outside
mkfifo ctl ack
exec 5<>ack
"$SONDE" record -D -1 --control fifo:ctl,ack -F 999 -o c.data -- "$SONDE" workload leaf $((30 * slow)) 2>c.err & recorder=$!
tell() { # COMMAND: the answer
	local answer
	echo "$1" >ctl
	read -r -t $((5 * slow)) answer <&5
	echo "$answer"
}
is "$(tell ping)" ack "ping"
sleep 0.5
is "$(tell enable)" ack "enable"
sleep "$slow"
is "$(tell disable)" ack "disable"
sleep 1
is "$(tell evlist)" ack "evlist"
echo nonsense >ctl
is "$(tell stop)" ack "stop"
wait $recorder
is $? 0 "ends"
exec 5>&-
like "$(cat c.err)" "'nonsense' is no command" "what is no command is told"
like "$(cat c.err)" '^cpu-clock$|^cycles' "evlist names the events"
between "$("$SONDE" script -i c.data -F comm 2>/dev/null | grep -c .)" 50 $((1200 * slow)) "only what was enabled is there"
exits 129 "-D -1 alone would wait for ever" "$SONDE" record -D -1 -o x.data -- true
exits 129 "--control of no descriptor" "$SONDE" record --control fd:77 -o x.data -- true
exec 6<>ctl
(sleep "$slow"; echo stop >ctl) &
exits 0 "--control fd:" "$SONDE" record --control fd:6 -F 99 -a -o fd.data
exec 6<&-

# ---- the newest samples only
exits 0 "--overwrite" "$SONDE" record --overwrite -m 4 -F 4000 -e cpu-clock -o ow.data -- "$SONDE" workload leaf 1
all=$(said_samples)
between "$all" 50 1000 "what fits into the rings"
reads ow.data
ok $? "is read" || diag "$(cat ours.err perfs.err)"
is "$(grep -c clock: ours.txt)" "$all" "all of it"
"$SONDE" record -q --overwrite --switch-output -a -m 16 -F 999 -e cpu-clock -o snap.data 2>snap.err & recorder=$!
for _ in $(seq 100); do sleep 0.1; [ -e snap.data ] && break; done
sleep "$slow"
kill -USR2 $recorder
for _ in $(seq 100); do sleep 0.1; [ "$(find . -name 'snap.data.2*' | wc -l)" = 1 ] && break; done
sleep "$slow"
kill -INT $recorder
wait $recorder 2>/dev/null
# shellcheck disable=SC2046
set -- $(find . -name 'snap.data.2*' | sort)
is $# 2 "SIGUSR2 writes a file, and so does the end"
good=0
for file; do reads "$file" || diag "$(cat ours.err perfs.err)"; done
for file; do "$SONDE" script -i "$file" >ours.txt 2>/dev/null && [ "$(grep -c clock: ours.txt)" -gt 100 ] && good=$((good + 1)); cp ours.txt "$file.txt"; done
is $good 2 "both have samples"
[ "$(tail -1 "$1.txt" | grep -o '[0-9]*\.[0-9]*:' | tr -d .:)" -le "$(head -1 "$2.txt" | grep -o '[0-9]*\.[0-9]*:' | tr -d .:)" ]
ok $? "the second goes on where the first ended"
done_testing
