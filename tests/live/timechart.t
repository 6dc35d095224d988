#!/usr/bin/env bash
# where: host 6.1
# needs: root
# perf's command line for a picture of what tasks did.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events python3
cd "$SONDE_TMP" || exit 1
ln -s "$SONDE" perf
cp "$(command -v bash)" planted_hog

exits 0 "S4-296: timechart record" ./perf timechart record -- ./planted_hog -c 'for ((i = 0; i < 50000; i++)); do :; done'
exits 0 "S4-296: timechart" ./perf timechart
like "$err" '^Written [0-9]+\.[0-9] seconds of trace to output\.svg\.$' "says what perf says"
python3 - >said 2>&1 <<'END'
import xml.etree.ElementTree as tree
svg = tree.parse("output.svg").getroot()
ns = "{http://www.w3.org/2000/svg}"
label = next(t for t in svg.iter(ns + "text") if (t.text or "").startswith("planted_hog"))
# The bars beside the label: most of what the hog did is running.
row = [r for r in svg.iter(ns + "rect") if r.get("class") and 0 <= float(label.get("y")) - float(r.get("y")) < 15]
print(svg.tag == ns + "svg", any(t.text == "CPU 0" for t in svg.iter(ns + "text")), any(r.get("class") == "sample" for r in row))
END
is "$(cat said)" "True True True" "S4-296: the picture has CPUs, and the task as running"
exits 0 "only some tasks, without CPUs" ./perf timechart -T -p planted_hog -w 500 -o some.svg
is "$(grep -c '<text' some.svg)" "$(($(grep -c '>planted_hog [0-9]*</text>' some.svg) + 6))" "are all that is drawn"
exits 0 "CPUs only" ./perf timechart -P -o cpus.svg
unlike "$(cat cpus.svg)" 'planted_hog [0-9]' "without tasks"
exits 0 "a page" ./perf timechart -o page.html
is "$(head -c 15 page.html)" "<!DOCTYPE html>" "by its name"
exits 129 "a width out of range" "$SONDE" timechart -w 5
exits 129 "-P and -T" "$SONDE" timechart -P -T
exits 1 "no recording" "$SONDE" timechart -i nowhere
done_testing
