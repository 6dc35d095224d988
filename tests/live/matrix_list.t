#!/usr/bin/env bash
# where: host
# needs: root
# timeout: 300
# Rows of the acceptance matrix: `list`.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root tracefs
cd "$SONDE_TMP" || exit 1
mkdir bin && ln -s "$SONDE" bin/sonde
export PATH=$PWD/bin:$PATH
trap 'remove_probes; rm -rf "$SONDE_TMP"' EXIT

# Every tracepoint that can be opened has an id; available_events leaves some of them out.
# Others may define probes meanwhile: until nothing has changed before and after.
with_id() { (cd $tracefs/events && printf '%s\n' */*/id | sed 's,/id$,,; s,/,:,' | sort); }
for _ in 1 2 3 4 5; do
	all=$(with_id)
	sonde list 2>&1 | grep Tracepoint >tracepoints
	[ "$all" = "$(with_id)" ] && break
done
is "$(sed 's/^  \([^ ]*\) .*/\1/' tracepoints | sort)" "$all" "S0-035: list | grep Tracepoint: all of them"
is "$(grep -cvE '^  [^ :]+:[^ ]+ +\[Tracepoint event\]$' tracepoints)" 0 "S0-035: a line each, name and kind"
exits 0 "S4-122 S4-287: list" sonde list
for kind in 'Software event' 'Tool event' 'Tracepoint event' 'Raw hardware event descriptor' 'Hardware breakpoint'; do
	like "$out" "^  [^ ].*\[$kind\]\$" "S4-122 S4-287: $kind"
done
for name in 'cpu-clock' 'task-clock' 'page-faults OR faults' 'context-switches OR cs' 'cpu-migrations OR migrations'; do
	like "$out" "^  $name +\[Software event\]\$" "S4-122 S4-287: $name"
done
if ! needs_or_skip "S4-123: on a terminal" script; then
	terminal=$(TERM=xterm script -qec "sonde list --no-pager sw" /dev/null | tr -d '\r')
	like "$(grep -m1 . <<<"$terminal")" '^List of pre-defined events \(to be used in -e( or -M)?\):$' "S4-123: begins with what it is"
	like "$terminal" '^  cpu-clock +\[Software event\]$' "S4-123: name and kind"
fi

if add_probe_libc_malloc; then
	like "$(sonde list)" '^  probe_libc:malloc +\[Tracepoint event\]$' "S1-091: list shows a probe as a tracepoint"
	remove_probes
	unlike "$(sonde list)" 'probe_libc:malloc' "S1-091: and no longer when it is gone"
else
	skip "$reason" "S1-091: list shows a probe"
fi

as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
if as_nobody "$SONDE" --version >/dev/null 2>&1; then
	exits 0 "S4-168: list as an ordinary user" as_nobody "$SONDE" list
	like "$out" '^ *\[ Tracepoints not available: Permission denied \]$' "S4-168: tracepoints may not be read"
	like "$out" '^  cpu-clock +\[Software event\]$' "S4-168: the rest is there"
else
	skip "nobody cannot run this build" "S4-168: list as an ordinary user"
fi

# libpfm's own lister, from the examples of its Debian package, says what is right.
example=/usr/share/doc/libpfm4-dev/examples/showevtinfo.c
if sonde list pfm 2>&1 | grep -q 'built without'; then
	skip "built without libpfm4" "S4-199 S4-200: as showevtinfo"
elif [ ! -e $example ] || ! sed 's,perfmon/err.h,err.h,' $example | gcc -w -x c - -o showevtinfo -lpfm 2>/dev/null; then
	skip "no showevtinfo.c that compiles" "S4-199 S4-200: as showevtinfo"
else
	# Of this CPU, and of some that libpfm takes it for: their events differ in what is known of them.
	for pmu in "" snb icl amd64_fam19h_zen3; do
		env ${pmu:+LIBPFM_FORCE_PMU=$pmu} ./showevtinfo >theirs 2>/dev/null
		env ${pmu:+LIBPFM_FORCE_PMU=$pmu} sonde list pfm --details >ours
		python3 - >differences <<'EOF'
import re
def blocks(path):
    found = {}
    for text in open(path).read().split("#-----------------------------\n"):
        name = re.search(r"^PMU name : (\S+).*\nName     : (\S+)", text, re.M)
        if name:
            found[name[1], name[2]] = text.strip()
    return found
theirs, ours = blocks("theirs"), blocks("ours")
theirs = {k: v for k, v in theirs.items() if k[0] not in ("perf", "perf_raw")}  # the kernel's own names, listed by us as such
for key in sorted(set(theirs) | set(ours)):
    if theirs.get(key) != ours.get(key):
        print(*key)
EOF
		is "$(head -5 differences)" "" "S4-199 S4-200: list pfm --details: every event of ${pmu:-this CPU}, as showevtinfo prints it"
		[ -z "$pmu" ] || is "$(grep -c "^PMU name : $pmu " ours)" "$(grep -c "^PMU name : $pmu " theirs)" "S4-199 S4-200: as many of $pmu"
	done
	if [ -s ours ]; then
		like "$(cat ours)" '^PMU name : [^ ]+ \(.*\)$' "S4-199 S4-200: there are some"
	else
		skip "libpfm does not know this CPU" "S4-199 S4-200: there are some"
	fi
fi
if sonde list pfm 2>&1 | grep -q 'built without'; then
	skip "built without libpfm4" "S4-387 S4-173: codes by name"
else
	code() { sonde list "$1" --details --all | awk -v u="\[$2\]" '/^Code/ { c = $3 } $0 ~ "^Umask.*" u { print c, $3; exit }'; }
	is "$(code snb::CPU_CLK_UNHALTED REF_P)" "0x3c 0x01" "S4-387 S4-173: event 3CH, umask 01H"
	is "$(code snb::L2_STORE_LOCK_RQSTS HIT_M)" "0x27 0x08" "S4-387 S4-173: event 27H, umask 08H"
fi
done_testing
