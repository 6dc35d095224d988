#!/usr/bin/env bash
# where: host
# needs: root
# Where threads wait: planted waits are found with their culprits, as long as the workload measured itself, live and from recordings.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events taskset python3
cd "$SONDE_TMP" || exit 1

between() { # VALUE LOW HIGH NAME
	[ -n "$1" ] && [ "$1" -ge "$2" ] && [ "$1" -le "$3" ]
	ok $? "$4" || diag "got $1, want $2 to $3"
}

on_cpu_with_idle_events

# A pipe between two: the reader waits for the writer, the writer for its timer, and the reader says how long.
cat >pingpong.py <<'END'
import os, sys, time, ctypes
libc = ctypes.CDLL(None)
r, w = os.pipe()
pid = os.fork()
if not pid:
    libc.prctl(15, b"slow_writer", 0, 0, 0)
    os.close(r)
    for i in range(10):
        time.sleep(0.03)
        os.write(w, b"x")
    os._exit(0)
libc.prctl(15, b"fast_reader", 0, 0, 0)
os.close(w)
begin = time.monotonic_ns()
waited = 0
while True:
    since = time.monotonic_ns()
    got = os.read(r, 1)
    if not got:
        break
    waited += time.monotonic_ns() - since
print(waited, os.getpid(), file=open("said", "w"))
END
exits 0 "flame --off-cpu -- COMMAND" "$SONDE" flame --off-cpu --wakers 2 --folded -o pipe.txt -- python3 pingpong.py
read -r waited pid <said
# All that ends in the pipe: blocked, and then ready but without a CPU.
seen=$(awk '/^fast_reader;\[(blocked|waiting for a CPU)\];/ && /pipe_read/ { sum += $NF } END { print sum + 0 }' pipe.txt)
between "$seen" $((waited * 98 / 100)) $((waited * 102 / 100)) "the reader waited in the pipe, as long as it measured: $waited"
like "$(cat pipe.txt)" '^fast_reader;\[blocked\];.*pipe_read;\[woken by slow_writer\];.*pipe_write.*;\[woken by an interrupt\] [0-9]+$' "for the writer, which a timer had woken"
like "$(cat pipe.txt)" '^slow_writer;\[idle\];[a-z_]*sleep[a-z_]* [0-9]+$' "whose own waits are idle, and one frame"
unlike "$(cut -d';' -f1 pipe.txt | sort -u)" 'sonde|swapper' "nobody else is in the picture"

# A convoy: the waiters' waits are those of one lock.
if "$SONDE" workload convoy 1 >/dev/null 2>why; then
	exits 0 "record --off-cpu" "$SONDE" record --off-cpu -F 999 -o convoy.data -- "$SONDE" workload convoy 300 -t 4
	waited=$(awk '{ sum += $2; n++ } END { print sum }' <<<"$out")
	tids=$(awk '{ print $1 }' <<<"$out" | paste -sd,)
	exits 0 "flame --off-cpu FILE" "$SONDE" flame --off-cpu --folded convoy.data -t "$tids"
	seen=$(awk '/pwrite/ && /rwsem|inode_lock|down_write/ { sum += $NF } END { print sum + 0 }' <<<"$out")
	between "$seen" $((waited * 98 / 100)) $((waited * 102 / 100)) "four waiters' time is where they wait for the lock: $waited"
	like "$out" '^sonde;\[blocked, uninterruptible\];.*pwrite' "in the state that says so"
	exits 0 "with wakers" "$SONDE" flame --off-cpu --wakers 1 --folded convoy.data -t "$tids"
	like "$out" ';\[woken by sonde\];.*(rwsem|up_write).*write' "woken by who held it"
else
	skip "$(head -1 why)" "a convoy"
fi

# All of the threads' time, with samples of what runs. The picture's sum is that of the threads, to the nanosecond.
cat >phases.py <<'END'
import os, time
begin = time.monotonic_ns()
while time.process_time() < 0.4:
    pass
time.sleep(0.3)
print(time.monotonic_ns() - begin, time.process_time_ns(), os.getpid())
END
exits 0 "record both" "$SONDE" record --off-cpu -F 999 -e cpu-clock -o phases.data -- python3 phases.py
read -r wall cpu pid <<<"$out"
exits 0 "flame --wall --json" "$SONDE" flame --wall --json -o wall.html phases.data -p "$pid"
python3 -m json.tool <<<"$out" >/dev/null
ok $? "is JSON"
times=$(python3 -c '
import json, sys
t = [t for t in json.load(sys.stdin)["threads"] if t["tid"] == int(sys.argv[1])][0]
print(t["wall_ns"], t["running_ns"], t["ready_ns"], t["blocked_ns"], t["unknown_ns"])' "$pid" <<<"$out")
read -r seen running ready blocked unknown <<<"$times"
# It starts and ends outside of what it measured: that adds, and cannot be long but for a busy machine.
ok "$((seen < wall * 99 / 100))" "the thread's time is at least what it measured: $seen, $wall"
between "$running" $((cpu * 98 / 100)) $((cpu * 110 / 100 + 20000000)) "it ran as long as its own clock says: $cpu"
between $((running + ready + blocked + unknown)) "$seen" "$seen" "its states add up to its time"
exits 0 "flame --wall --folded" "$SONDE" flame --wall --folded phases.data -p "$pid"
sum=$(awk '{ sum += $NF } END { printf "%d\n", sum }' <<<"$out")
between "$sum" "$seen" "$seen" "and so do the stacks"
like "$out" '^python3;\[running\];.* [0-9]+$' "it was seen running"
like "$out" '^python3;\[idle\];[a-z_]*sleep[a-z_]* [0-9]{9}$' "and idle while it slept"
exits 0 "--idle-stacks" "$SONDE" flame --wall --idle-stacks --folded phases.data -p "$pid"
like "$out" '^python3;\[idle\];.*nanosleep.*;do_nanosleep' "shows where"
exits 0 "live" "$SONDE" flame --wall --json -o live.html -- python3 phases.py
like "$(cat live.html)" 'wall-clock|SONDE|<script' "makes a page"

# A process that is there already; the recording ends with it.
"$SONDE" workload leaf 1 &
busy=$!
exits 0 "flame --wall -p" "$SONDE" flame --wall --folded -p $busy
wait $busy 2>/dev/null
like "$out" '^sonde;\[running\];.*workload_leaf [0-9]+$' "follows a process until it ends"
sleep 60 &
asleep=$!
exits 1 "a process that does nothing" "$SONDE" flame --off-cpu --folded -p $asleep -- true
like "$err" 'no waits of these threads in the recording' "has no waits that anybody saw"
kill $asleep

# Losses: rings of a page cannot hold what comes while the reader is stopped.
"$SONDE" flame --off-cpu -m 1 -a --folded -o lossy.txt -- bash -c '
	kill -STOP $PPID
	for ((i = 0; i < 200; i++)); do /bin/true; done
	kill -CONT $PPID; sleep 0.1' 2>lossy.err
like "$(cat lossy.err)" 'warning: events were lost [0-9]+ times?: [0-9.]+ s' "losses are told"

# Mistakes.
exits 129 "both" "$SONDE" flame --off-cpu --wall -- true
like "$err" 'mutually exclusive' "are one too many"
exits 129 "--wakers without waits" "$SONDE" flame --wakers 1 -- true
exits 129 "too many wakers" "$SONDE" flame --off-cpu --wakers 9 -- true
exits 129 "an event" "$SONDE" flame --off-cpu -e cpu-clock -- true
like "$err" "their events are the scheduler's" "cannot be chosen"
"$SONDE" record -q -e cpu-clock -F 999 -o clock.data -- "$SONDE" workload leaf 0.1
exits 1 "a recording without the scheduler" "$SONDE" flame --off-cpu --folded clock.data
like "$err" 'no sched:sched_switch events.*' "is told so"
like "$err" 'hint: .*record --off-cpu' "with what to record"
done_testing
