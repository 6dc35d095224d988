#!/usr/bin/env bash
# where: host 6.1 6.12 arm64
# needs: root
# timeout: 600
# `sonde stat`: counts are exact where a workload is, the layout is perf's, the command's status and streams are its own.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events
cd "$SONDE_TMP" || exit 1
[ "$SONDE_GUEST" = host ] || WAIT_SECONDS=30

# count EVENT CMD...: the number of a single event
count() {
	local event=$1
	shift
	"$SONDE" stat -x, -e "$event" -- "$@" 2>&1 >/dev/null | cut -d, -f1
}
# added EVENT WORKLOAD A B: how many more events B has than A
added() { echo $(($(count "$1" "$SONDE" workload "$2" "$4") - $(count "$1" "$SONDE" workload "$2" "$3"))); }
between() { # VALUE LOW HIGH NAME
	[ -n "$1" ] && [ "$1" -ge "$2" ] && [ "$1" -le "$3" ]
	ok $? "$4" || diag "got $1, want $2 to $3"
}

ldd "$SONDE" 2>/dev/null | grep -q asan
asan=$? # 0: the sanitizer's own work is counted, too

# ---- exact counts
if ! needs_or_skip "tracepoints" tracefs; then
	is "$(added syscalls:sys_enter_getppid syscalls 1000 4000)" 3000 "3000 more system calls are 3000 more events"
	[ $asan = 0 ] || is "$(count syscalls:sys_enter_getppid "$SONDE" workload syscalls 777)" 777 "and all of them"
	# The shell itself asks for its parent a few times.
	two() { count syscalls:sys_enter_getppid bash -c "\"$SONDE\" workload syscalls $1; \"$SONDE\" workload syscalls $2"; }
	is $(($(two 500 250) - $(two 100 50))) 600 "children are counted, too"
	n=$("$SONDE" stat -i -x, -e syscalls:sys_enter_getppid -- bash -c "\"$SONDE\" workload syscalls 500; true" 2>&1 >/dev/null | cut -d, -f1)
	between "$n" 0 9 "-i: children are not"
	n=$("$SONDE" stat -x, -e syscalls:sys_enter_kill --filter 'sig == 0 && pid == 1' -- bash -c 'kill -0 $$; kill -0 1; kill -0 1' 2>&1 >/dev/null | cut -d, -f1)
	is "$n" 2 "--filter"
	exits 0 "two tracepoints in a group" "$SONDE" stat -x, -e '{syscalls:sys_enter_getppid,syscalls:sys_exit_getppid}' -- "$SONDE" workload syscalls 300
	[ $asan = 0 ] || is "$(cut -d, -f1 <<<"$err" | tr '\n' ' ')" "300 300 " "count alike"
fi
if [ $asan = 0 ]; then
	skip "not exact under a sanitizer" "page faults"
else
	between "$(added minor-faults faults 1000 5000)" 3990 4010 "4000 more pages are 4000 more faults"
fi
# Both threads share a CPU, so each round trip costs two switches whatever else runs. Starting, and waiting for a CPU beside others, only adds
# some: the least of three runs, in real time where that may be had.
real=()
! chrt -f 1 true 2>/dev/null || real=(chrt -f 1)
switches() { count context-switches "${real[@]}" "$SONDE" workload switches "$1"; }
least() { for _ in 1 2 3; do switches "$1"; done | sort -n | head -1; }
between "$(least 8500)" 16990 17400 "8500 round trips are 17000 switches"

# ---- streams, status
exits 0 "standard output is the command's" "$SONDE" stat -e cs -- echo hello
is "$out" hello "and nothing else is there"
like "$err" "^ Performance counter stats for 'echo hello':" "counts are on standard error"
exits 7 "the command's status" "$SONDE" stat -e cs -- sh -c 'exit 7'
exits 137 "a signal, as shells tell it" "$SONDE" stat -e cs -- sh -c 'kill -9 $$'
like "$err" '^sh: Killed' "and it is said"
exits 127 "no such command" "$SONDE" stat -- no-such-command
exits 126 "not a program" "$SONDE" stat -- /etc/passwd
exits 129 "an unknown event" "$SONDE" stat -e no-such-event true
like "$err" "no-such-event" "is named"
exits 129 "-x with -j" "$SONDE" stat -x, -j true
exits 129 "--table without -r" "$SONDE" stat --table true
exits 0 "-p takes IDs as pgrep prints them" "$SONDE" stat -p " $$
$PPID" -e cs -- true
like "$err" "for process id '$$,$PPID':" "all of them"
exits 1 "a process that is not there" "$SONDE" stat -p 4194300 -e cs
like "$err" 'no such process: 4194300' "is said"
exits 1 "a file that cannot be written" "$SONDE" stat -o /no/such/dir/x true
exits 0 "-o" "$SONDE" stat -e cs -o file.txt true
is "$err" "" "leaves standard error alone"
like "$(cat file.txt)" '# started on ' "says when"
exits 0 "--append" "$SONDE" stat -e cs -o file.txt --append true
is "$(grep -c 'Performance counter stats' file.txt)" 2 "adds"
exits 0 "--log-fd" bash -c "\"$SONDE\" stat -e cs --log-fd 3 true 3>log.txt"
like "$(cat log.txt)" 'Performance counter' "writes there"

# ---- no such CPU, too many files
exits 0 "a CPU that is not there" "$SONDE" stat -C 999 -e cs -- true
like "$err" '999: missing or offline' "is said"
like "$err" '<not supported> +cs' "and nothing is counted"
exits 0 "more counters than files" bash -c "ulimit -Sn 24; \"$SONDE\" stat -a -A -e cs,cs,cs,cs,cs,cs,cs,cs,cs,cs,cs,cs,cs,cs,cs,cs,cs,cs,cs,cs -x, -- true"
is "$(grep -c ,cs, <<<"$err")" $((20 * $(nproc))) "the limit is raised"

# ---- until Ctrl-C; dies of it
"$SONDE" stat -a -e context-switches 2>ctrlc.txt &
pid=$!
wait_until catches $pid INT
wait_until counts_events $pid
sleep 0.3
kill -INT $pid
wait $pid
is $? 130 "Ctrl-C: dies of SIGINT"
like "$(cat ctrlc.txt)" '[0-9]+ +context-switches' "and shows what was counted"
sleep 1000 &
target=$!
"$SONDE" stat -p $target -e context-switches 2>gone.txt &
pid=$!
# It has opened everything when it waits for something to happen: events that are tried out come and go before.
waits() { counts_events "$1" && grep -q poll "/proc/$1/wchan"; }
wait_until waits $pid
kill $target
wait $target 2>/dev/null
wait $pid
is $? 0 "-p ends with its process"
like "$(cat gone.txt)" "for process id '$target'" "and names it"
exits 0 "--timeout" "$SONDE" stat --timeout 200 -e cs -- sleep 100

# ---- intervals are differences: their sum is the whole
exits 0 "-I with --summary" "$SONDE" stat -I 100 --summary -x, -e task-clock,context-switches -- "$SONDE" workload noploop 1
sum=$(awk -F, '$1 !~ /summary/ && $4 == "task-clock" && $2 + 0 == $2 {s += $5} END {printf "%d", s}' <<<"$err")
is "$sum" "$(awk -F, '/summary/ && $4 == "task-clock" {print $5}' <<<"$err")" "intervals add up to the summary, to the nanosecond"
exits 0 "-r" "$SONDE" stat -r 3 -x, -e task-clock -- true
like "$err" '^[0-9.]+,msec,task-clock,[0-9.]+%,' "mean and noise"
exits 0 "-A has a row for each CPU, zeros too" "$SONDE" stat -a -A -x, -e alignment-faults -- true
is "$(grep -c '^CPU[0-9]*,0,,alignment-faults' <<<"$err")" "$(nproc)" "every CPU"
exits 0 "-n" "$SONDE" stat -n true
unlike "$err" 'task-clock' "counts nothing"
exits 0 "-j" "$SONDE" stat -j true
is "$(grep -c '^{.*}$' <<<"$err")" 8 "an object for each event"
exits 0 "-M with a file" bash -c "echo 'fpm = page\\-faults / elapsed_ns * 1e6 ; faults/ms' >m; \"$SONDE\" stat -M ./m true"
like "$err" 'page-faults +# +[0-9.]+ faults/ms' "a ratio of one's own"
# Facts of the machine and questions about events, as perf's own metrics have them; what cannot be computed is left out with a note.
cat >facts <<'EOF'
present = #num_cpus
online = #num_cpus_online * task\-clock / task\-clock ; CPUs
wide = #core_wide * 10 + #smt_on
known = has_event(no_such_event) + 2 * has_event(task\-clock) + 4 * source_count(task\-clock)
vendor = strcmp_cpuid_str(".*") + strcmp_cpuid_str("^NoSuchVendor-")
broken = no_such_event / 2
EOF
exits 0 "-M with questions about the machine" "$SONDE" stat -a -M ./facts -- true
like "$err" "# +$(getconf _NPROCESSORS_CONF)\.00 +present" "#num_cpus"
like "$err" "# +$(getconf _NPROCESSORS_ONLN)\.00 CPUs +online" "#num_cpus_online, behind its unit and by the name that was asked for"
like "$err" '# +1[01]\.00 +wide' "#core_wide of the whole machine"
like "$err" '# +6\.00 +known' "has_event and source_count"
like "$err" '# +1\.00 +vendor' "strcmp_cpuid_str takes a regular expression"
like "$err" "note: -M broken cannot be computed here: .*no_such_event" "a metric without its event is left out, and reported"
exits 129 "an unknown fact" bash -c "echo 'x = #no_such_fact' >m; \"$SONDE\" stat -M ./m true"
like "$err" '#num_cpus_online' "the known ones are listed"
exits 0 "--pfm-events takes events, too" "$SONDE" stat --pfm-events page-faults -- true
like "$err" ' page-faults' "and counts them"
holder=
# Hundreds of tracepoints: the kernel detaches them one by one, which the results do not wait for.
if ! needs_or_skip "many tracepoints" root tracefs; then
	exits 0 "many tracepoints at once" "$SONDE" stat -x, -e 'syscalls:sys_enter_*' -- true
	like "$err" '^[0-9]+,,syscalls:sys_enter_execve' "are counted"
	like "$err" 'note: [0-9]+ tracepoints are being detached in the background \(process [0-9]+\)' "who detaches them is reported"
	holder=$(grep -o '(process [0-9]*' <<<"$err" | tr -dc 0-9)
	exits 0 "a few" "$SONDE" stat -e sched:sched_switch -- true
	unlike "$err" 'background' "are detached at once"
fi

# ---- control
mkfifo ctl ack
exec 8<>ack 9<>ctl
"$SONDE" stat -D -1 --control fifo:ctl,ack -x, -e page-faults -- sleep 300 2>control.txt &
pid=$!
echo enable >&9
read -r -t 100 answer <&8
is "$answer" ack "--control: enable is acknowledged"
echo stop >&9
wait $pid
like "$(cat control.txt)" 'Events enabled' "and said"
exec 8>&- 9>&-
exec 8<>ack 9<>ctl
answer() { # VERB...: the bytes that answer a ping
	"$SONDE" "$@" --control fifo:ctl,ack -e page-faults -- sleep 300 >/dev/null 2>&1 &
	echo ping >&9
	timeout 100 head -c 5 <&8 | od -An -c | tr -d ' '
	echo stop >&9
	timeout 100 head -c 5 <&8 >/dev/null
	wait $!
}
is "$(answer stat)" 'ack\n\0' "--control: stat answers as perf does, with a NUL"
is "$(answer record -o ack.data)" 'ack\n\0' "and so does record"
exec 8>&- 9>&-
mkfifo side # that closes at once
: >side &
exec 7<side
"$SONDE" stat --control fd:7 -e page-faults -- sleep 300 2>closed.txt &
pid=$! calm=0
for _ in $(seq 300); do
	if [ "$(awk '{ print $3 }' "/proc/$pid/stat")" = S ]; then calm=$((calm + 1)); else calm=0; fi
	[ $calm -lt 10 ] || break
	sleep 0.1
done
is $calm 10 "--control: nothing is asked of a side that has closed"
kill $pid
wait $pid
exec 3<&- 4<&- 5<&- 6<&- 7<&- 8<&-
for fd in 3 4 5 6 7 8; do
	exits 1 "--control: descriptor $fd is not open" "$SONDE" stat --control fd:$fd -e page-faults -- sleep 100
done

# ---- cgroups
cg=$(awk '$3 == "cgroup" && $4 ~ /perf_event/ {print $2; exit}' /proc/self/mounts)
[ -n "$cg" ] || cg=$(awk '$3 == "cgroup2" {print $2; exit}' /proc/self/mounts)
# Until the root hands down some controller, v2 does not count by group; on the host that is not ours to change.
[ "$SONDE_GUEST" = host ] || echo +pids >"$cg/cgroup.subtree_control"
group=sonde-test-$$
if [ -n "$cg" ] && mkdir "$cg/$group" 2>/dev/null; then
	bash -c "echo \$\$ >\"$cg/$group/cgroup.procs\"; exec \"$SONDE\" workload noploop 300" &
	busy=$!
	wait_until catches $busy PROF
	exits 0 "--for-each-cgroup" "$SONDE" stat -a -x, -e cpu-clock --for-each-cgroup "$group" -- bash -c "burn 200 $busy"
	between "$(cut -d. -f1 <<<"$err")" 150 100000 "a busy group has CPU time"
	exits 0 "-G" "$SONDE" stat -a -x, -e cpu-clock,cpu-clock -G ",$group" -- sleep 0.2
	is "$(cut -d, -f4 <<<"$err" | tail -1)" "$group" "is said with the event"
	exits 0 "a pattern" "$SONDE" stat -a -x, -e cpu-clock --for-each-cgroup "sonde-t*-$$" -- true
	like "$err" ",$group," "finds it"
	kill $busy 2>/dev/null
	wait $busy 2>/dev/null
	rmdir "$cg/$group"
else
	skip "no cgroup hierarchy that can be written" "cgroups"
fi
exits 1 "a cgroup that is not there" "$SONDE" stat -a -G no-such-group -e cs -- true

# ---- hardware: exact on the emulated PMU
if ! needs_or_skip "hardware counters" pmu guest:arm64; then
	for e in instructions:u cycles:u; do
		a=$(count $e "$SONDE" workload syscalls 100)
		is "$(count $e "$SONDE" workload syscalls 100) $(count $e "$SONDE" workload syscalls 100)" "$a $a" "$e: three runs, the same number"
	done
	more=$(($(count instructions:u "$SONDE" workload syscalls 20000) - $(count instructions:u "$SONDE" workload syscalls 10000)))
	is $((more % 10000)) 0 "10000 more rounds are a multiple of 10000 instructions"
	# Only cycles may use the seventh counter, so twelve of them have all seven 7/12 of the time (58.33%) each.
	twelve=r11,r11,r11,r11,r11,r11,r11,r11,r11,r11,r11,r11
	exits 0 "twelve events on seven counters" "$SONDE" stat -e $twelve -- "$SONDE" workload noploop 3
	is "$(grep -c '(5[789]\.[0-9]*%)$' <<<"$err")" 12 "each had one 7/12 of the time" || diag "$err"
	sum=$(grep -o '([0-9.]*%)$' <<<"$err" | tr -d '(%)' | awk '{s += $1} END {printf "%.0f", s}')
	is "$sum" 700 "together they had seven"
	low=$(awk '/r11/ {print $1}' <<<"$err" | sort -n | head -1) high=$(awk '/r11/ {print $1}' <<<"$err" | sort -n | tail -1)
	between $(((high - low) * 1000 / high)) 0 5 "scaled, they agree within half a percent"
	exits 0 "ratios" "$SONDE" stat -e task-clock,cycles,instructions -- "$SONDE" workload syscalls 1000
	like "$err" 'instructions +# +1\.00  insn per cycle' "an instruction a cycle, as the emulator has it"
	exits 0 "a group that does not fit" "$SONDE" stat -x, -e '{r3,r4,r8,r11,r10,r12,r13,r1b,r1d}:W' -- true
	unlike "$err" 'not supported' "is taken apart with :W"
fi

# ---- perf's layout
if [ "$SONDE_GUEST" = host ] && ! needs_or_skip "the layout of perf 6.1" perf python3; then
	shim=$(dirname "$SONDE")/tests/stat_shim.so
	if [ -e "$shim" ]; then
		while IFS= read -r line; do
			case $line in
			"ok "*) ok 0 "as perf: ${line#ok }" ;;
			"no "*) ok 1 "as perf: ${line#no }" ;;
			*) printf '%s\n' "$line" ;;
			esac
		done < <(python3 "$SONDE_SRC/tests/oracle/stat_compare" "$SONDE" "$shim" 2>&1)
	else
		skip "tests/stat_shim.so is not built" "the layout of perf 6.1"
	fi
fi
# Detached in the background, from above.
if [ -n "$holder" ]; then
	wait_until is_gone "$holder"
	ok $? "who detaches many tracepoints ends by itself"
fi
done_testing
