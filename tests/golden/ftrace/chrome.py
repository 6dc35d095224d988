"""`export --to perfetto` of a trace.dat against its events one by one: usage: chrome.py SONDE FILE TRACE.json."""
import collections
import json
import subprocess
import sys

sonde, path, made = sys.argv[1:]
CPUS, RUNNING, IRQS, CALLS, MARKS, LOST = range(1 << 30, (1 << 30) + 6)
text = subprocess.run([sonde, "ftrace", "report", "--json", path], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
events = [json.loads(line) for line in text.decode(errors="replace").splitlines()]
trace = json.load(open(made))["traceEvents"]
time = lambda e: e.get("time_ns", e.get("time"))
stack = lambda e: e["system"] == "ftrace" and e["event"] in ("kernel_stack", "user_stack")
times = [time(e) for e in events if not stack(e)]
first, last = min(times), max(times)
ns = lambda us: round(us * 1000)

# What follows from the events.
run, call, irq, func, marks, instants = (collections.Counter() for _ in range(6))
lost = gaps = 0
on, seen, irqs, entered, stacks, open_marks, counters, arrows = {}, {}, collections.defaultdict(list), {}, collections.defaultdict(list), {}, 0, 0
gap_at = 0


def end_run(cpu, now):
    pid, since, comm = on.pop(cpu, (0, 0, ""))
    if pid:
        run[cpu, pid, comm] += now - since


for e in events:
    cpu, pid, now, f = e["cpu"], e["pid"], time(e), e["fields"]
    name = e["system"] + ":" + e["event"]
    missed = e.get("missed_before", 0)
    if missed != 0:  # None: nobody knows how many
        gaps += 1
        lost += missed or 0
        gap_at += 1
        stacks.clear()
        end_run(cpu, seen.get(cpu, first))
        irqs[cpu] = []
    if stack(e):
        continue
    if name.startswith("ftrace:funcgraph_"):
        stack_of = stacks[pid or ("cpu", cpu)]
        ends = e["event"] == "funcgraph_exit"
        del stack_of[f["depth"] + ends:]
        while len(stack_of) < f["depth"]:
            stack_of.append(None)
        if not ends:
            stack_of.append((f["func"], now))
        else:
            own = stack_of.pop() if len(stack_of) > f["depth"] else None
            if own and own[0] == f["func"]:
                func[pid] += now - own[1]
    elif name == "ftrace:print":
        buf = f["buf"].rstrip("\n")
        if buf.startswith("B|"):
            open_marks.setdefault(pid, []).append((buf.split("|", 2)[2], now))
        elif buf.startswith("E|"):
            if open_marks.get(pid):
                what, since = open_marks[pid].pop()
                marks[what] += now - since
        elif buf.startswith("C|"):
            counters += 1
        else:
            instants[buf] += 1
    else:
        instants[name] += 1
    if name == "sched:sched_switch":
        end_run(cpu, now)
        on[cpu] = (f["next_pid"], now, f["next_comm"])
    if name.startswith(("syscalls:sys_enter", "raw_syscalls:sys_enter")):
        entered[pid] = (now, gap_at)
    if name.startswith(("syscalls:sys_exit", "raw_syscalls:sys_exit")):
        since, gap = entered.pop(pid, (0, -1))
        if gap == gap_at:
            call[pid] += now - since
    if name in ("irq:irq_handler_entry", "irq:softirq_entry"):
        irqs[cpu].append((name[:-6], f.get("irq", f.get("vec")), now))
    if name in ("irq:irq_handler_exit", "irq:softirq_exit"):
        key = (name[:-5], f.get("irq", f.get("vec")))
        at = [i for i, o in enumerate(irqs[cpu]) if o[:2] == key]
        if at:
            irq[cpu] += now - irqs[cpu][at[-1]][2]
            del irqs[cpu][at[-1]:]
    if name in ("power:cpu_frequency", "power:cpu_idle", "power:clock_set_rate") or (name == "kmem:rss_stat" and f.get("curr", 1)):
        counters += 1
    seen[cpu] = now
for cpu in list(on):
    end_run(cpu, last)
for pid, (since, gap) in entered.items():
    if gap == gap_at:
        call[pid] += last - since

# The same from the trace.
slices = [e for e in trace if e["ph"] == "X"]
got = {k: collections.Counter() for k in ("run", "by task", "call", "irq", "func", "marks")}
got_lost = got_gaps = 0
for s in slices:
    dur = ns(s["dur"])
    if s["pid"] == CPUS:
        got["run"][s["tid"], s["args"]["tid"], s["name"]] += dur
    elif s["pid"] == RUNNING:
        got["by task"][s["args"]["cpu"], s["tid"]] += dur
    elif s["pid"] == IRQS:
        got["irq"][s["tid"]] += dur
    elif s["pid"] == CALLS:
        got["func"][s["tid"] if s["tid"] > 0 else 0] += dur
        assert "args" not in s, "calls of one function differ in what is said of them"
    elif s["pid"] == MARKS:
        got["marks"][s["name"]] += dur
    elif s["pid"] == LOST:
        got_gaps += 1
        got_lost += s.get("args", {}).get("events", 0)
    else:
        got["call"][s["tid"]] += dur
assert +got["run"] == +run, ("who ran where", (got["run"] - run).most_common(3), (run - got["run"]).most_common(3))
by_task = collections.Counter()
for (cpu, pid, _), v in run.items():
    by_task[cpu, pid] += v
assert +got["by task"] == +by_task, "who ran, by task"
assert +got["call"] == +call, ("system calls", (got["call"] - call).most_common(3), (call - got["call"]).most_common(3))
assert +got["irq"] == +irq, ("interrupts", got["irq"], irq)
assert +got["func"] == +func, ("functions", got["func"], func)
assert got["marks"] == marks, ("markers", got["marks"], marks)
assert (got_gaps, got_lost) == (gaps, lost), ("gaps", got_gaps, gaps, got_lost, lost)
assert sum(e["ph"] == "C" for e in trace) == counters, ("counters", counters)
points = [e for e in trace if e["ph"] == "i"]
mine = collections.Counter(e["name"] for e in points)
assert mine == instants, ("instants", mine - instants, instants - mine)

# Its form: times, nesting, arrows, names.
assert all(e["ts"] >= 0 for e in trace if "ts" in e) and all(s["dur"] >= 0 for s in slices)
assert all(a["ts"] <= b["ts"] for a, b in zip(points, points[1:])), "instants out of order"
tracks = collections.defaultdict(list)
for s in slices:
    tracks[s["pid"], s["tid"]].append((ns(s["ts"]), ns(s["ts"]) + ns(s["dur"]), s["name"]))
for track, all_of in tracks.items():
    inside = []
    for a, b, name in sorted(all_of, key=lambda x: (x[0], -x[1])):
        while inside and inside[-1][0] <= a:
            inside.pop()
        assert not inside or b <= inside[-1][0], ("overlap", track, name, a, b, inside)
        inside.append((b, name))
# The same as readers do it, in floating point: since the track's first slice, and the end by adding. Not a hair may be left over.
tracks_us = collections.defaultdict(list)
for s in slices:
    tracks_us[s["pid"], s["tid"]].append((s["ts"], s["dur"], s["name"]))
for track, all_of in tracks_us.items():
    since, inside = min(ts for ts, _, _ in all_of), []
    for a, b, name in sorted(((ts - since, ts - since + dur, name) for ts, dur, name in all_of), key=lambda x: (x[0], -x[1])):
        while inside and inside[-1] <= a:
            inside.pop()
        assert not inside or b <= inside[-1], ("overlap by rounding", track, name, a, b, inside)
        inside.append(b)
assert all(int(e["ts"] * 1000) == ns(e["ts"]) for e in trace if "ts" in e), "who cuts off gets another nanosecond than who rounds"
starts = {}
for e in trace:
    if e["ph"] == "s":
        assert any(a <= ns(e["ts"]) <= b for a, b, _ in tracks[e["pid"], e["tid"]]), ("an arrow from nowhere", e)
        starts[e["id"]] = e
    elif e["ph"] == "f":
        assert starts[e["id"]]["ts"] <= e["ts"], "an arrow backwards"
        assert any(a == ns(e["ts"]) for a, b, _ in tracks[e["pid"], e["tid"]]), ("an arrow to nowhere", e)
        arrows += 1
named = {(e["pid"], e["tid"]) for e in trace if e["ph"] == "M" and e["name"] == "thread_name"}
assert all((e["pid"], e["tid"]) in named for e in slices + points), "a track without a name"
print(len(points), "instants,", len(slices), "slices,", counters, "counts,", arrows, "arrows,", gaps, "gaps")
