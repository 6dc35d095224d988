#!/usr/bin/env bash
# The header that `report` and `script` print is perf 6.1's, byte for byte, on recordings made by perf and by sonde.
# where: host
# needs: root
# timeout: 300
. "${SONDE_SRC:-.}/tests/lib.sh"

need perf
cd "$SONDE_TMP" || exit 1
export PERF_BUILDID_DIR=$SONDE_TMP/debug

make_recordings() {
	perf record -q -F 999 -e cpu-clock -o plain.data -- sh -c "echo 'a'\\''b'; ls -R /usr/share"
	perf record -q -F 499 -g -a -e cpu-clock,page-faults:u -o several.data -- sleep 0.1
	perf record -q -e sched:sched_switch -e sched:sched_wakeup -a -o tracepoints.data -- sleep 0.1
	perf record -q -g -k mono -e '{cpu-clock,task-clock}:S' -e page-faults -o group.data -- ls /
	perf record -q -e task-clock:u -e mem:0x1000:rw -z -o packed.data -- ls /
	for clock in CLOCK_TAI boottime CLOCK_MONOTONIC_RAW realtime; do
		perf record -q -k $clock -e cpu-clock -o $clock.data -- ls /
	done
	perf_stream stream.data -F 999 -g -e cpu-clock -- ls /
	"$SONDE" record -F 999 -g -e cpu-clock,page-faults -o ours.data -- "$SONDE" workload forks 5
} >/dev/null 2>&1
make_recordings

same() {
	local name=$1
	shift
	perf "$@" -i "$name.data" >theirs 2>/dev/null
	"$SONDE" "$@" -i "$name.data" >mine 2>mine.err
	[ -s theirs ] && cmp -s theirs mine
	ok $? "same bytes: $* of $name" || diag "$(diff theirs mine | head -5)"
}

for name in plain several tracepoints group packed CLOCK_TAI boottime CLOCK_MONOTONIC_RAW realtime ours; do
	same $name report --header-only
	same $name report --header-only -I
	same $name script --header-only -I
	TZ=Asia/Kolkata same $name script --header-only
done
# perf script leaves out a stream's features; we do as its report does.
same stream report --header-only
same stream report --header-only -I

head_of() { sed '/^# Overhead\|^# Children/,$d'; }
for option in "" --header "--header -I" -I; do
	perf report --stdio $option -i plain.data 2>/dev/null | head_of >theirs
	"$SONDE" report --stdio $option -i plain.data 2>/dev/null | head_of >mine
	cmp -s theirs mine
	ok $? "the same lines above the table: report $option" || diag "$(diff theirs mine | head -5)"
done
out=$("$SONDE" report -q -i plain.data | grep -c '^#')
is "$out" 0 "report -q has no comment lines"
out=$("$SONDE" script --header -i plain.data | grep -v '^#' | cmp - <("$SONDE" script -i plain.data) && echo same)
is "$out" same "script --header goes on with the samples"
done_testing
