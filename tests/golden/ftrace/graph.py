"""The same sums from the events one by one: usage: graph.py EVENTS.json GRAPH.json (of `ftrace report --json`, `ftrace graph --json --tree`)."""
import collections
import json
import sys

calls, total, self_ns, longest = (collections.Counter() for _ in range(4))
tree = collections.Counter()
stacks = collections.defaultdict(list)
for line in open(sys.argv[1]):
    e = json.loads(line)
    if e.get("missed_before", 0) != 0:
        stacks.clear()
    if e["system"] != "ftrace" or not e["event"].startswith("funcgraph_"):
        continue
    f = e["fields"]
    stack = stacks[e["pid"] or ("cpu", e["cpu"])]
    del stack[f["depth"] + (e["event"] == "funcgraph_exit"):]
    while len(stack) < f["depth"]:
        stack.append([None, 0])
    if e["event"] == "funcgraph_entry":
        stack.append([f["func"], 0])
        continue
    ns = f["rettime"] - f["calltime"]
    own = stack[f["depth"]] if len(stack) > f["depth"] else [None, 0]
    path = tuple(s[0] for s in stack)
    if own[0] == f["func"]:
        # Frames without a start hang where the last known way ends.
        tree[tuple(p for p in path if p is not None)] += ns
    del stack[f["depth"]:]
    inside = own[1]
    calls[f["func"]] += 1
    self_ns[f["func"]] += ns - min(ns, inside)
    longest[f["func"]] = max(longest[f["func"]], ns)
    if not any(s[0] == f["func"] for s in stack):
        total[f["func"]] += ns
    if f["depth"]:
        stack[f["depth"] - 1][1] += ns

g = json.load(open(sys.argv[2]))
mine = sorted((calls[f], total[f], self_ns[f], longest[f]) for f in calls)
got = sorted((r["calls"], r["total_ns"], r["self_ns"], r["max_ns"]) for r in g["functions"])
assert calls, "no calls at all"
assert mine == got, (mine[:3], got[:3])
assert sum(tree.values()) == sum(n["total_ns"] for n in g["tree"]), "the tree weighs something else"
assert len(tree) == sum(n["calls"] > 0 for n in g["tree"]), (len(tree), len(g["tree"]))
print(len(got), "functions", sum(calls.values()), "calls")
