#!/usr/bin/env bash
# where: host
# needs: root
# The critical path of a chain of processes: each stage is in it, for as long as it measured itself.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events taskset python3
cd "$SONDE_TMP" || exit 1

on_cpu_with_idle_events

# main waits for stage4, which waits for stage3 ..., and they begin when all of them do; each sleeps for a time of its own before it answers. Beside them somebody sleeps longer, for
# whom nobody waits.
cat >chain.py <<'END'
import ctypes, os, time
libc = ctypes.CDLL(None)
said = open("said", "w")
def name(text):
    libc.prctl(15, text.encode(), 0, 0, 0)
idler = os.fork()
if not idler:
    name("idler")
    time.sleep(3)
    os._exit(0)
def state(pid):
    return open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0]
def wait_for_sleep(pid):
    while state(pid) != "S":
        time.sleep(0.001)
main = os.getpid()
before, go = os.pipe()
stages = []
for i in range(1, 5):
    r, w = os.pipe()
    stages.append(os.fork())
    if not stages[-1]:
        name(f"stage{i}")
        os.read(before, 1)
        if i == 1:
            wait_for_sleep(main)
        since = time.monotonic_ns()
        time.sleep(0.05 * i)
        slept = time.monotonic_ns() - since
        print(f"stage{i} {os.getpid()} {slept}", file=said, flush=True)
        os.write(w, b"x")
        os._exit(0)
    os.close(w)
    before = r
for pid in stages:
    wait_for_sleep(pid)
os.write(go, b"x")
since = time.monotonic_ns()
os.read(before, 1)
print("main", os.getpid(), time.monotonic_ns() - since, file=said, flush=True)
os.kill(idler, 9)
END
exits 0 "record" "$SONDE" sched record -q -g -o chain.data -- python3 chain.py
pid=$(awk '$1 == "main" { print $2 }' said)
waited=$(awk '$1 == "main" { print $3 }' said)
exits 0 "critical -p" "$SONDE" sched critical -p "$pid" --rows 0 -i chain.data
like "$out" "^ +[0-9.]+ ms 100\.00 %  [^ ]+\[$pid\]\$" "the interval is the process's life"
like "$out" "\[$pid\] blocked, [0-9]+x: .*pipe_read" "in which it read from a pipe"
like "$out" '^ +[0-9.]+ ms +[0-9.]+ % +stage4\[[0-9]+\] blocked until an interrupt \(timer, device\), 1x: .*nanosleep' "while stage4 slept"
like "$out" '^stage1\[[0-9]+\] +.* ms \([0-9.]+ %\)$' "and stage1, four levels down, has its part"
unlike "$out" 'idler' "for whom nobody waited is not in it"
exits 0 "--json" "$SONDE" sched critical -p "$pid" --json -i chain.data
python3 -c '
import json, sys
o = json.load(sys.stdin)
wall = o["until_ns"] - o["from_ns"]
said = {l.split()[0]: (int(l.split()[1]), int(l.split()[2])) for l in open("said")}
print("sum", sum(t["shorter_at_most_ns"] for t in o["threads"]) == wall, sum(n["ns"] for n in o["path"] if n["kind"] != "for-others" and n["depth"]) == wall)
parts = {t["tid"]: t for t in o["threads"]}
slept = {}
for n in o["path"]:
    if n["kind"] == "interrupt":
        slept[n["tid"]] = slept.get(n["tid"], 0) + n["ns"]
# What a stage measured is its sleep and the wait for a CPU after it; of the latter the path has no more than the whole part of the stage.
for name, (tid, ns) in sorted(said.items()):
    if name != "main":
        part = parts[tid]["shorter_at_most_ns"]
        print(name, slept[tid] <= ns * 1.02 and part >= ns * 0.98)
read = sum(n["ns"] for n in o["path"] if n["kind"] == "for-others" and n["depth"] == 1 and "pipe_read" in n.get("stack", ""))
# What main measured is that wait, and what it then waited for a CPU until it could look at its clock.
late = sum(n["ns"] for n in o["path"] if n["kind"] == "ready" and n["depth"] == 1)
waited = int(sys.argv[1])
print("main", read <= 1.02 * waited and read + late >= 0.98 * waited or (read, late, waited))' "$waited" <<<"$out" >checked
is "$(cat checked)" "sum True True
stage1 True
stage2 True
stage3 True
stage4 True
main True" "threads and leaves add up to the interval; each stage is in it for as long as it measured"

exits 0 "between two events" "$SONDE" sched critical --from sched_process_fork --to sched:sched_waking -p "$pid" -i chain.data
like "$out" "^ +[0-9.]+ ms 100\.00 %  [^ ]+\[$pid\]\$" "of one process"
exits 0 "of a trace.dat" "$SONDE" sched critical --to sched_switch -i "$SONDE_SRC/tests/data/trace/6.1-events_v6.dat"
like "$out" ' 100\.00 %' "there as well"

# Mistakes.
exits 129 "no interval" "$SONDE" sched critical -i chain.data
like "$err" 'which interval\? -p PID' "is asked for"
exits 1 "a process that was not there" "$SONDE" sched critical -p 1999999999 -i chain.data
like "$err" 'nothing was recorded of process 1999999999' "is named"
exits 1 "an event that was not recorded" "$SONDE" sched critical --to nothing:here -i chain.data
like "$err" '--to nothing:here: .* has no such event' "is named"
exits 129 "no number" "$SONDE" sched critical -p x -i chain.data
done_testing
