"""Events of a trace.dat as samples, against its events one by one: usage: samples.py SONDE FILE."""
import collections
import json
import re
import subprocess
import sys

sonde, path = sys.argv[1:]


def run(*args):
    return subprocess.run([sonde, *args], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          errors="replace").stdout


events = [json.loads(line) for line in run("ftrace", "report", "--json", path).splitlines()]
# What the report prints of stacks, in the same order as the events that are stacks.
stacks = []
for line in run("ftrace", "report", path).splitlines():
    if re.search(r": (kernel_stack|user_stack): ", line):
        stacks.append([])
    m = re.match(r"=> (\S+) \(([0-9a-f]+)\)", line)
    if m and stacks:
        stacks[-1].append((int(m[2], 16), m[1]))
    m = re.search(r"\t=> 0x([0-9a-f]+)$", line)
    if m and stacks and int(m[1], 16):
        stacks[-1].append((int(m[1], 16), None))

# A stack belongs to the event right before it on its CPU, if that is of the same task.
want, last, taken = [], {}, 0
for e in events:
    lane = (e.get("buffer"), e["cpu"])
    if e["system"] == "ftrace" and e["event"] in ("kernel_stack", "user_stack"):
        owner = last.get(lane)
        if owner and owner["pid"] == e["pid"] and e.get("missed_before", 0) == 0 and e["event"] not in owner:
            owner[e["event"]] = stacks[taken]
        else:
            last[lane] = None
        taken += 1
        continue
    last[lane] = e
    want.append(e)
assert taken == len(stacks), (taken, len(stacks))
for e in want:
    e["stack"] = e.get("kernel_stack", []) + e.get("user_stack", [])
assert not stacks or any(e["stack"] for e in want), "stacks, but none of an event"

# script: every event once, in order, with its stack.
got = json.loads(run("script", "--json", "-i", path))
key = lambda e: (e.get("time_ns", e.get("time")), e["cpu"], e["pid"], e["comm"] or ":%d" % e["pid"], e["system"] + ":" + e["event"])
seen = lambda s: (s["time_ns"], s["cpu"], s["tid"], s["comm"], s["event"])
assert [seen(s) for s in got] == [key(e) for e in want], "script shows other events"
chained = 0
for s, e in zip(got, want):
    mine = e["stack"]
    theirs = [(p["ip"], p.get("symbol")) for p in s.get("chain", [])]
    assert [a for a, _ in mine] == [a for a, _ in theirs], (mine, theirs)
    assert all(n == m or not n for (_, n), (_, m) in zip(mine, theirs)), (mine, theirs)
    chained += bool(mine)

# report: events of each kind, and calls by their own time.
rows = {e["event"]: e for e in json.loads(run("report", "--json", "-g", "none", "-s", "sym", "-i", path))["events"]}
count = collections.Counter(e["system"] + ":" + e["event"] for e in want)
calls = count.pop("ftrace:funcgraph_exit", 0)
count.pop("ftrace:funcgraph_entry", 0)
graph = json.loads(run("ftrace", "graph", "--json", "--tree", path))
if calls:
    # Calls that ended without a time of their own are the only ones that do not count.
    timed = sum(f["calls"] for f in graph["functions"])
    own = rows.pop("function_graph")
    assert own["samples"] == timed <= calls, (own["samples"], timed, calls)
    assert own["period"] == sum(f["self_ns"] for f in graph["functions"]), "the calls weigh something else"
assert {n: r["samples"] for n, r in rows.items()} == dict(count), (rows.keys(), count)
assert all(r["samples"] == r["period"] for r in rows.values()), "an event weighs 1"

# flame: the stacks of calls weigh what the call tree says.
if calls:
    # Of several names of one address reports choose as trace-cmd does, profiles as perf; what has none is its number, or the kernel.
    # For trace-cmd the very last symbol (mod_b, in made-up files) has only its first byte.
    alias = {"_stext": "_text", "beta_other": "beta", "beta_alias": "beta", "mod_b": "[kernel.kallsyms]"}
    name = lambda f: alias.get(f, "[kernel.kallsyms]" if re.match("0x", f) else f)
    leaf, way = collections.Counter(), collections.Counter()
    for line in run("flame", "--folded", "-i", path).splitlines():
        words, weight = line.rsplit(" ", 1)
        frames = words.split(";")[1:]
        leaf[name(frames[-1]) if frames else None] += int(weight)
        way[tuple(map(name, frames))] += int(weight)
    if not count:
        by_name, tree = collections.Counter(), collections.Counter()
        for f in graph["functions"]:
            by_name[name(f["function"])] += f["self_ns"]
        nodes = {n["id"]: n for n in graph["tree"]}
        for n in graph["tree"]:
            names, at = [], n
            while at:
                names.append(name(at["function"]))
                at = nodes.get(at["parent"])
            tree[tuple(reversed(names))] += n["self_ns"]
        assert +leaf == +by_name, (leaf, by_name)
        if not graph["without_start"]:
            assert +way == +tree, ("the ways weigh something else", (way - tree).most_common(3), (tree - way).most_common(3))
print(len(want), "samples", chained, "with a stack,", calls, "calls")
