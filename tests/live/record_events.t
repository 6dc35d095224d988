#!/usr/bin/env bash
# Options of perf record about things beside the samples: --switch-output-event, --all-cgroups, -S.
# where: host
# needs: root perf_events
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde
cd "$SONDE_TMP" || exit 1

# ---- another file at each event
needs_or_skip "--switch-output-event" tracefs || {
	exits 0 "--switch-output-event" "$SONDE" record -e cpu-clock -F 99 --switch-output-event syscalls:sys_enter_getppid -o sw.data -- \
		sh -c "'$SONDE' workload leaf 0.3; '$SONDE' workload syscalls 1; '$SONDE' workload leaf 0.3"
	set -- sw.data.*
	[ $# -ge 2 ]
	ok $? "the event ends a file ($# files)" || diag "$err"
	is "$(grep -c ': finished ' <<<"$err")" $# "each of which is reported"
	[ ! -e sw.data ]
	ok $? "and none is left without a time"
	is "$(for f; do "$SONDE" evlist -i "$f"; done | sort -u | grep -v dummy)" cpu-clock "the event itself is not recorded"
	exits 0 "an event that does not occur" "$SONDE" record -e cpu-clock -F 99 --switch-output-event syscalls:sys_enter_swapoff -o none.data -- "$SONDE" workload leaf 0.2
	is "$(echo none.data.* | wc -w)" 1 "makes one file"
	exits 1 "an event that there is not" "$SONDE" record --switch-output-event nosuch:event -o no.data -- true
	like "$err" 'nosuch' "is named"
}

# ---- cgroups that were there before
cgroups=$(awk '$3 == "cgroup" && $4 ~ /perf_event/ { v1 = $2 } $3 == "cgroup2" { v2 = $2 } END { print v1 ? v1 : v2 }' /proc/mounts)
group=sonde-test.$$
if [ -n "$cgroups" ] && mkdir -p "$cgroups/$group/inner" 2>/dev/null; then
	"$SONDE" record -q -a --all-cgroups -e cpu-clock -F 99 -o cgroups.data -- sh -c "echo \$\$ >'$cgroups/$group/inner/cgroup.procs'; exec '$SONDE' workload leaf 0.3" 2>err
	is $? 0 "--all-cgroups" || diag "$(cat err)"
	like "$("$SONDE" script -D -i cgroups.data 2>/dev/null)" "PERF_RECORD_CGROUP.*/$group/inner" "describes those that exist"
	like "$("$SONDE" report -i cgroups.data --stdio -s cgroup -g none 2>/dev/null)" "% +/$group/inner *$" "and their samples have the name"
	like "$(perf report -i cgroups.data --stdio -s cgroup -g none 2>/dev/null)" "% +/$group/inner *$" "for perf too"
	wait_until rmdir "$cgroups/$group/inner" 2>/dev/null
	rmdir "$cgroups/$group"
else
	skip "no cgroup file system here" "--all-cgroups"
fi

# ---- AUX tracing, without its hardware
exits 129 "-S" "$SONDE" record -S -o no.data -- true
like "$err" "no AUX area tracing" "has nothing to do"
ln -s "$SONDE" perf
exits 234 "called as perf" ./perf record -S0x1000 -o no.data -- true
is "$err" "No AUX area tracing to snapshot" "in its words"
done_testing
