#!/usr/bin/env bash
# where: host
# needs: root
# stat --topdown and --td-level: the shares that perf computes, on played machines of three kinds: with counts of slots, with metric events, and
# with the second level of these. Codes are those of the kernel's arch/x86/events/intel/core.c; counters are played by tests/oracle/stat_shim.c.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events perf
shim=$(dirname "$SONDE")/tests/stat_shim.so
if [ ! -e "$shim" ] || ! unshare -m true 2>/dev/null; then
	echo "1..0 # SKIP no stat_shim.so, or no mount namespaces"
	exit 0
fi
if ldd "$SONDE" 2>/dev/null | grep -q asan; then
	echo "1..0 # SKIP a preloaded library and the sanitizer do not go together"
	exit 0
fi
cd "$SONDE_TMP" || exit 1

# machine NAME EVENT=CODE...: Haswell's PMU with these events, too
machine() {
	local name=$1 event
	shift
	mkdir -p "$name"
	cp -rL "$SONDE_SRC/tests/data/sysroot/intel-haswell/sys/bus/event_source" "$name/"
	for event; do echo "${event#*=}" >"$name/event_source/devices/cpu/events/${event%%=*}"; done
}
level1=(slots=event=0x00,umask=0x4 topdown-retiring=event=0x00,umask=0x80 topdown-bad-spec=event=0x00,umask=0x81
	topdown-fe-bound=event=0x00,umask=0x82 topdown-be-bound=event=0x00,umask=0x83)
level2=(topdown-heavy-ops=event=0x00,umask=0x84 topdown-br-mispredict=event=0x00,umask=0x85
	topdown-fetch-lat=event=0x00,umask=0x86 topdown-mem-bound=event=0x00,umask=0x87)
counts=(topdown-total-slots=event=0x3c,umask=0x0 topdown-total-slots.scale=4 topdown-slots-issued=event=0xe,umask=0x1
	topdown-slots-retired=event=0xc2,umask=0x2 topdown-fetch-bubbles=event=0x9c,umask=0x1)
machine plain
machine one "${level1[@]}"
machine two "${level1[@]}" "${level2[@]}"
machine atom "${counts[@]}"
machine slots "${counts[@]}" topdown-recovery-bubbles=event=0xd,umask=0x3,cmask=1 topdown-recovery-bubbles.scale=4

on() {
	local machine=$1
	shift
	# shellcheck disable=SC2016
	STAT_SHIM_PMUS=1 unshare -m bash -c '
		mount --bind "$1" /sys/bus/event_source || exit 99
		shim=$2
		shift 2
		exec env LD_PRELOAD="$shim" "$@"' x "$PWD/$machine/event_source" "$shim" "$@"
}
shares() { grep -oE -- '-?[0-9.]+%' | xargs; }

# perf 6.1 leaves the names of the columns out, and makes a column wider where its share would be coloured: the shares are compared.
for m in one two slots atom; do
	on $m perf stat --topdown -a true 2>theirs
	exits 0 "--topdown on '$m'" on $m "$SONDE" stat --topdown -a true
	is "$(shares <<<"$err")" "$(shares <theirs)" "the shares are perf's"
	isnt "$(shares <theirs)" "" "there are some"
	on $m perf stat --topdown --no-metric-only -a true 2>&1 | grep -o '[0-9]* *\(slots\|topdown[^ ]*\).*' | sed 's/ *# */\n/2; s/ *$//' | grep -v '^[^a-z]*$' >theirs
	on $m "$SONDE" stat --topdown --no-metric-only -a true 2>&1 | grep -o '[0-9]* *\(slots\|topdown[^ ]*\).*\|^ *#.*' | sed 's/^ *# */\n/; s/ *$//' | grep . >ours
	is "$(sed 's/^ *//; s/  *#/ #/; s/ [ ]*/ /g' ours)" "$(sed 's/^ *//; s/  *#/ #/; s/ [ ]*/ /g' theirs)" "rows and names of the ratios are perf's" || diag "$(diff theirs ours)"
done
like "$(on one "$SONDE" stat --topdown true 2>&1)" '^ +Retiring +Bad Speculation +Frontend Bound +Backend Bound *$' "the names of the first level"
like "$(on two "$SONDE" stat --topdown true 2>&1)" 'Heavy Operations +Light Operations +Branch Mispredict +Machine Clears +Fetch Latency +Fetch Bandwidth +Memory Bound +Core Bound' \
	"the second level where there is one"
unlike "$(on two "$SONDE" stat --topdown --td-level 1 true 2>&1)" 'Heavy' "--td-level 1: the first one only"
like "$(on slots "$SONDE" stat --topdown -a true 2>&1)" '^core +cpus +retiring +bad speculation +frontend bound +backend bound *$' "counts of slots: by core"
like "$(on atom "$SONDE" stat --topdown -a true 2>&1)" 'backend bound/bad spec' "without bubbles of recovery the rest is two things"
is "$(on one "$SONDE" stat --topdown -x, true 2>&1 | head -1)" "Retiring,Bad Speculation,Frontend Bound,Backend Bound," "-x,: names as columns"

# What perf refuses, in perf's words.
refused() { # MACHINE WORDS OPTION...
	local m=$1 words=$2
	shift 2
	like "$(on "$m" perf stat --topdown "$@" true 2>&1)" "$words" "perf: --topdown $* on '$m'"
	exits 129 "--topdown $* on '$m' is refused" on "$m" "$SONDE" stat --topdown "$@" true
	like "${err,,}" "${words,,}" "in perf's words"
}
refused slots "requires system-wide mode \(-a\)"
refused slots "requires --per-core mode" -a --per-socket
refused slots "The max level is 1." -a --td-level 2
refused one "The max level is 1." --td-level 2
refused two "The max level is 2." --td-level 3
refused plain "System does not support topdown" -a
exits 129 "without -a on a machine that has no such events" on plain "$SONDE" stat --topdown true
like "$err" "system does not support topdown" "the machine is the reason, not the missing -a"

# By name, and by group.
exits 0 "-M TopdownL1" on one "$SONDE" stat -x, -M TopdownL1 true
is "$(cut -d, -f3 <<<"$err" | xargs)" "slots topdown-retiring topdown-bad-spec topdown-fe-bound topdown-be-bound" "one group, which slots leads"
exits 0 "-M tlb" on one "$SONDE" stat -x, -M tlb true
is "$(cut -d, -f7 <<<"$err" | grep . | xargs)" "dtlb_miss_rate itlb_miss_rate" "all metrics of the group"
exits 129 "-M nosuch" "$SONDE" stat -M nosuch true
like "$err" "unknown metric or metric group 'nosuch'" "is refused"

# list metricgroups: perf's layout; which groups there are hangs on the vendor's tables, which we have not.
like "$(perf list metricgroups 2>/dev/null | head -3 | paste -sd_)" '^_Metric Groups:_$' "perf's head"
is "$("$SONDE" list metricgroups | head -3 | paste -sd_)" "_Metric Groups:_" "ours is the same"
is "$("$SONDE" list metricgroups | tail -n +4 | xargs)" "TopdownL1 TopdownL2 TopdownSlots branch_prediction cache cpu pipeline tlb transaction" "names, sorted"
is "$("$SONDE" list metricgroup)" "$("$SONDE" list metricgroups)" "in the singular, too"
"$SONDE" list -j metricgroups >groups.json
python3 -c 'import json
d = json.load(open("groups.json"))
assert {e["MetricGroup"] for e in d if e["MetricName"] == "dtlb_miss_rate"} == {"tlb"} and all("MetricGroup" in e for e in d)'
ok $? "-j: each metric with its group"
done_testing
