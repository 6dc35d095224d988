#!/usr/bin/env bash
# `sonde report --stats, --tasks, --mmaps` print the same bytes as perf 6.1 on recordings made by perf and by sonde.
# where: host
# needs: root
# timeout: 300
. "${SONDE_SRC:-.}/tests/lib.sh"

need perf
cd "$SONDE_TMP" || exit 1
export PERF_BUILDID_DIR=$SONDE_TMP/debug

make_recordings() {
	perf record -q -F 999 -e cpu-clock -o plain.data -- "$SONDE" workload forks 20
	perf record -q -F 499 -g -a -e cpu-clock,page-faults -o several.data -- "$SONDE" workload forks 20
	perf record -q -e sched:sched_switch -e sched:sched_wakeup -a -o tracepoints.data -- sleep 0.1
	perf record -q -g -e '{cpu-clock,task-clock}:S' -e page-faults -o group.data -- "$SONDE" workload forks 20
	perf record -q -e task-clock -e page-faults -z -o packed.data -- "$SONDE" workload forks 20
	perf_stream stream.data -F 999 -g -e cpu-clock -- "$SONDE" workload forks 20
	perf record -q -d -e page-faults -c 1 -o data.data -- sh -c 'ls -lR /usr/share/doc; ls /'
	perf record -q --buildid-mmap -e cpu-clock -o ids.data -- sh -c 'ls -lR /usr/share/doc; ls /'
	"$SONDE" record -F 999 -g -e cpu-clock,page-faults -o ours.data -- "$SONDE" workload forks 5
	"$SONDE" record -a -F 999 -g -e cpu-clock -o ours_all.data -- "$SONDE" workload forks 5
} >/dev/null 2>&1
make_recordings

# What perf gets wrong, left out: where a map carries a build id, perf 6.1 prints the id's bytes as the number of the file.
faults() { sed -E '/-xp|r--p|rw-p/s/(p [0-9a-f]{8}) [0-9]+ /\1 INO /'; }

for name in plain several tracepoints group packed stream data ids ours ours_all; do
	for option in --stats --tasks --mmaps; do
		perf report $option -i $name.data >theirs 2>/dev/null
		"$SONDE" report $option -i $name.data >mine 2>mine.err
		case $name$option in *ids*mmaps | ours*mmaps)
			faults <theirs >theirs.right && mv theirs.right theirs
			faults <mine >mine.right && mv mine.right mine
			;;
		esac
		[ -s theirs ] && cmp -s theirs mine
		ok $? "same bytes: report $option of $name ($(wc -l <theirs) lines)" || diag "$(diff theirs mine | head -5)"
	done
done
done_testing
