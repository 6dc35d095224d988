#!/usr/bin/env python3
"""Delays of threads, computed once more from the events that perf prints.

usage: sched_oracle.py latency SONDE FILE     compares `sched latency -p --json` with sums over `perf script`
       sched_oracle.py timehist SONDE FILE    compares the lines of `sched timehist` with those of perf
       sched_oracle.py map SONDE FILE         the same for `sched map`

Prints what differs, and a closing line: "N compared, 0 differ".
"""

import json
import re
import subprocess
import sys


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, errors="replace", check=False).stdout


def events(path):
    line = re.compile(r"\s*(-?\d+)\s+\[(\d+)\]\s+(\d+)\.(\d+):\s+sched:(\w+):\s?(.*)")
    for text in run("perf", "script", "-i", path, "--ns", "-F", "tid,cpu,time,event,trace").splitlines():
        m = line.match(text)
        if m:
            yield int(m[2]), int(m[3]) * 10**9 + int(m[4]), m[5], m[6]


def delays(path):
    """tid -> [delays, sum, longest]; tids that a CPU left without having gone to them are not judged."""
    ready, seen, current, sums, doubtful, waking = {}, set(), {}, {}, set(), {}
    for cpu, time, name, text in events(path):
        if name == "sched_switch":
            m = re.search(r" prev_pid=(\d+) prev_prio=-?\d+ prev_state=(\S+) ==> .* next_pid=(\d+) ", text)
            prev, state, nxt = int(m[1]), m[2], int(m[3])
            if current.get(cpu, prev) != prev:
                doubtful |= {prev, current[cpu]}
            current[cpu] = nxt
            seen.add(prev)
            ready.pop(prev, None)
            if state[0] == "R":
                ready[prev] = time
            elif time - waking.pop(prev, 0) < 100000:
                doubtful.add(prev)  # woken while it was about to sleep
            if nxt not in seen and nxt not in ready:
                ready[nxt] = time
            seen.add(nxt)
            if nxt in ready:
                d = time - ready.pop(nxt)
                row = sums.setdefault(nxt, [0, 0, 0])
                row[0] += 1
                row[1] += d
                row[2] = max(row[2], d)
        elif name in ("sched_waking", "sched_wakeup", "sched_wakeup_new"):
            pid = int(re.search(r" pid=(\d+) ", text)[1])
            if pid in current.values():
                waking[pid] = time
            elif pid not in ready:
                ready[pid] = time
                seen.add(pid)
        elif name == "sched_process_fork":
            m = re.search(r"child_pid=(\d+)", text)
            seen.discard(int(m[1]))
            ready.pop(int(m[1]), None)
    return {tid: row for tid, row in sums.items() if tid and tid not in doubtful}


def latency(sonde, path):
    want = delays(path)
    got = {}
    for row in json.loads(run(sonde, "sched", "latency", "-p", "--json", "-i", path))["tasks"]:
        a = got.setdefault(row["tid"], [0, 0, 0])
        a[0] += row["switches"]
        a[1] += row["delay_ns"]
        a[2] = max(a[2], row["max_delay_ns"])
    return [(tid, got.get(tid), want[tid]) for tid in want]


def table(text):
    """(time, cpu, wait, delay, run, task) of each line."""
    line = re.compile(r"\s*(\d+\.\d+) \[(\d+)\]\s+(?P<task>.*?)\s+(\d+\.\d{3})\s+(\d+\.\d{3})\s+(\d+\.\d{3}) ")
    return [m.group(1, 2, 4, 5, 6, "task") for m in map(line.match, text.splitlines()) if m]


def timehist(sonde, path):
    """perf 6.1 has no delay for threads that were preempted, and guesses where a CPU left another thread than it had gone to.

    All threads that have ended, and leave a CPU for the last time without a number in their samples, are one thread for perf: :-1."""
    ours = table(run(sonde, "sched", "timehist", "-i", path))
    perfs = table(run("perf", "sched", "timehist", "-i", path))
    if len(ours) != len(perfs):
        return [("lines", len(ours), len(perfs))]
    out = []
    for a, b in zip(ours, perfs):
        unknown = a[2:4] == ("0.000", "0.000") or b[5].startswith(":-1[")
        ran = a[4] == b[4] or a[2:5] == ("0.000", "0.000", "0.000")
        same = a[:2] == b[:2] and ran and (unknown or (a[2] == b[2] and b[3] in (a[3], "0.000")))
        out.append((a, b if not same else True, True))
    out.append(("lines with a wait", sum(a[2] == b[2] != "0.000" for a, b in zip(ours, perfs)) * 4 > len(ours), True))
    return out


def plain_map(text):
    return [re.sub(r" secs .*", " secs", line) for line in text.splitlines() if " secs " in line]


def show_map(sonde, path):
    ours, perfs = plain_map(run(sonde, "sched", "map", "-i", path)), plain_map(run("perf", "sched", "map", "-i", path))
    return [("lines", len(ours), len(perfs))] + [(i, a, b) for i, (a, b) in enumerate(zip(ours, perfs))]


def main():
    pairs = {"latency": latency, "timehist": timehist, "map": show_map}[sys.argv[1]](*sys.argv[2:])
    bad = [p for p in pairs if p[1] != p[2]]
    for p in bad[:10]:
        print(*p)
    print(f"{len(pairs)} compared, {len(bad)} differ")


main()
