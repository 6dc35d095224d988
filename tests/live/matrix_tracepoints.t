#!/usr/bin/env bash
# where: host
# needs: root
# timeout: 300
# Row S0-015 of the acceptance matrix: events under tracefs are counted, recorded and printed by their format files. An event of every
# system: closing one takes the kernel a grace period, all of them would take minutes. That every format can be read is seen of all.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events tracefs perf
cd "$SONDE_TMP" || exit 1
cd "$tracefs/events" || exit 1
every=$(find . -mindepth 3 -maxdepth 3 -name id | sed 's|^\./||; s|/id$||; s|/|:|' | sort)
cd "$SONDE_TMP" || exit 1
isnt "$every" "" "S0-015: tracefs has events"
# Others come and go (probes): those are named by nobody here.
"$SONDE" list tracepoint 2>/dev/null | grep -oE '^ *[^ ]+:[^ ]+' | tr -d ' ' | sort -u >listed
is "$(grep -vE '^(probe|kprobes|uprobes|synthetic)' <<<"$every" | comm -23 - listed | head -3)" "" "S0-015: every one of them is listed"
some=$(grep -vE '^(ftrace|probe|kprobes|uprobes|synthetic|bpf_test_run|initcall)' <<<"$every" | awk -F: '!seen[$1]++' | paste -sd,)
nr=$(tr ',' '\n' <<<"$some" | wc -l)
exits 0 "S0-015: stat of an event of each of $nr systems" "$SONDE" stat -x, -a -e "$some" -- true
is "$(grep -cE '^[0-9]+,,[^,]+:[^,]+,' <<<"$err")" "$nr" "S0-015: all are counted"
some+=,sched:sched_switch,sched:sched_process_exec,syscalls:sys_enter_openat,irq:softirq_entry
exits 0 "S0-015: record of them" "$SONDE" record -q -a -m 512K -e "$some" -o all.data -- sh -c 'cat /etc/hostname; sleep 0.1'
"$SONDE" script -i all.data >ours 2>ours.err
perf script -i all.data --no-inline >theirs 2>/dev/null
[ "$(sed 's/.*\]  *[0-9.]*: *\([^ ]*:[^ ]*\): .*/\1/' ours | sort -u | wc -l)" -ge 4 ]
ok $? "S0-015: script prints those that happened, of several kinds" || diag "$(head -3 ours)"
# Of these four, which certainly happen; perf 6.1 has faults in others (timer:timer_start's flags: its & binds weaker than its |). What
# happened at the same moment on two CPUs has no order.
known=' (sched:sched_switch|sched:sched_process_exec|syscalls:sys_enter_openat|irq:softirq_entry): '
grep -E "$known" ours | sort >ours.known
grep -E "$known" theirs | sort >theirs.known
cmp ours.known theirs.known >/dev/null 2>&1 && [ "$(grep -oE "$known" ours.known | sort -u | wc -l)" = 4 ]
ok $? "S0-015: each as perf prints it" || diag "$(diff theirs.known ours.known | head -6)"
done_testing
