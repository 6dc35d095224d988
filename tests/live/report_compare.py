#!/usr/bin/env python3
"""Compares two texts of `report --stdio`: perf's and ours.

usage: report_compare.py [--bytes] [--sym-first] [--plant N] PERF OURS

Every row is found by its key columns and must have the same percentages (and counts); its call graph must be the same text, or
the same but for the order of siblings that show equal percentages. Nothing may be left over on either side. Headers (samples, events,
counts, columns) must be equal. With --bytes the texts must be equal line by line, in order.

What is masked, and why, is the list FAULTS; each entry says what perf does wrong. --plant N first changes the N-th percentage of OURS
by 0.01 (0: one in a call graph), which must make the comparison fail.

Prints a summary and differences; exit status 0 when equal.
"""

import re
import sys
from collections import Counter

FAULTS = """
unknown-letter   For an address that no map covers perf keeps the level letter of the frame it looked at before: rows of [unknown]
                 show [k] for user addresses below a kernel frame. Ours shows the level of the address itself. Masked: the letter in
                 rows whose object is [unknown].
sym-first        With --sort sym... perf leaves out the first function of a graph, because it is the row's own. In caller order it is
                 not: there it is the outermost caller, and perf hides it. Ours hides it only if it is the row's own. Masked (with
                 --sym-first): that line of our graph.
"""

ROW = re.compile(r"^ +(\d+\.\d\d)%")
BRANCH = re.compile(r"-(\d+\.\d\d)%--")


def mask(line):
    """FAULTS, applied to one row. An address without a name is one without an object, when the object is not shown."""
    return re.sub(r"(\[unknown\] +)\[[k.]\]|\[[k.]\](?= 0x[0-9a-f]{16}$)", r"\1[?]", line)


def strip(text):
    """Without perf's own greeting and tip; ours has neither."""
    lines = text.split("\n")
    while lines and (lines[0].startswith("# To display the perf.data header") or lines[0] == "#"):
        lines.pop(0)
    lines.insert(0, "#")
    lines = [l for l in lines if not l.startswith("# (Tip:") and not l.startswith("# (Cannot load tips.txt")]
    while lines and lines[-1] in ("", "#"):
        lines.pop()
    return lines


def without_first(row, graph):
    """sym-first: our graph as perf would cut it."""
    if len(graph) < 2 or not graph[1].strip().startswith("---"):
        return graph
    margin = len(graph[1]) - len(graph[1].lstrip())
    if graph[1].strip()[3:] == re.sub(r"^\[.\] ", "", row.split("  ")[0]):
        return graph
    if len(graph) > 2 and re.match(r" {%d}[^ |]" % (margin + 3), graph[2]):
        return [graph[0], " " * margin + "---" + graph[2][margin + 3:]] + graph[3:]
    return [" " * margin + line[margin + 3:] for line in graph[2:]]


class Event:
    def __init__(self, header):
        self.header = header
        self.rows = []  # (key, numbers, graph lines)


def columns_of(dots):
    """Start of each column of the '# ....  ....' line."""
    return [m.span() for m in re.finditer(r"\.+", dots)]


def parse(text):
    lines = strip(text)
    events, header, event, cols = [], [], None, None
    for line in lines:
        if line.startswith("#"):
            if event is not None and event.rows:
                event, header = None, []
            header.append(re.sub(r" +$", "", line))
            if re.match(r"^# \.\.", line):
                cols = columns_of(line)
                event = Event(header)
                events.append(event)
            continue
        match = ROW.match(line)
        if match and event is not None and cols and match.end() <= cols[0][1]:
            numbers, key = [], []
            for i, (start, end) in enumerate(cols):
                cell = line[start:] if i == len(cols) - 1 else line[start:end]
                cell = cell.strip()
                if re.fullmatch(r"\d+\.\d\d%", cell) or (re.fullmatch(r"\d+", cell) and i <= 2):
                    numbers.append(cell)
                else:
                    key.append(cell)
            event.rows.append([mask("  ".join(key)), tuple(numbers), []])
        elif event is not None and event.rows and line.strip():
            event.rows[-1][2].append(line)
    return events


def tree(lines):
    """Siblings of equal percentage in one order: a nested tuple. A line's depth is where its text begins."""
    nodes = []
    for line in lines:
        body = re.sub(r"[| ]*$", "", line)
        if not body.strip(" |"):
            continue
        match = BRANCH.search(body)
        if match:
            nodes.append((match.start(), match.group(1), [body[match.end():]]))
        elif nodes:
            nodes[-1][2].append(body.strip(" |"))
        else:
            nodes.append((-1, "", [body.strip(" |-")]))

    def build(at, depth):
        out = []
        while at < len(nodes) and nodes[at][0] >= depth:
            d, percent, labels = nodes[at]
            below, at = build(at + 1, d + 1)
            out.append((-float(percent or 0), tuple(labels), below))
        return tuple(sorted(out)), at

    return build(0, -1)[0]


def plant(text, n):
    """Changes one percentage by 0.01."""
    lines = text.split("\n")
    seen = 0
    for i, line in enumerate(lines):
        match = BRANCH.search(line) if n == 0 else ROW.match(line)
        if not match:
            continue
        seen += 1
        if seen >= max(n, 1):
            value = "%.2f" % (float(match.group(1)) + 0.01)
            lines[i] = line[:match.start(1)] + value + line[match.end(1):]
            return "\n".join(lines)
    sys.exit("nothing to plant an error in")


def main():
    args = sys.argv[1:]
    as_bytes = "--bytes" in args
    if as_bytes:
        args.remove("--bytes")
    planted = None
    if "--plant" in args:
        at = args.index("--plant")
        planted = int(args[at + 1])
        del args[at:at + 2]
    sym_first = "--sym-first" in args
    if sym_first:
        args.remove("--sym-first")
    theirs, ours = (open(p, errors="surrogateescape").read() for p in args)
    if planted is not None:
        ours = plant(ours, planted)
    bad = []
    if as_bytes:
        a, b = ([mask(l) for l in strip(t)] for t in (theirs, ours))
        bad = ["line %d:\n  perf %s\n  ours %s" % (i + 1, x, y) for i, (x, y) in enumerate(zip(a, b)) if x != y]
        if len(a) != len(b):
            bad.append("%d lines, ours %d" % (len(a), len(b)))
        print("%d lines" % len(a))
    else:
        a, b = parse(theirs), parse(ours)
        rows = graphs = ties = first = 0
        if [e.header for e in a] != [e.header for e in b]:
            bad.append("headers:\n  perf %s\n  ours %s" % ([e.header for e in a], [e.header for e in b]))
        for x, y in zip(a, b):
            left, right = Counter(), Counter()
            for event, to in ((x, left), (y, right)):
                for key, numbers, graph in event.rows:
                    to[(key, numbers)] += 1
            for key in (left - right):
                bad.append("perf only: %s" % (key,))
            for key in (right - left):
                bad.append("ours only: %s" % (key,))
            rows += sum(left.values())
            mine = {}
            for key, numbers, graph in y.rows:
                mine.setdefault((key, numbers), []).append(graph)
            for key, numbers, graph in x.rows:
                have = mine.get((key, numbers))
                if not have:
                    continue
                graphs += bool(graph)
                if graph in have:
                    have.remove(graph)
                    continue
                if sym_first and graph in [without_first(key, h) for h in have]:
                    have[:] = [h for h in have if without_first(key, h) != graph]
                    first += 1
                    continue
                same = [h for h in have if tree(h) == tree(graph)]
                if same:
                    have.remove(same[0])
                    ties += 1
                    continue
                bad.append("graph of %s:\n%s\n  ours:\n%s" % ((key, numbers), "\n".join(graph[:60]), "\n".join((have or [["(none left)"]])[0][:60])))
        print("%d events, %d rows, %d call graphs (%d differ in the order of equals, %d masked by sym-first)" %
              (len(a), rows, graphs, ties, first))
        if not rows:
            bad.append("no rows at all")
    for b in bad[:12]:
        print(b)
    print("%d differences" % len(bad))
    return 1 if bad else 0


sys.exit(main())
