#!/usr/bin/env bash
# where: host
# needs: root
# timeout: 300
# `sonde record`: who reads a pipe and when, several files, commands from outside.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events
cd "$SONDE_TMP" || exit 1
. "$SONDE_SRC/tests/live/record_lib.sh"

# ---- pipes
"$SONDE" record -F 999 -g -o - -- "$SONDE" workload leaf 0.5 >pipe.data 2>pipe.err
wanted=$(sed -n 's/.*, \([0-9]*\) samples, .*/\1/p' pipe.err)
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
"$SONDE" record -F 4000 -- sh -c "'$SONDE' workload leaf 1; exit 5" 2>gone.err | head -c 64 >/dev/null
is "${PIPESTATUS[0]}" 5 "the reader leaves: the command's status is kept"
unlike "$(cat gone.err)" 'cannot|Broken|lost' "and nothing is said"
timeout 60 "$SONDE" record -F 999 -a 2>gone.err | head -c 64 >/dev/null
is "${PIPESTATUS[0]}" 141 "the reader of -a leaves: SIGPIPE"
needs_or_skip "tracepoints as they come" tracefs || {
	# The command goes on after its calls, until they have been seen here.
	(
		"$SONDE" record -q --no-buffering -e syscalls:sys_enter_getppid -o - -- sh -c "'$SONDE' workload syscalls 50; while [ ! -e seen ]; do sleep 0.1; done" >live.data
		touch live.end
	) &
	recorder=$!
	calls() { "$SONDE" script -i live.data 2>/dev/null | grep -c 'sonde .*sys_enter_getppid:'; }
	all_out() { [ "$(calls)" -ge 50 ]; }
	wait_until all_out
	between "$(calls)" 50 55 "--no-buffering: all 50 are out"
	[ ! -e live.end ]
	ok $? "while the command still runs"
	touch seen
	wait $recorder
}

# ---- several files
# It goes on until two are complete and the third has something in it.
by_time() {
	local recorder
	"$SONDE" record --switch-output=1s -F 999 -o t.data -- "$SONDE" workload leaf 300 & recorder=$!
	complete() { [ "$(ls t.data.* 2>/dev/null | wc -l)" -ge "$1" ]; }
	wait_until complete 2
	wait_until has_samples t.data 20
	kill "$(pgrep -P $recorder -x sonde)"
	wait $recorder
}
began=$(date +%s)
exits 143 "--switch-output by time" by_time
set -- t.data.*
between $# 3 $(($(date +%s) - began + 2)) "a file for each while"
all=1 named=0
for f; do
	reads "$f" || all=0
	! grep -q . ours.txt || { grep -q workload_leaf ours.txt && named=$((named + 1)) || all=0; }
done
is $all 1 "each can be read by itself, with names"
[ $named -ge 2 ]
ok $? "and they have samples ($named of $#)"
[ ! -e t.data ]
ok $? "and none is left without a time"
exits 0 "--switch-output by size" "$SONDE" record --switch-output=60K --switch-max-files 2 -F 4000 -g -o z.data -- "$SONDE" workload leaf 2
set -- z.data.*
is $# 2 "--switch-max-files keeps the last two"
"$SONDE" record -q --switch-output -F 999 -o u.data -- sh -c 'while [ ! -e switched ]; do "$0" workload leaf 0.1; done' "$SONDE" & recorder=$!
wait_until has_samples u.data
kill -USR2 $recorder
wait_until compgen -G 'u.data.*' >/dev/null
touch switched
wait $recorder
is $? 0 "SIGUSR2"
set -- u.data.*
is $# 2 "makes a second file"
exits 129 "--switch-output by nonsense" "$SONDE" record --switch-output=often -o x.data -- true
exits 0 "--max-size" "$SONDE" record --max-size 100K -F 4000 -g -o max.data -- "$SONDE" workload leaf 20
like "$err" 'stopped at [0-9]+ KB because of --max-size' "says that it stopped"
between "$(stat -c %s max.data)" 100000 1500000 "near that size"
reads max.data
ok $? "--max-size: readable"
exits 0 "--mmap-flush" "$SONDE" record --mmap-flush 64K -F 999 -o flush.data -- "$SONDE" workload leaf 0.3
between "$(said_samples)" 10 100000 "what does not fill it comes all the same"
exits 0 "--off-cpu" "$SONDE" record --off-cpu -e cpu-clock -o x.data -- true
is "$("$SONDE" evlist -i x.data | grep -v '^#' | tr '\n' ' ')" "cpu-clock sched:sched_switch sched:sched_waking sched:sched_wakeup_new sched:sched_process_fork dummy:HG " \
	"records the scheduler's events as well"

# ---- commands from outside
mkfifo ctl ack
exec 5<>ack
"$SONDE" record -D -1 --control fifo:ctl,ack -F 999 -o c.data -- "$SONDE" workload leaf 300 2>c.err & recorder=$!
tell() { # COMMAND: the answer
	local answer
	echo "$1" >ctl
	read -r -t 100 answer <&5
	echo "$answer"
}
is "$(tell ping)" ack "ping"
leaf=$(pgrep -P $recorder -x sonde)
wait_until catches "$leaf" PROF
burn 200 "$leaf"
before=$(cpu_ms "$leaf")
is "$(tell enable)" ack "enable"
least=$(cpu_ms "$leaf")
burn 500 "$leaf"
least=$(($(cpu_ms "$leaf") - least))
is "$(tell disable)" ack "disable"
most=$(($(cpu_ms "$leaf") - before))
burn 200 "$leaf"
is "$(tell evlist)" ack "evlist"
echo nonsense >ctl
is "$(tell stop)" ack "stop"
wait $recorder
is $? 0 "ends"
exec 5>&-
like "$(cat c.err)" "'nonsense' is no command" "what is no command is told"
like "$(cat c.err)" '^cpu-clock$|^cycles' "evlist names the events"
# 999 a second of CPU time. The kernel counts that in steps of 10 ms, and now and then a machine stands still.
between "$("$SONDE" script -i c.data -F comm 2>/dev/null | grep -c .)" $((least * 8 / 10)) $((most * 11 / 10 + 20)) "only what was enabled is there"
exits 129 "-D -1 alone would wait for ever" "$SONDE" record -D -1 -o x.data -- true
exits 129 "--control of no descriptor" "$SONDE" record --control fd:77 -o x.data -- true
exec 6<>ctl
(sleep 1; echo stop >ctl) &
exits 0 "--control fd:" "$SONDE" record --control fd:6 -F 99 -a -o fd.data
exec 6<&-
done_testing
