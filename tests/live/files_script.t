#!/usr/bin/env bash
# What `sonde script` leaves out and adds is what perf 6.1 does: filters, times, and records that are not samples.
# where: host
# needs: root
# timeout: 300
. "${SONDE_SRC:-.}/tests/lib.sh"

need perf
cd "$SONDE_TMP" || exit 1
export PERF_BUILDID_DIR=$SONDE_TMP/debug

# perf 6.1 aborts on recordings made while another recorder asked for build ids (see files_buildid.t): then once more.
record() {
	local file=$1 i
	shift
	for i in 1 2 3 4 5 6; do
		perf record -q -o "$file" "$@" >/dev/null 2>&1
		perf script -i "$file" >/dev/null 2>&1 && return
	done
}
record flat.data -F 999 -e cpu-clock -- sh -c 'ls -lR /usr/share/doc; ls -R /usr/share/doc; "$0" workload leaf 0.1' "$SONDE"
record chains.data -a -F 499 -g -e cpu-clock,page-faults -- "$SONDE" workload forks 30
last=$(tr , '\n' </sys/devices/system/cpu/online | tail -n 1 | sed 's/.*-//')
record events.data -a -e sched:sched_switch -e sched:sched_wakeup -- sh -c "taskset -c 0 true; taskset -c $last true; \"\$0\" workload forks 10" "$SONDE"
record packed.data -z -F 999 -e cpu-clock -- sh -c 'ls -lR /usr/share/doc; ls -R /usr/share/doc; "$0" workload leaf 0.1' "$SONDE"
# The reader stands still during each flood: records are lost however fast it is, and told with the next one that fits.
record lost.data -m 1 -c 1 -e raw_syscalls:sys_enter -e raw_syscalls:sys_exit -- \
	sh -c 'for i in 1 2 3; do kill -STOP $PPID; "$0" workload syscalls 5000; kill -CONT $PPID; sleep 0.2; done' "$SONDE"

faults() { sed -E 's/ \[unknown\] \(\// PLT (\//; s/ ([^ ]*@plt|\.plt[.a-z]*)\+0x[0-9a-f]+ / PLT /; s/ _init\+0x[0-9a-f]+ / PLT /'; }
same() {
	local name=$1
	shift
	perf script --no-inline -i "$name.data" "$@" 2>/dev/null | faults >theirs
	"$SONDE" script --no-inline --no-func-names -i "$name.data" "$@" 2>mine.err | faults >mine
	[ -s theirs ] && cmp -s theirs mine
	ok $? "same bytes: $name $* ($(wc -l <theirs) lines)" || diag "$(diff theirs mine | head -6)"
}

times=($(perf script -F time -i flat.data | tr -d ' :' | sed -n '10p;40p'))
tids=($(perf script -F tid -i flat.data | tr -d ' ' | sort -u))
for name in flat packed; do
	same $name --deltatime
	same $name --show-task-events
	same $name --show-mmap-events
	same $name --show-task-events --show-mmap-events -F comm,tid,time,event
	same $name --comms ls
done
same flat --time "${times[0]},${times[1]}"
same flat --time "${times[1]},"
same flat --time ",${times[0]}"
same flat --tid "${tids[0]}"
same flat --pid "${tids[0]},${tids[1]}"
# Chains of the whole machine differ where code has no file (script.t compares chains): here the lines above them count.
same chains --show-task-events --show-mmap-events -F comm,tid,cpu,time,event
same chains --cpu 0 -F comm,tid,cpu,time,event
same chains --comms sonde --deltatime -F comm,tid,cpu,time,event
same events --cpu 0 --show-task-events
same events --cpu "$last" --show-task-events
same events --comms sonde,swapper
same events --reltime
# Parts of the whole time, places, fields by type of event, groups that were read together, records of other kinds.
record many.data -a -F 499 -e cpu-clock --namespaces --switch-events --all-cgroups -- "$SONDE" workload forks 10
record split.data -F 999 -g -e '{cpu-clock,page-faults,context-switches}:S' -- "$SONDE" workload forks 30
record weight.data -F 999 -W -e cpu-clock -- "$SONDE" workload leaf 0.3
# Code without a file goes by the file that may name it.
record jit.data -F 999 -e cpu-clock -- "$SONDE" workload jit 0.2
same jit -F comm,tid,ip,sym,dso
like "$(cat mine)" '(/tmp/perf-[0-9]*\.map)' "code of a JIT compiler is there"
rm -f "/tmp/perf-$(perf script -F tid -i jit.data 2>/dev/null | tr -d ' ' | sort -u | head -n 1).map"
same flat --time 10%/2
same flat --time 10%/2,10%/4 -F comm,time
same flat --time 0%-30%
same flat -F +misc
same weight -F comm,misc,time,weight,ip,sym
same weight -S workload_leaf
same weight --dsos sonde -G
same events -F trace:comm,time,event -F sw:comm
same many --show-switch-events -F comm,tid,cpu,time,event
same many --show-namespace-events -F comm,tid,cpu,time,event
same many --show-cgroup-events -F comm,tid,cpu,time,event
same split -F comm,tid,time,period,event
same split -G -F comm,tid,time,period,event,ip
sed '0,/[1-9] /s/[1-9] /0 /' mine | cmp -s - theirs
isnt $? 0 "one wrong digit is noticed"
for name in flat events split; do
	"$SONDE" script --json -i $name.data 2>/dev/null >json
	is "$(python3 -c 'import json; print(len(json.load(open("json"))))')" "$(perf script -i $name.data -G 2>/dev/null | wc -l)" "--json: as many samples ($name)"
done
python3 - <<'END'
import json, sys
sys.exit(not all({"comm", "tid", "time_ns", "event", "period", "chain"} <= set(s) for s in json.load(open("json"))))
END
ok $? "--json: the fields"

# Events at the very same time stand in another order: only the losses count.
perf script -i lost.data --show-lost-events 2>/dev/null | grep PERF_RECORD >theirs
"$SONDE" script -i lost.data --show-lost-events 2>/dev/null | grep PERF_RECORD >mine
[ -s theirs ] && cmp -s theirs mine
ok $? "the same losses ($(wc -l <theirs))" || diag "$(diff theirs mine | head -6)"

# -D: every record when its time has come, whose it is and in which library; report adds the counts of all kinds. perf's warning about
# files without sample_id_all is on standard output.
dump() { grep -av '^WARNING: No sample_id_all' | faults; }
same_dump() {
	local verb=$1 name=$2
	shift 2
	perf $verb -D --no-inline "$@" -i "$name.data" 2>/dev/null | dump >theirs
	"$SONDE" $verb -D --no-inline --no-func-names "$@" -i "$name.data" 2>mine.err | dump >mine
	[ "$(grep -c PERF_RECORD theirs)" -gt 3 ] && cmp -s theirs mine
	ok $? "$verb -D $*: same bytes: $name ($(grep -c PERF_RECORD theirs) records)" || diag "$(diff theirs mine | head -6)" "$(cat mine.err)"
}
perf record -q -o - -F 999 -e cpu-clock -- "$SONDE" workload leaf 0.1 2>/dev/null >piped.data
perf stat record -o counted.data -e task-clock,context-switches,page-faults -- "$SONDE" workload leaf 0.1 >/dev/null 2>&1
perf stat record -a -I 50 -o rounds.data -e task-clock,context-switches -- "$SONDE" workload leaf 0.3 >/dev/null 2>&1
perf stat record -o - -e task-clock,context-switches -- "$SONDE" workload leaf 0.1 2>/dev/null >stream.data
for name in flat packed events many split weight piped counted rounds; do
	same_dump report $name
done
for name in flat packed events split weight piped; do
	same_dump script $name -G
done
sed '0,/dso: /s/dso: /dso: x/' mine | cmp -s - theirs
isnt $? 0 "one wrong library is noticed"
# The order of the file is the other option's.
perf script --dump-unsorted-raw-trace -i flat.data 2>/dev/null | grep -a '^0x.*event:' >theirs
"$SONDE" script --dump-unsorted-raw-trace -i flat.data 2>/dev/null | grep -a '^0x.*event:' >mine
[ -s theirs ] && cmp -s theirs mine
ok $? "--dump-unsorted-raw-trace keeps the order of the file" || diag "$(diff theirs mine | head -4)"
# perf's script -D leaves out the bodies of counts, and their table begins in the middle of a line: ours are whole.
"$SONDE" script -D -i counted.data >mine 2>/dev/null
is "$(grep -cE '^\.\.\. (value|time|aggr_mode) ' mine)" 5 "script -D prints the bodies of counts"
like "$(cat mine)" '^CPU   THREAD ' "and the table begins a line"
# Counts are a table, of a file, of rounds and of a stream.
for name in counted rounds stream; do
	perf script -i $name.data >theirs 2>/dev/null
	"$SONDE" script --no-func-names -i $name.data >mine 2>/dev/null
	[ "$(wc -l <theirs)" -gt 2 ] && cmp -s theirs mine
	ok $? "script of a stat recording: same bytes: $name" || diag "$(diff theirs mine | head -4)"
done
"$SONDE" script -i - <stream.data >mine 2>/dev/null
cmp -s theirs mine
ok $? "and from standard input"
# -I alone: a stream's features are printed, a file's are not.
for name in piped flat; do
	perf script -I -i $name.data 2>/dev/null | faults >theirs
	"$SONDE" script --no-func-names -I -i $name.data 2>/dev/null | faults >mine
	[ -s theirs ] && cmp -s theirs mine
	ok $? "script -I: same bytes: $name ($(grep -c '^#' theirs) lines of features)" || diag "$(diff theirs mine | head -4)"
done

exits 129 "a time that is none" "$SONDE" script --time foo -i flat.data
exits 129 "CPUs that are none" "$SONDE" script --cpu x -i flat.data
exits 129 "a script in another language" "$SONDE" script -s some.py -i flat.data
like "$err" "--json" "it says what to use instead"
exits 129 "a script that is to be generated" "$SONDE" script -g python -i flat.data
done_testing
