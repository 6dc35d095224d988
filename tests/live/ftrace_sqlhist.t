#!/usr/bin/env bash
# where: host 6.1
# needs: root tracefs
# timeout: 300
# smp: 1
# Questions in SQL: the triggers they become, the kernel's histogram, and the same from a recording where the kernel makes none.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root tracefs
cd "$SONDE_TMP" || exit 1
export TMPDIR=$SONDE_TMP
f() { timeout 100 "$SONDE" ftrace sqlhist "$@"; }
join='FROM sched_waking AS start JOIN sched_switch AS end ON start.pid = end.next_pid'
exits 0 "a question" f -n lat_test "SELECT start.pid, end.next_comm AS comm, (end.TIMESTAMP_USECS - start.TIMESTAMP_USECS) AS lat $join WHERE start.prio < 100 AND end.next_prio < 100"
like "$out" "^echo 'lat_test s32 pid; char comm\[16\]; u64 lat' >> .*/synthetic_events\$" "a synthetic event, with the types of the fields"
like "$out" "^echo 'hist:keys=pid:__s0=pid:__s2=common_timestamp.usecs if prio<100' >> .*/sched_waking/trigger\$" "the beginning remembers"
like "$out" "^echo 'hist:keys=next_pid:__e2=common_timestamp.usecs-\\\$__s2:onmatch\(sched.sched_waking\).trace\(lat_test,\\\$__s0,next_comm,\\\$__e2\) if next_prio<100' >> .*/sched_switch/trigger\$" "the end makes the event"
like "$out" "^echo 'hist:keys=pid,comm,lat.log2:sort=lat' >> .*/synthetic/lat_test/trigger\$" "and that is counted"
want=$out
exits 0 "the short form of a difference" f -n lat_test "select start.pid, end.next_comm as comm, TIMESTAMP_DELTA_USECS as lat $join where start.prio < 100 and end.next_prio < 100;"
is "$(sed 's/sonde-[0-9]*-[0-9]*/X/g' <<<"$out")" "$(sed 's/sonde-[0-9]*-[0-9]*/X/g' <<<"$want")" "is the same"
exits 0 "one event" f 'SELECT pid, CAST(prio AS _COUNTER_) FROM sched.sched_waking WHERE comm ~ "sh*" OR pid = 1'
like "$out" "'hist:keys=pid:vals=prio if comm~\"sh\*\" \|\| pid==1'" "has one trigger"

exits 0 "bits, and both spellings of AND" f "SELECT start.pid $join WHERE start.pid & 4 && start.prio = 120 AND (end.next_pid > 1 OR end.next_prio != 7)"
like "$out" ' if pid&4 && prio==120' "of the beginning"
like "$out" ' if \(next_pid>1 \|\| next_prio!=7\)' "and of the end"
exits 129 "no question" f
exits 129 "no FROM" f 'SELECT pid'
exits 129 "a name of neither event" f "SELECT other.pid $join"
like "$err" 'neither event has this name' "is pointed at"
exits 129 "a hundred thousand parentheses" f "SELECT $(printf '%100000s' | tr ' ' '(') FROM sched_waking"
like "$err" 'too many parentheses' "too many"
exits 129 "a difference of one event" f "SELECT (end.next_pid - end.prev_pid) AS x $join"
like "$err" 'a difference must be between the two events' "is refused"
exits 129 "a condition about both" f "SELECT start.pid $join WHERE start.pid < end.next_pid"
exits 129 "a command without -e" f "SELECT start.pid $join" true
exits 1 "a field that is not there" f "SELECT start.pidd $join"
like "$err" "sched_waking has no field 'pidd'" "is named"
exits 1 "an event that is not there" f 'SELECT a.x FROM no_such AS a JOIN sched_switch AS b ON a.pid = b.next_pid'

exits 0 "-e: done" f -e "SELECT start.id AS id, TIMESTAMP_DELTA_USECS AS lat FROM raw_syscalls.sys_enter AS start JOIN raw_syscalls.sys_exit AS end ON start.common_pid = end.common_pid WHERE start.id >= 0" \
	sh -c 'for i in 1 2 3; do sleep 0.05; done; exit 0'
like "$out" '^\{ id: +[0-9]+, lat: +~ 2\^1[5-9] *\} hitcount: +[0-9]+' "system calls of 0.05 s"
like "$out" '^    Hits: [1-9][0-9]*$' "and all are counted"
exits 3 "the command's status" f -e "SELECT start.pid $join" sh -c 'exit 3'
[ ! -e $tracefs/synthetic_events ] || is "$(grep -c sonde_sql $tracefs/synthetic_events)" 0 "nothing is left in synthetic_events"
done_testing
