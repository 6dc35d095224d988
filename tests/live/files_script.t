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
	"$SONDE" script --no-inline -i "$name.data" "$@" 2>mine.err | faults >mine
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

# -D: perf shows bytes in the order of times, we in that of the file; each record's bytes are the same.
records() { grep -aE '^(0x[0-9a-f]+@|\.( |$))' | awk '/^0x/ { if (r) print r; r = $0; next } { r = r "|" $0 } END { print r }' | sort; }
for name in flat chains events; do
	perf script -D -i $name.data 2>/dev/null | records >theirs
	"$SONDE" script -D -i $name.data 2>/dev/null | records >mine
	[ "$(wc -l <theirs)" -gt 50 ] && cmp -s theirs mine
	ok $? "-D $name: the same bytes of $(wc -l <theirs) records" || diag "$(diff theirs mine | head -4 | cut -c1-200)"
done
perf script -D -i flat.data 2>/dev/null | grep -aE 'PERF_RECORD_(SAMPLE|MMAP|COMM|FORK|EXIT)' | sort >theirs
"$SONDE" report -D -i flat.data 2>/dev/null | grep -aE 'PERF_RECORD_(SAMPLE|MMAP|COMM|FORK|EXIT)' | sort >mine
[ -s theirs ] && cmp -s theirs mine
ok $? "report -D: and the same said of $(wc -l <theirs) of them" || diag "$(diff theirs mine | head -4)"

exits 129 "a time that is none" "$SONDE" script --time foo -i flat.data
exits 129 "CPUs that are none" "$SONDE" script --cpu x -i flat.data
exits 129 "a script in another language" "$SONDE" script -s some.py -i flat.data
like "$err" "--json" "it says what to use instead"
exits 129 "a script that is to be generated" "$SONDE" script -g python -i flat.data
done_testing
