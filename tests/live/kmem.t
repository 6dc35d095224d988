#!/usr/bin/env bash
# `sonde kmem`: allocations of a known number by a known function are found; perf's tables on the same file.
# where: host
# needs: root
# timeout: 60
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events python3
[ -e $tracefs/events/kmem/kmalloc ] || skip_all "kernel without kmem:kmalloc"
cd "$SONDE_TMP" || exit 1
mkdir bin && ln -s "$SONDE" bin/perf

cat >eventfds.py <<'END'
import ctypes, resource
libc = ctypes.CDLL(None)
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
made = [libc.eventfd(0, 0) for _ in range(700)]
assert min(made) >= 0
END
exits 0 "kmem record" "$SONDE" kmem record -q -m 32M -o kmem.data -- python3 eventfds.py
exits 0 "kmem stat --caller" "$SONDE" kmem stat --caller --json kmem.data
printf '%s\n' "$out" >stat.json
is "$(python3 - <<'END'
import json
d = json.load(open("stat.json"))
rows = [r for r in d["callsites"] if "eventfd" in r["callsite"]]
print(any(r["hits"] >= 700 and r["allocated"] >= r["requested"] >= 700 * 8 for r in rows))
print(sum(r["hits"] for r in d["callsites"]) == d["allocations"], sum(r["allocated"] for r in d["callsites"]) == d["allocated"])
print(d["allocated"] - d["freed"] >= sum(r["held"] for r in d["callsites"]))
END
)" $'True\nTrue True\nTrue' "700 event descriptors by the function that made them, and sums that agree"
exits 0 "options before the verb" "$SONDE" kmem --caller -s hit -l 3 -i kmem.data stat
like "$out" "^ Callsite +\| Total_alloc/Per " "the table"
like "$out" "^ \.\.\. " "was cut"
exits 0 "--raw-ip" "$SONDE" kmem stat --caller --raw-ip kmem.data
like "$out" "^ 0xffffffff[0-9a-f]+ " "addresses"
exits 129 "an unknown key" "$SONDE" kmem stat -s nothing kmem.data
like "$err" "unknown key 'nothing'" "is named"
exits 0 "a recording without such events" "$SONDE" record -q -e page-faults -o other.data -- true
exits 0 "is read" "$SONDE" kmem stat other.data
like "$err" "no slab events" "and the warning says what is missing"

# Rows of equals come in any order; what was freed counts twice with perf where an allocation was not recorded.
table() { grep -v '^Total bytes freed\|^Net total\|^Warning\|^Processed\|^Check\|^$' | sort; }
needs_or_skip "perf's tables" perf || for args in "--caller" "--alloc" "--caller --raw-ip"; do
	# shellcheck disable=SC2086
	perf kmem $args -i kmem.data stat 2>/dev/null | table >theirs
	# shellcheck disable=SC2086
	bin/perf kmem $args -i kmem.data stat 2>/dev/null | table >ours
	# Ping-pong differs with it: compared without.
	sed -i -E 's/\| +[0-9]+ (\| +[0-9.]+%)$/\1/' ours theirs
	[ "$(grep -c . theirs)" -gt 20 ] && cmp -s ours theirs
	ok $? "kmem $args stat: what perf prints" || diag "$(diff theirs ours | head -20)"
done

# ---- pages -----------------------------------------------------------------------------------------------------------------------
[ -e $tracefs/events/kmem/mm_page_alloc ] || { done_testing; exit; }
cat >pages.py <<'END'
import mmap
made = mmap.mmap(-1, 16 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for at in range(0, 16 << 20, 4096):
    made[at] = 1
END
exits 0 "kmem record --page" "$SONDE" kmem record --page -q -m 32M -o pages.data -- python3 pages.py
events=$("$SONDE" evlist -i pages.data)
like "$events" '^kmem:mm_page_alloc$' "records pages"
unlike "$events" 'kmalloc' "and no slab events"
exits 0 "kmem stat --page" "$SONDE" kmem stat --page --caller --alloc --json pages.data
printf '%s\n' "$out" >pages.json
is "$(python3 - <<'END'
import json
d = json.load(open("pages.json"))
got = d["allocated"]["requests"] - d["failed"]["requests"]
for rows in d["callsites"], d["pages"]:
    print(sum(r["hits"] for r in rows) == got, sum(r["live_hits"] for r in rows) + d["allocated_and_freed"]["requests"] + d["missed_frees"] == got)
print(sum(o["requests"] for o in d["orders"]) == got, d["freed"]["requests"] == d["allocated_and_freed"]["requests"] + d["only_freed"]["requests"])
# 16 MB for the program, by who wants them: not the allocator.
most = sum(r["bytes"] for r in d["callsites"] if "__GFP_ZERO" in r["gfp_flags"] and r["gfp_flags"].startswith(("GFP_HIGHUSER_MOVABLE", "GFP_TRANSHUGE")) and r["migratetype"] == 1)
print(most >= 16 << 20 or d["lost"] > 0, any("alloc_pages" in r["callsite"] for r in d["callsites"]))
END
)" $'True True\nTrue True\nTrue True\nTrue False' "sums agree, and the program's pages are movable ones of their own caller"
exits 0 "the tables" "$SONDE" kmem --page --caller --live -l 2 -i pages.data stat
like "$out" '^# [0-9a-f]+: +HUM\|?[A-Z|]*: GFP_HIGHUSER_MOVABLE' "short names of flags are explained"
like "$out" '^  Live alloc \(KB\) \| Hits      \| Order \| Mig.type \| GFP flags           \| Callsite$' "what is held"
like "$out" '^Total allocation requests     : +[1-9][0-9]*   \[ +[1-9][0-9]* KB \]$' "and sums"
like "$err" 'not seen|no free was missed' "with what was missed"
exits 129 "a key of the slab allocator" "$SONDE" kmem stat --page -s frag pages.data
like "$err" "-s: 'frag' is a key of the other allocator" "is named"

# perf swaps two kinds of pages, does not know the functions of the allocator, and counts a page once that was allocated again.
numbers() { sed -E 's/ *\| [^|]*$//; s/RECLAIM/?/; s/MOVABLE/?/; s/^(Total.*[0-9]) +\[.*/\1/' | grep -v '^Order\|^ *[0-9]* .*\.$\|alloc-only\|alloc+freed' | tr -s ' ' | sort; }
needs_or_skip "perf's tables of pages" perf || for args in "--alloc" "--alloc -s page,order,migtype,gfp"; do
	# shellcheck disable=SC2086
	perf kmem --page $args -i pages.data stat 2>/dev/null | numbers >theirs
	# shellcheck disable=SC2086
	bin/perf kmem --page $args -i pages.data stat 2>/dev/null | numbers >ours
	[ "$(grep -c . theirs)" -gt 20 ] && cmp -s ours theirs
	ok $? "kmem --page $args stat: perf's numbers" || diag "$(diff theirs ours | head -20)"
done
done_testing
