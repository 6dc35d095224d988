"""The rows of the acceptance matrix (rows.tsv), for tests/matrix/check and tools/gen-matrix.

A line is ID, state, detail, capability, with tabs between:

  pass   detail: FILE: NAME[; FILE: NAME...], the cases that prove the row. NAME is the full name of a case, or the row's
         own id, which stands for all cases whose names begin with it ("S0-022 S0-026: 99 samples a second").
  simulated  the same, but shown only on a played machine (tests/oracle/stat_shim.c preloaded): no bed here has the hardware.
  later  detail: the verb or capability that will do it.
  n/a    detail: why the row is obsolete, with the id of the row that is its equivalent today.
"""

import pathlib
import re

SRC = pathlib.Path(__file__).resolve().parent.parent.parent
PATH = SRC / "tests/matrix/rows.tsv"
STATES = ("pass", "simulated", "later", "n/a")
TESTED = ("pass", "simulated")
PLAYED = "tests/live/matrix_played.t"  # the one matrix test whose machine is played
RE_ID = re.compile(r"\bS\d-\d{3}\b")

AREAS = {  # capability prefix: title, in the order of the document
    "sysstat": "Statistics (dstat, top, raw counters)",
    "setup": "Set-up, permissions, kernel configuration",
    "stat": "Counting",
    "event": "Event names, modifiers, encodings",
    "pmu": "Hardware PMU facilities",
    "record": "Sampling",
    "report": "Reporting",
    "annotate": "Annotation",
    "script": "Printing recordings",
    "tracepoint": "Tracepoints",
    "trace": "Live printing of events",
    "kprobe": "Dynamic kernel probes",
    "uprobe": "Dynamic user probes",
    "probe-src": "Source-level probe definition",
    "inspect": "Kprobe internals, inspection",
    "jprobe": "Function wrapping as jprobes did it",
    "stap": "Scripting (SystemTap)",
    "bpf": "Scripting (eBPF)",
    "tracer": "Tracers",
    "function": "Function tracing",
    "graph": "Function graph",
    "events": "Events through ftrace",
    "ftrace": "Triggers, filters, snapshot, buffers, clocks, markers",
    "stacktracer": "Stack tracer",
    "trace-cmd": "trace-cmd record, report, list",
    "viz": "Visualisation",
    "mem": "Memory access",
    "kvm": "Guests",
    "perf-cmd": "Other perf sub-commands",
    "kernel-side": "Kernel-side writing",
    "claim": "Claims to reproduce or document",
}


class Row:
    def __init__(self, number, line):
        self.number = number
        fields = line.split("\t")
        self.broken = len(fields) != 4 or not all(fields)
        self.id, self.state, self.detail, self.capability = (fields + [""] * 4)[:4]
        self.area = self.capability.partition(":")[0]

    def tests(self):
        """[(file, name)] of a row that passes; a name is None where the detail cannot be read."""
        pairs = []
        for part in self.detail.split("; "):
            file, colon, name = part.partition(": ")
            pairs.append((file, name if colon and name else None))
        return pairs

    def equivalents(self):
        return RE_ID.findall(self.detail)


def load(path=PATH):
    with open(path) as file:
        return [Row(number, line.rstrip("\n")) for number, line in enumerate(file, 1)]


def row_ids_of_case(name):
    """The ids that a case's name begins with: "S0-022 S0-026: text"."""
    match = re.match(r"((?:S\d-\d{3} ?)+):", name)
    return RE_ID.findall(match[1]) if match else []
