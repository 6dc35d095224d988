#!/usr/bin/env bash
# `sonde lock`: a planted convoy is found, with its lock, its threads and their waits as the threads measured them; the bytes of perf's
# tables where perf is installed.
# where: host 6.1 6.12
# needs: root
# timeout: 60
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events
[ -e $tracefs/events/lock/contention_begin ] || skip_all "kernel without lock:contention_begin"
cd "$SONDE_TMP" || exit 1
mkdir bin && ln -s "$SONDE" bin/perf

# "TID NS" of each waiter. By the root: users may not catch faults of the kernel.
if ! "$SONDE" workload convoy 1 >/dev/null 2>why; then skip_all "$(head -1 why)"; fi
exits 0 "lock record -- COMMAND" "$SONDE" lock record -q -o lock.data -- "$SONDE" workload convoy 200 -t 5
printf '%s\n' "$out" >waited
is "$(grep -c . waited)" 5 "five threads waited"

exits 0 "lock contention" "$SONDE" lock contention lock.data
is "$err" "" "and no messages"
# Of all waits, the convoy's are the first row: one lock, five threads. The file is one of tmpfs, which had a function of its own later.
row=$(printf '%s\n' "$out" | sed -n 3p)
like "$row" "^ +5 .* rwsem:W   [a-z_]*write[a-z_]*\+0x" "the code that waited for the file's lock"
exits 0 "-t" "$SONDE" lock contention -t --json lock.data
printf '%s\n' "$out" >threads.json
exits 0 "-l" "$SONDE" lock contention -l lock.data
like "$(printf '%s\n' "$out" | sed -n 3p)" "^ +5 .*   ff[0-9a-f]{14}   .*\(rwsem:W\)$" "one lock"

# What each thread measured contains its wait, and little else; 2 % of the whole time, or the time that a busy machine takes to run it again.
if command -v python3 >/dev/null; then
	python3 - waited threads.json >compared <<'END'
import json, sys
own = {int(t): int(ns) for t, ns in (l.split() for l in open(sys.argv[1]))}
found = {r["tid"]: r for r in json.load(open(sys.argv[2]))["locks"]}
for tid, ns in own.items():
    got = found.get(tid, {"wait_max_ns": 0})["wait_max_ns"]
    print("within" if 200e6 <= got <= ns else f"tid {tid}: waited {ns}, found {got}")
    print("near" if ns - got < 0.02 * ns + 20e6 else f"tid {tid}: waited {ns}, found {got}")
END
	is "$(sort compared | uniq -c | awk '{ print $1, $2 }' | paste -sd' ')" "5 near 5 within" "waits are those that the threads measured"
else
	skip "no python3" "waits are those that the threads measured"
fi
exits 0 "info" "$SONDE" lock info -t lock.data
like "$out" "^ +$(awk 'NR == 1 { print $1 }' waited): sonde$" "the threads"
exits 0 "report" "$SONDE" lock report -k wait_total -F acquired,wait_total lock.data
like "$(printf '%s\n' "$out" | sed -n 1p)" "^                Name   acquired   total wait $" "columns of -F"
exits 129 "an unknown key" "$SONDE" lock report -k nothing lock.data
like "$err" "unknown key 'nothing'" "is named"

# Called as perf: results where perf prints them.
exits 0 "perf lock contention" bin/perf lock contention -i lock.data
is "$out" "" "called as perf, standard output is empty"
like "$err" "rwsem:W" "results are on standard error"
# perf does not know the names of these threads, and the order of equals is that of its hash table.
plain() { sed -E 's/ (:[0-9]+|sonde)\b */ THREAD /; s/ +/ /g' | sort; }
needs_or_skip "perf's tables" perf || for args in contention "contention -t" report "report -t" "contention -k wait_max -F contended,wait_max" "info -m"; do
	# shellcheck disable=SC2086
	perf lock $args -i lock.data 2>&1 | plain >theirs
	# shellcheck disable=SC2086
	bin/perf lock $args -i lock.data 2>&1 | plain >ours
	grep -q . theirs && cmp -s ours theirs
	ok $? "lock $args: what perf prints" || diag "$(diff theirs ours | head -20)"
done
exits 129 "contention in the kernel" "$SONDE" lock contention -b
like "$err" "use 'run lockwait'" "names what adds up there"
exits 129 "owners" "$SONDE" lock contention -o
like "$err" "'sched why' shows who woke" "names what tells of them"
done_testing
