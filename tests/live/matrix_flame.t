#!/usr/bin/env bash
# where: host
# needs: root
# timeout: 300
# Rows of the acceptance matrix: flame graphs, and the workflow that ends with one.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events python3
cd "$SONDE_TMP" || exit 1
mkdir bin && ln -s "$SONDE" bin/sonde
export PATH=$PWD/bin:$PATH

# ---- each arrow of the workflow: a command that works with what the one before it gave
sonde list cpu-clock >list 2>/dev/null
like "$(cat list)" 'cpu-clock' "S0-029: list shows an event"
sonde stat -e cpu-clock -- sonde workload leaf 0.2 >/dev/null 2>stat
like "$(cat stat)" '[0-9].* cpu-clock' "S0-029: stat counts it"
sonde record -q -e cpu-clock -F 999 -g -- sonde workload leaf 1 2>/dev/null
ok $? "S0-029: record samples by it"
exits 0 "S0-029: report of the recording" sonde report --no-children -g none
like "$out" 'workload_leaf' "S0-029: report names the function to look at"
exits 0 "S0-029: script of the recording" sonde script
like "$out" 'workload_leaf' "S0-029: script has its samples"
exits 0 "S0-029: annotate that function" sonde annotate --stdio -s workload_leaf
like "$out" '[0-9]+\.[0-9]+' "S0-029: annotate gives its instructions percentages"
exits 0 "S0-029: flame of the recording" sonde flame -o page.html
like "$err" 'page.html: [0-9]+ samples' "S0-029: and ends with a flame graph"

# ---- folded stacks: the same as collapsing what perf script prints
exits 0 "S0-012: folded stacks" sonde flame --folded --samples --no-inline perf.data
printf '%s\n' "$out" >folded
like "$out" '^sonde;.*main;.*workload_parent;workload_middle;workload_leaf [0-9]+$' "S0-012: a line is a stack, outermost first, and its samples"
total=$(awk '{ s += $NF } END { print s }' folded)
is "$total" "$(sonde script -F ip 2>/dev/null | awk 'BEGIN { RS = "" } END { print NR }')" "S0-012: the samples of all stacks are all samples"
if ! needs_or_skip "S0-012: stacks as perf script has them" perf; then
	perf script --no-inline -F comm,ip,sym 2>/dev/null | python3 -c '
import collections, sys
stacks = collections.Counter()
for block in sys.stdin.read().split("\n\n"):
    lines = [l.split(None, 1) for l in block.strip("\n").split("\n")]
    if lines and lines[0]:
        names = [l[1] for l in lines[1:]]
        if "[unknown]" not in names:
            stacks[";".join([lines[0][0], *names[::-1]])] += 1
print("\n".join(sorted(f"{s} {n}" for s, n in stacks.items())))' >collapsed
	missing=$(grep -vxFf folded collapsed | head -3)
	[ -s collapsed ] && [ -z "$missing" ]
	ok $? "S0-012: stacks as perf script has them, with as many samples" || diag "$missing"
fi

# ---- the picture: width is the share of samples, height is depth, hovering tells name, count and percentage
exits 0 "S0-012: an SVG flame graph" sonde flame --svg --no-inline -o graph.svg perf.data
python3 - graph.svg folded >svg <<'END'
import re, sys, xml.etree.ElementTree as tree
ns = "{http://www.w3.org/2000/svg}"
boxes = {}
for g in tree.parse(sys.argv[1]).getroot().iter(ns + "g"):
    rect, title = g.find(ns + "rect"), g.find(ns + "title").text
    name, count, percent = re.match(r"(.*?)(?: — .*)? \((\d+) samples?, ([\d.]+) %\)$", title).groups()
    if float(rect.get("width")) > boxes.get(name, (0,))[0]:
        boxes[name] = (float(rect.get("width")), int(count), float(percent), float(rect.get("y")))
leaf = sum(int(l.rsplit(" ", 1)[1]) for l in open(sys.argv[2]) if "workload_parent;workload_middle;workload_leaf" in l)
print("count", boxes["workload_leaf"][1] == leaf or (boxes["workload_leaf"], leaf))
print("width", abs(boxes["workload_leaf"][0] / boxes["all"][0] - boxes["workload_leaf"][2] / 100) < 0.001)
print("depth", boxes["workload_leaf"][3] < boxes["workload_middle"][3] < boxes["workload_parent"][3] < boxes["all"][3])
END
for what in count width depth; do
	is "$(sed -n "s/^$what //p" svg)" True "S0-012: the picture's $what"
done

# ---- search and zoom are the page's
if [ -z "$(type -P chromium chromium-browser google-chrome)" ]; then
	skip "chromium is not installed" "S0-012: search and zoom"
else
	python3 - "$SONDE_SRC/tests/browser" "$PWD/page.html" >page 2>page.err <<'END'
import sys
sys.path.insert(0, sys.argv[1])
from chromium import Browser
with Browser() as b:
    p = b.open("file://" + sys.argv[2])
    p.wait("window.sonde && sonde.settled()")
    p.key("/")
    p.type("workload_leaf")
    p.wait("sonde.settled()")
    print("search", float(p.js("document.getElementById('found').textContent").split()[0]) > 50)
    box = p.js("sonde.find('workload_middle')")
    p.click(box["x"] + box["w"] / 2, box["y"] + 5)
    p.wait("sonde.settled()")
    print("zoom", p.js("sonde.zoomed()") == "workload_middle")
END
	is "$(sed -n 's/^search //p' page)" True "S0-012: the page searches" || diag "$(tail -3 page.err)"
	is "$(sed -n 's/^zoom //p' page)" True "S0-012: the page zooms"
fi
done_testing
