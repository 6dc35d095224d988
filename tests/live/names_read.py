"""The lines of a recording's own program: what report --sort srcline says against addr2line of every sample's address.

usage: names_read.py PROGRAM DEBUG SAMPLES REPORT.json

SAMPLES: perf script -F ip --show-mmap-events, from which the addresses come. DEBUG: the file addr2line is asked about.
"""

import json
import os
import re
import subprocess
import sys
from collections import Counter

program, debug, samples, report = sys.argv[1:]
headers = subprocess.run(["readelf", "-lW", program], capture_output=True, text=True, check=True).stdout
loads = [tuple(int(x, 16) for x in m) for m in re.findall(r"LOAD\s+0x(\w+) 0x(\w+) 0x\w+ 0x(\w+)", headers)]
maps, counts = [], Counter()
for line in open(samples, errors="replace"):
    m = re.search(r"PERF_RECORD_MMAP2? .*\[0x(\w+)\(0x(\w+)\) @ (?:0x)?(\w+) .* r-xp (\S+)", line)
    if m and os.path.basename(m[4]) == os.path.basename(program):
        maps.append((int(m[1], 16), int(m[2], 16), int(m[3], 16)))
    m = re.match(r"^\s+([0-9a-f]+)\s*$", line)
    if m:
        ip = int(m[1], 16)
        for start, size, offset in maps:
            if start <= ip < start + size:
                at = ip - start + offset
                counts[next(v + at - o for o, v, n in loads if o <= at < o + n)] += 1
                break
asked = sorted(counts)
said = subprocess.run(["addr2line", "-e", debug], input="".join(f"{a:x}\n" for a in asked), capture_output=True, text=True, check=True).stdout
want = Counter()
for a, line in zip(asked, said.splitlines()):
    want[os.path.basename(line.split(" (")[0])] += counts[a]
got = Counter()
for event in json.load(open(report))["events"]:
    for row in event["rows"]:
        got[os.path.basename(row["srcline"])] += row["samples"]
for line in sorted(want | got):
    if want[line] != got[line]:
        print(f"{line}: addr2line {want[line]}, ours {got[line]}")
print(f"{sum(want.values())} samples on {len(want)} lines")
sys.exit(0 if want == got and len(want) > 5 else 1)
