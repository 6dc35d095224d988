#!/usr/bin/env python3
"""Compares two texts of `report --stdio`: perf's and ours.

usage: report_compare.py [--ordered] [--sym-first] [--exact] [--comms A,B] [--plant N] PERF OURS

Every row is found by its key columns and must have the same percentages (and counts); its call graph must be the same text, or
the same but for the order of siblings that show equal percentages. Nothing may be left over on either side. Headers (samples, events,
counts, columns) must be equal. With --ordered rows must also stand in the same order and be the same bytes. --comms: only rows whose
first key is one of these (recordings of the whole system hold programs nobody chose). --exact: line by line, whatever the lines
mean (columns in any order, rows within rows), no order of equals allowed for.

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
                 rows whose object is [unknown]. Rows of equal weight are then sorted differently, so such rows are not looked at for
                 their order.
plt              Stubs: perf 6.1 calls those of libc "@plt" (the relocation has no symbol, only an address) and the head of the table
                 by the symbol before it ("_init"). Ours says function@plt and ".plt". Masked: the names of stubs and _init. Being of one name
                 those of libc are also one row and one branch in perf's graphs, and the head of libc's table has no name at all:
                 not masked, recordings that hit one are made again.
bare-address     An address that no symbol covers is shown by perf as file offset where it is a leaf, and as address of that process where
                 it came from a call chain: with children one place is two rows. Ours always shows the offset. Masked: bare addresses in
                 named objects, as rows (with children) and as names in graphs.
sym-first        With --sort sym... perf leaves out the first function of a graph, because it is the row's own. In caller order it is
                 not: there it is the outermost caller, and perf hides it. Ours hides it only if it is the row's own. Masked (with
                 --sym-first): that line of our graph.
pipe-children    Reading a pipe perf decides before it knows the events whether there are call chains, and so never counts children.
                 Ours looks at the first records. Not masked: pipes are compared with --no-children, and with children as a file.
rest-inlined     Fractal graphs: what is not drawn is "[...]", and now and then "[...] (inlined)": perf looks at a flag that it never
                 set. Masked: that word behind [...].
stale-chain      With children, a sample without a call chain (of an event recorded without, beside one with) is given the chain of the
                 sample before it. Ours counts its leaf only. Not masked: such files are compared with --no-children.
filter-merged    A row whose keys do not name what a filter asks for (--comms with --sort dso; --dsos or -S with children) is shown or
                 hidden as a whole, by the first sample that made it. Ours counts the samples that fit. Not masked: filters are compared
                 where the keys name them.
children-keys    With children, and a key other than task, CPU and place (time, weight, cgroup), perf counts a function as often as it
                 stands in a chain. Ours counts a sample once. Not masked: these keys are compared with --no-children.
ipc-null         A list of keys with "symbol" in it gets a column "IPC [IPC Coverage]" that says nothing. Ours has none. Not masked: the
                 tests write "sym".
kernel-size      dso_size of the kernel is the distance to whatever is mapped behind it. Ours is its own size. Masked with --exact.
group-header     --no-group says "of events" for one event. Masked with --exact.
separator        -t pads its columns, although it says that it does not. Ours does not. Compared without blanks.
address          -g address tells processes apart by where they were loaded. Ours tells places in a program apart. Not compared.
trace-sort       Recordings of tracepoints only are sorted by "trace" unless told otherwise. Ours by comm,dso,sym like any other: it is
                 what one looks for first, and -s trace is there.
"""

ROW = re.compile(r"^ +(\d+\.\d\d)%")
BRANCH = re.compile(r"-(\d+\.\d\d)%--")
VALUE = re.compile(r"-(\d+(?:\.\d\d)?)%?--")  # the same, or a period, or a count
STUB = r"(?:_init|[^ ]*@plt|\.plt[.a-z]*)"


def mask(row):
    """FAULTS, applied to a row's text. An address without a name is one without an object, when the object is not shown."""
    row = re.sub(r"(\[unknown\] +)\[[k.]\]|\[[k.]\](?= (?:0x)?[0-9a-f]{16}$)", r"\1[?]", row)
    return re.sub(r"(\[[k.]\]) %s( *)$" % STUB, r"\1 (stub)", row)


def mask_graph(line):
    line = line.replace("[...] (inlined)", "[...]")
    line = re.sub(r"(?<=[-| ])%s$" % STUB, "(stub)", line)
    return re.sub(r"(?<=[-| ])0x[0-9a-f]+$", "0x?", line)


def bare(row):
    """A bare address in an object that has a name, or a stub: see FAULTS."""
    return "[unknown]" not in row and re.search(r" (?:0x)?[0-9a-f]{16} *$|\[[k.]\] 0x[0-9a-f]{16}  ", row)


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
        self.rows = []  # [key, numbers, graph lines, the line itself]


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
            event.rows.append([mask("  ".join(key)), tuple(numbers), [], mask(line)])
        elif event is not None and event.rows and line.strip():
            event.rows[-1][2].append(mask_graph(line))
    return events


def tree(lines):
    """Siblings of equal percentage in one order: a nested tuple. A line's depth is where its text begins."""
    nodes = []
    for line in lines:
        body = re.sub(r"[| ]*$", "", line)
        if not body.strip(" |"):
            continue
        match = VALUE.search(body)
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


def chains(lines):
    """Flat and folded chains: those of equal weight in one order."""
    if lines and re.match(r"\d", lines[0]):
        return sorted(lines)
    blocks = []
    for line in lines:
        if re.match(r" {11}\S", line):
            blocks.append([])
        if blocks:
            blocks[-1].append(line)
    return sorted(blocks) if blocks else None


def exact(theirs, ours):
    """Lines that differ, but for FAULTS."""
    def lines(text):
        out = []
        for line in strip(text):
            line = re.sub(r" +$", "", mask_graph(mask(line)))
            line = re.sub(r"\d+( +(?:\[k\] \S+ +)?\[kernel\.kallsyms\])", r"N\1", line) if "DSO size" in text else line
            line = re.sub(r"(# Samples: \S+ +of event)s '([^{]*)$", r"\1 '\2", line)
            if "[?]" not in line and "(stub)" not in line:
                out.append(line)
        return out

    a, b = lines(theirs), lines(ours)
    bad = ["perf has\n  %s\nours\n  %s" % pair for pair in zip(a, b) if pair[0] != pair[1]]
    if len(a) != len(b):
        bad.append("perf has %d lines, ours %d" % (len(a), len(b)))
    return len(a), bad


def plant(text, n):
    """Changes one percentage by 0.01."""
    lines = text.split("\n")
    seen = 0
    for i, line in enumerate(lines):
        match = BRANCH.search(line) if n == 0 else ROW.match(line) or re.match(r"[^#]* (\d+\.\d\d)%", line)
        if not match:
            continue
        seen += 1
        if seen >= max(n, 1):
            value = "%.2f" % (float(match.group(1)) + 0.01)
            lines[i] = line[:match.start(1)] + value + line[match.end(1):]
            return "\n".join(lines)
    sys.exit("nothing to plant an error in")


def arguments(argv):
    opts = {"ordered": False, "sym-first": False, "exact": False, "comms": None, "plant": None}
    args = []
    argv = iter(argv)
    for arg in argv:
        name = arg[2:]
        if arg.startswith("--") and name in opts:
            opts[name] = True if opts[name] is False else next(argv)
        else:
            args.append(arg)
    return opts, args


def chosen(event, comms, children):
    rows = event.rows
    if comms:
        rows = [r for r in rows if re.split(r"  +", r[0])[0] in comms.split(",")]
    if children:
        rows = [r for r in rows if not bare(r[3])]
    event.rows = rows


class Result:
    def __init__(self):
        self.bad = []
        self.rows = self.graphs = self.ties = self.first = 0


def compare_rows(x, y, res):
    left, right = Counter(), Counter()
    for event, to in ((x, left), (y, right)):
        for key, numbers, *_ in event.rows:
            to[(key, numbers)] += 1
    res.bad += ["perf only: %s %s" % key for key in left - right]
    res.bad += ["ours only: %s %s" % key for key in right - left]
    res.rows += sum(left.values())


def compare_order(x, y, res):
    def lines(event):
        return [r[3] for r in event.rows if "[?]" not in r[3] and "(stub)" not in r[3]]

    a, b = lines(x), lines(y)
    res.bad += ["in this place perf has\n  %s\nours\n  %s" % pair for pair in zip(a, b) if pair[0] != pair[1]]


def compare_graphs(x, y, sym_first, res):
    ours = {}
    for key, numbers, graph, _ in y.rows:
        ours.setdefault((key, numbers), []).append(graph)
    for key, numbers, graph, _ in x.rows:
        have = ours.get((key, numbers))
        if have is None:
            continue
        res.graphs += bool(graph)
        found = [h for h in have if h == graph]
        if not found and sym_first:
            found = [h for h in have if without_first(key, h) == graph]
            res.first += bool(found)
        if not found:
            found = [h for h in have if tree(h) == tree(graph)] if chains(graph) is None else \
                    [h for h in have if chains(h) == chains(graph)]
            res.ties += bool(found)
        if found:
            have.remove(found[0])
        else:
            other = have[0] if have else ["(none left)"]
            res.bad.append("graph of %s %s:\n%s\n  ours:\n%s" % (key, numbers, "\n".join(graph[:40]), "\n".join(other[:40])))


def main():
    opts, paths = arguments(sys.argv[1:])
    theirs, ours = (open(p, errors="surrogateescape").read() for p in paths)
    if opts["plant"] is not None:
        ours = plant(ours, int(opts["plant"]))
    res = Result()
    if opts["exact"]:
        nr, bad = exact(theirs, ours)
        print("%d lines" % nr)
        print("\n".join(bad[:12] + ["%d differences" % len(bad)]))
        return 1 if bad or nr < 8 else 0
    a, b = parse(theirs), parse(ours)
    if [e.header for e in a] != [e.header for e in b]:
        res.bad.append("headers:\n  perf %s\n  ours %s" % ([e.header for e in a], [e.header for e in b]))
    for x, y in zip(a, b):
        children = any("Children" in line for line in x.header)
        for event in (x, y):
            chosen(event, opts["comms"], children)
        compare_rows(x, y, res)
        compare_graphs(x, y, opts["sym-first"], res)
        if opts["ordered"]:
            compare_order(x, y, res)
    if not res.rows:
        res.bad.append("no rows at all")
    print("%d events, %d rows, %d call graphs (%d differ in the order of equals, %d masked by sym-first)" %
          (len(a), res.rows, res.graphs, res.ties, res.first))
    for difference in res.bad[:12]:
        print(difference)
    print("%d differences" % len(res.bad))
    return 1 if res.bad else 0


sys.exit(main())
