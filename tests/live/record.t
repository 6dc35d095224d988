#!/usr/bin/env bash
# where: host 6.1 6.12 arm64
# needs: root
# timeout: 600
# `sonde record`: its files are read by perf without a word of complaint and hold what happened.
#
# In guests perf takes seconds to start. There it reads what the machine and its kernel have a say in: the first file with its chains, header
# and build ids, the whole system, tracepoints and their formats; what else is recorded there we read ourselves. How a file is written does not
# depend on the kernel: on the host perf reads every one of them.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events
cd "$SONDE_TMP" || exit 1

# perf; ourselves where the host's perf shows the same and each call takes ten seconds. Only the arm64 guest shows what perf thinks of
# recordings of arm64.
case $SONDE_GUEST in host | arm64) reader=perf ;; *) reader=sonde ;; esac
reader() {
	if [ $reader = perf ]; then perf "$@"; else "$SONDE" "$@"; fi
}
# perf_says ARGS...: $out is what perf says about a file; fails if perf complains. reader_says: the same of reader.
perf_says() { who=perf && says perf "$@"; }
reader_says() { who=$reader && says reader "$@"; }
says() {
	out=$("$@" 2>"$SONDE_TMP/perf-err")
	perf_status=$?
	err=$(cat "$SONDE_TMP/perf-err")
}
quiet() { # NAME, after perf_says
	[ "$perf_status" = 0 ] && [ -z "$err" ]
	ok $? "${1/perf/$who}" || diag "status $perf_status, stderr: $err"
}
between() { # VALUE LOW HIGH NAME
	[ -n "$1" ] && [ "$1" -ge "$2" ] && [ "$1" -le "$3" ]
	ok $? "$4" || diag "got $1, want $2 to $3"
}
samples_of() { # FILE [COMM]
	reader script -i "$1" -F comm,pid 2>/dev/null | awk -v c="${2:-}" 'NF && (c == "" || $1 == c)' | wc -l
}
# until_signal SIGNAL FILE OPTION...: a recording that the signal ends when there is something in it; as exits wants it
until_signal() {
	local signal=$1 file=$2 recorder
	shift 2
	"$SONDE" record "$@" -o "$file" & recorder=$!
	wait_until has_samples "$file" 20
	kill -"$signal" $recorder
	wait $recorder
}
said_samples() { sed -n 's/.*, \([0-9]*\) samples, .*/\1/p' <<<"$err"; }

# ---- a command, with call chains
exits 0 "records a command" "$SONDE" record -F 499 -g -o leaf.data -- "$SONDE" workload leaf 2
like "$err" 'leaf.data: .*, [0-9]+ samples, 0 lost(, [0-9]+ of [0-9]+ stacks truncated( \([^)]*\))?)?; recorder used [0-9]+ ms CPU' "ends with file, samples, lost, cost"
said=$(said_samples)
is "$(stat -c %a leaf.data)" 600 "the file is its owner's alone"
is "$(head -c 8 leaf.data)" PERFILE2 "the file is perf.data"
exits 0 "sonde report reads it" "$SONDE" report -i leaf.data --stdio --no-children
like "$out" '[0-9.]+% +sonde +sonde +\[\.\] workload_leaf' "and finds the hot function"
if ! needs_or_skip "perf reads it" perf; then
	perf_says report -i leaf.data --stdio --no-children -g callee --percent-limit 5
	quiet "perf report says nothing on stderr"
	like "$out" '[0-9.]+% +sonde +sonde +\[\.\] workload_leaf' "the hot function is on top"
	like "$(tr -d ' \n|-' <<<"$out")" 'workload_leaf.*workload_middle.*workload_parent.*main' "the call chain is whole"
	reader_says script -i leaf.data -F comm,tid,time,period,ip,sym
	quiet "perf script says nothing on stderr"
	is "$(awk 'NF && $1 !~ /^[0-9a-f]+$/ {print $1}' <<<"$out" | sort -u)" sonde "the command's name is known from the first sample"
	is "$(samples_of leaf.data)" "$said" "as many samples as were said"
	# 2 s of work by the wall, less where other work takes the CPU: compare with the time that samples stand for.
	cpu_ms=$(reader script -i leaf.data -F period 2>/dev/null | awk '{s += $1} END {printf "%d", s / 1e6}')
	between "$said" $((cpu_ms * 499 / 1000 * 9 / 10)) $((cpu_ms * 499 / 1000 * 11 / 10 + 1)) "499 samples a CPU second"
	reader_says evlist -v -i leaf.data
	quiet "perf evlist says nothing on stderr"
	like "$out" 'sample_freq }: 499, .*sample_type: IP\|TID\|TIME\|CALLCHAIN' "perf evlist knows the event"
	perf_says report -i leaf.data --header-only
	quiet "perf report --header-only says nothing on stderr"
	literally() { sed 's/[][().*+?^$|{}\\]/\\&/g' <<<"$1"; }
	for line in "hostname : $(literally "$(uname -n)")" "os release : $(literally "$(uname -r)")" "arch : $(uname -m)" "cmdline : .*record -F 499 -g -o leaf.data" \
		"nrcpus online : $(nproc)" 'time of first sample' 'total memory' 'pmu mappings: .*software = 1'; do
		like "$out" "$line" "header: ${line%% : *}"
	done
	perf_says buildid-list -i leaf.data
	quiet "perf buildid-list says nothing on stderr"
	like "$out" "^[0-9a-f]{16,40} $(readlink -f "$SONDE")\$" "the program's build id is there"
	like "$out" '^[0-9a-f]{40} \[kernel.kallsyms\]$' "the kernel's build id is there"
	# The same machine, told the same way.
	perf record -q -F 499 -o peer.data -- true 2>/dev/null
	same() { perf report -i "$1" --header-only -I 2>/dev/null | grep -E '^# (sibling|CPU [0-9]|node. cpu|pmu map|cpudesc|cpuid|nrcpus| +L[123]|memory nodes|  *[0-9] \[)'; }
	is "$(same leaf.data)" "$(same peer.data)" "topology, caches and PMUs are those that perf writes"
fi

# ---- several threads, children, exec
exits 0 "threads" "$SONDE" record -F 499 -o threads.data -- "$SONDE" workload --threads 3 thloop 1
exits 0 "children" "$SONDE" record -e page-faults -c 1 -o forks.data -- "$SONDE" workload forks 20
exits 0 "exec in a child" "$SONDE" record -F 999 -o exec.data -- bash -c "\"$SONDE\" workload noploop 1; true"
if ! needs_or_skip "threads, children and exec as perf sees them" perf; then
	hot=$(reader script -i threads.data -F tid,sym,ip 2>/dev/null | awk '/workload_spin/ {print $1}' | sort -u | wc -l)
	between "$hot" 3 3 "three threads were hot"
	tids=$(reader script -i forks.data -F tid 2>/dev/null | sort -u | wc -l)
	between "$tids" 21 21 "faults of 20 children and their parent"
	reader_says report -i exec.data --stdio --sort comm,sym --percent-limit 5
	quiet "perf report of a command that runs another says nothing on stderr"
	like "$out" 'sonde +\[\.\] workload_spin' "what a child execs is known by its new name"
fi

# ---- processes that run already, the whole system
"$SONDE" workload --threads 2 thloop 300 & busy=$!
burn 50 $busy # its threads are there, and run
exits 130 "a running process until Ctrl-C; dies of it as shells expect" until_signal INT pid.data -F 499 -g -p $busy
hot=$(ls /proc/$busy/task | grep -vx $busy | head -n 1) # the first one only waits for the others
exits 130 "a running thread" until_signal INT tid.data -F 499 -t "$hot"
exits 0 "the whole system" "$SONDE" record -F 499 -a -o all.data -- bash -c "burn 200 $busy"
exits 0 "one CPU, another clock, compressed" "$SONDE" record -F 499 -C 0 -k mono -z -o cpu.data -- sleep 1
kill -STOP $busy # where there is one CPU, everything takes three times as long beside it
if ! needs_or_skip "running processes as perf sees them" perf; then
	reader_says report -i pid.data --stdio --no-children --sort comm,dso,sym -g none --percent-limit 10
	quiet "perf report of -p says nothing on stderr"
	like "$out" 'sonde +sonde +\[\.\] workload_spin' "maps that were there before are known"
	unlike "$out" unknown "no unknown symbol"
	perf_says report -i all.data --stdio --sort comm,sym
	quiet "perf report of -a says nothing on stderr"
	like "$out" 'sonde +\[\.\] workload_spin' "-a: the busy process is there"
	is "$(reader script -i all.data -F comm 2>/dev/null | grep -c '^ *:[0-9]')" 0 "-a: every task has a name"
	reader_says report -i cpu.data --stdio --header
	quiet "perf report of a compressed file says nothing on stderr"
	like "$out" 'compressed : Zstd, level = 1' "compression is stated"
	like "$out" 'clockid: monotonic \(1\)' "the clock is stated"
	is "$(reader script -i cpu.data -F cpu 2>/dev/null | sort -u | tr -d ' ')" '[000]' "-C 0: samples of CPU 0 only"
fi

# ---- tracepoints and groups
needs_or_skip "tracepoints" tracefs || {
	exits 0 "a tracepoint" "$SONDE" record -e syscalls:sys_enter_getppid -o tp.data -- "$SONDE" workload syscalls 100
	is "$(said_samples)" 100 "every one of 100 calls"
	exits 0 "several events, one filtered" "$SONDE" record -a -e sched:sched_switch --filter 'prev_comm == "sonde"' -e cpu-migrations -o sw.data -- "$SONDE" workload switches 50
	if ! needs_or_skip "tracepoints as perf sees them" perf; then
		perf_says script -i sw.data
		quiet "perf script of tracepoints says nothing on stderr"
		like "$out" 'sched:sched_switch: +prev_comm=sonde .* ==> next_comm=' "their fields are there"
		is "$(grep sched_switch: <<<"$out" | grep -vc prev_comm=sonde)" 0 "the filter held"
		is "$(perf evlist -i sw.data 2>/dev/null | tr '\n' ' ')" "sched:sched_switch cpu-migrations dummy:HG # Tip: use 'perf evlist --trace-fields' to show fields for tracepoint events " "perf evlist names them"
	fi
}
exits 0 "a group" "$SONDE" record -e '{cpu-clock,page-faults}' -o group.data -- "$SONDE" workload leaf 0.3
needs_or_skip "the group as perf sees it" perf || {
	reader_says report -i group.data --stdio --group --header
	quiet "perf report of a group says nothing on stderr"
	like "$out" '# group: \{cpu-clock,page-faults\}' "the group is stated"
}

# ---- the end of a recording
kill -CONT $busy
exits 143 "SIGTERM: finishes and dies of it" until_signal TERM term.data -F 499 -p $busy
like "$err" 'term.data: .* samples' "SIGTERM: says what was saved"
kill $busy
"$SONDE" record -F 2000 -g -o kill.data -- "$SONDE" workload leaf 300 2>/dev/null & recorder=$!
wait_until has_samples kill.data 100
orphan=$(pgrep -P $recorder)
kill -KILL $recorder
wait $recorder 2>/dev/null
for pid in $orphan; do kill "$pid"; done # the watchdog does not care
for pid in $orphan; do wait_until is_gone "$pid"; done # it has completed the file
"$SONDE" workload noploop 1 & busy=$!
exits 0 "-p ends with the process" timeout 100 "$SONDE" record -F 499 -p $busy -o gone.data
if ! needs_or_skip "cut recordings as perf sees them" perf; then
	reader_says report -i term.data --stdio
	quiet "after SIGTERM perf report says nothing on stderr"
	reader_says report -i kill.data --stdio --header
	quiet "after SIGKILL perf report says nothing on stderr"
	like "$out" workload_leaf "after SIGKILL what was flushed is there"
	like "$out" "os release : $(literally "$(uname -r)")" "after SIGKILL the features are there"
fi

# ---- the command's fate is ours
exits 7 "the command's status is ours" "$SONDE" record -q -o x.data -- sh -c 'exit 7'
exits 137 "a command that is killed" "$SONDE" record -q -o x.data -- sh -c 'kill -9 $$'
rm -f x.data x.data.old
exits 127 "a command that is not there" "$SONDE" record -o x.data -- ./no-such-command
like "$err" "cannot run './no-such-command': No such file" "says so"
exits 126 "a command that cannot be run" "$SONDE" record -o x.data -- /etc/passwd
[ ! -e x.data ]
ok $? "no file is left when nothing ran"
echo old >keep.data
exits 0 "an older file" "$SONDE" record -q -o keep.data -- true
is "$(cat keep.data.old)" old "is kept as FILE.old"
exits 0 "sudo" env SUDO_UID=65534 SUDO_GID=65534 "$SONDE" record -q -o sudo.data -- true
is "$(stat -c %u sudo.data)" 65534 "with sudo the file belongs to who asked"

# ---- a full disk
mkdir full && mount -t tmpfs -o size=160k none full
exits 1 "a full disk ends it" "$SONDE" record -F 4000 --call-graph fp -o full/x.data -- "$SONDE" workload leaf 3
like "$err" 'cannot write full/x.data: No space left' "says so"
if ! needs_or_skip "the full disk's file as perf sees it" perf; then
	reader_says report -i full/x.data --stdio
	quiet "perf report of it says nothing on stderr"
	like "$out" workload_leaf "what fitted is there"
fi
umount full

# ---- an ordinary user, also where the distribution's default allows nothing
paranoid=$(cat /proc/sys/kernel/perf_event_paranoid)
mkdir user && chmod 777 user . && cd user || exit 1
echo 2 >/proc/sys/kernel/perf_event_paranoid
exits 0 "paranoid 2: nobody records a command" setpriv --reuid 65534 --regid 65534 --clear-groups "$SONDE" record -F 499 -g -o u.data -- "$SONDE" workload leaf 0.3
like "$err" 'user space only \(:u\), because perf_event_paranoid is 2' "paranoid 2: says that the kernel is left out"
if [ "$paranoid" -gt 2 ]; then
	echo 3 >/proc/sys/kernel/perf_event_paranoid
	exits 1 "paranoid 3: nobody is refused" setpriv --reuid 65534 --regid 65534 --clear-groups "$SONDE" record -o v.data -- true
	like "$err" 'not permitted to use performance events at all \(perf_event_paranoid is 3\)' "paranoid 3: says why"
fi
echo "$paranoid" >/proc/sys/kernel/perf_event_paranoid
cd ..

# ---- mistakes
exits 1 "no such process" "$SONDE" record -o x.data -p 4194304
like "$err" 'no such process: 4194304' "says so"
exits 1 "no such event" "$SONDE" record -o x.data -e no-such-event -- true
exits 129 "nothing to record" "$SONDE" record -o x.data
exits 129 "a number that is none" "$SONDE" record -F often -- true
[ ! -e x.data ]
ok $? "no file is left behind"
done_testing
