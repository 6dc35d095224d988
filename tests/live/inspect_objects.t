#!/usr/bin/env bash
# where: host 6.1 6.12
# needs: root
# timeout: 240
# inspect kmem -i and -z, against /proc.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root python3
[ -e /sys/kernel/btf/vmlinux ] || skip_all "kernel without BTF"
"$SONDE" inspect '$current->pid' >/dev/null 2>&1 || skip_all "kernel memory cannot be read here: $("$SONDE" inspect '$current->pid' 2>&1 | head -1)"
i() { "$SONDE" inspect "$@"; }
cd "$SONDE_TMP" || exit 1

# ---- kmem -z -----------------------------------------------------------------------------------------------------------------------
cat >zones.py <<'END'
import json, re, sys

def read(path):
    zones, zone, node_stats = {}, None, False
    for line in open(path):
        if m := re.match(r"Node (\d+), zone +(\S+)", line):
            zone = zones[int(m[1]), m[2]] = {}
            node_stats = False
        elif "per-node stats" in line:
            node_stats = True
        elif "pages free" in line:
            node_stats = False
        elif "pagesets" in line:
            zone = {}
        elif (m := re.match(r" +(\w+) +(\d+)$", line)) and not node_stats:
            zone[m[1]] = int(m[2])
    return zones

before, after = read("zoneinfo.before"), read("zoneinfo.after")
ours = {(r["node"], r["name"]): r for r in json.load(open("zones.json"))["rows"] if "zone" in r}
if set(ours) < set(before):
    print("missing:", set(before) - set(ours))
for key, want in before.items():
    have = ours.get(key, {})
    for name in ("spanned", "present", "managed", "min", "low", "high"):
        if have.get(name) != want[name]:
            print(key, name, have.get(name), want[name])
    counters = {n.lower(): v for n, v in have.get("counters", {}).items()}
    compared = 0
    for name, value in want.items():
        # Those that stood still meanwhile.
        if name in counters and after[key].get(name) == value:
            compared += 1
            if counters[name] != value:
                print(key, name, counters[name], value)
    if want["present"] and compared < 3:
        print(key, "too few counters:", sorted(counters))
END
zones_agree() {
	cat /proc/zoneinfo >zoneinfo.before
	i --json kmem -z >zones.json
	cat /proc/zoneinfo >zoneinfo.after
	python3 zones.py >bad 2>&1
	[ ! -s bad ]
}
WAIT_SECONDS=30 wait_until zones_agree
ok $? "kmem -z: zones, sizes, watermarks and counters as in /proc/zoneinfo" || diag "$(cat bad)"
i kmem -z >zones
like "$(cat zones)" '^NODE: 0  ZONE: [0-9]  ADDR: ff[0-9a-f]{14}  NAME: "[A-Z0-9]+"$' "kmem -z: crash's head"
like "$(cat zones)" '^ +NR_FREE_PAGES: [0-9]+$' "kmem -z: a zone's counter"
like "$(cat zones)" '^ +NR_FILE_PAGES: [0-9]+$' "kmem -z: a node's counter"
zone=$(sed -n 's/.* ADDR: \([0-9a-f]*\) .*/\1/p' zones | head -1)
like "$(i p "((struct zone *)0x$zone)->name")" "\"$(sed -n 's/.*NAME: "\(.*\)"/\1/p' zones | head -1)\"\$" "kmem -z: the address is the zone's"

# ---- kmem -i -----------------------------------------------------------------------------------------------------------------------
i kmem -i >usage
page=$(getconf PAGESIZE)
kb() { awk -v n="$1:" '$1 == n { print $2 }' /proc/meminfo; }
is "$(awk '/TOTAL MEM +[0-9]/ { print $3; exit }' usage)" "$(($(kb MemTotal) * 1024 / page))" "kmem -i: all memory, in pages"
is "$(awk '/TOTAL SWAP +[0-9]/ { print $3; exit }' usage)" "$(($(kb SwapTotal) * 1024 / page))" "kmem -i: swap"
like "$(cat usage)" '^ +FREE +[0-9]+ +[0-9.]+ [KMG]B +[0-9]+% of TOTAL MEM$' "kmem -i: free memory"
i --json kmem -i >usage.json
is "$(python3 -c '
import json
u = json.load(open("usage.json"))["rows"][0]
print(u["used"] + u["free"] == u["total"], 0 < u["cached"] < u["total"])')" "True True" "kmem -i: used and free make the total"
exits 129 "-i and -z" i kmem -i -z
exits 129 "-z with an argument" i kmem -z DMA

for c in 'kmem -z' 'kmem -i'; do
	# shellcheck disable=SC2086 # two words
	i $c --json | python3 -m json.tool >/dev/null
	ok $? "$c --json"
done
done_testing
