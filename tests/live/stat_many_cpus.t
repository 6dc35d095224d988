#!/usr/bin/env bash
# where: host
# needs: root
# timeout: 300
# 512 CPUs, and CPU numbers with holes: the list in sysfs is replaced in a namespace of our own, the counters are played
# (tests/oracle/stat_shim.c). So many files are open then that their limit has to be raised, or told.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events
shim=$(dirname "$SONDE")/tests/stat_shim.so
online=/sys/devices/system/cpu/online
if [ ! -e "$shim" ] || ! unshare -m true 2>/dev/null; then
	echo "1..0 # SKIP no stat_shim.so, or no mount namespaces"
	exit 0
fi
if ldd "$SONDE" 2>/dev/null | grep -q asan; then
	echo "1..0 # SKIP a preloaded library and the sanitizer do not go together"
	exit 0
fi
cd "$SONDE_TMP" || exit 1
real=$(($(sed 's/.*[-,]//' $online) + 1))

# with LIST COMMAND...: where these CPUs are online
with() {
	echo "$1" >online
	shift
	# shellcheck disable=SC2016
	STAT_SHIM_CPUS=$real unshare -m bash -c 'mount --bind "$1" "$2" || exit 99
		shim=$3
		shift 3
		exec env LD_PRELOAD="$shim" "$@"' x "$PWD/online" $online "$shim" "$@"
}
rows() { grep -c "^CPU[0-9]*,.*,$1," <<<"$err"; }

exits 0 "512 CPUs" with 0-511 "$SONDE" stat -a -A -x, -e cycles,instructions -- true
is "$(rows cycles) $(rows instructions)" "512 512" "a row for each and each event"
is "$(grep -c 'not counted\|not supported' <<<"$err")" 0 "all are counted"
like "$err" '^CPU511,[0-9]+,,instructions,' "the last one, too"
exits 0 "added up" with 0-511 "$SONDE" stat -a -x, -e cycles -- true
is "$(cut -d, -f1 <<<"$err")" $((512 * 17000)) "they are 512 times one"
exits 0 "numbers with holes" with 0,3,64-66,510 "$SONDE" stat -a -A -x, -e cycles -- true
is "$(cut -d, -f1 <<<"$err" | xargs)" "CPU0 CPU3 CPU64 CPU65 CPU66 CPU510" "only those that are there"
exits 0 "-C of some of them" with 0,3,64-66,510 "$SONDE" stat -C 3,64,65,511 -A -x, -e cycles -- true
like "$err" 'CPU 511: missing or offline' "the missing one is said"
exits 0 "a recording of 512 CPUs" with 0-511 "$SONDE" stat record -o many.data -a -A -e cycles -- true
exits 0 "its report" "$SONDE" stat report -i many.data -x,
is "$(rows cycles)" 512 "has all of them"
if ! needs_or_skip "perf reads it" perf; then
	perf stat -x, report -i many.data 2>perf.err
	# It names only those that the head's topology has, which is the real machine's.
	is "$(grep -c '17000,,cycles,' perf.err)" 512 "all of them"
fi

# ---- files: 512 CPUs and four events are 2048
exits 0 "a low limit that may be raised" bash -c "ulimit -Sn 100; $(declare -f with); online=$online shim=$shim real=$real; with 0-511 \"\$SONDE\" stat -a -x, -e cycles,instructions,branches,branch-misses -- true"
is "$(grep -c '^[0-9]' <<<"$err")" 4 "is raised without a word"
prlimit=$(command -v prlimit)
if [ -n "$prlimit" ]; then
	exits 1 "a limit that may not be raised" with 0-511 setpriv --bounding-set=-sys_resource --inh-caps=-sys_resource prlimit --nofile=100:100 "$SONDE" stat -a -x, -e cycles,instructions,branches,branch-misses -- true
	like "$err" 'open files' "is told"
	like "$err" 'hint: .*(ulimit -n|RLIMIT_NOFILE|nofile|fewer)' "with what helps" || diag "$err"
	unlike "$err" '^[0-9]+,,cycles' "and no wrong numbers are shown"
else
	skip "prlimit is not installed" "a limit that may not be raised"
fi
done_testing
