#!/usr/bin/env bash
# where: host
# needs: root
# timeout: 300
# PERF_TEST_ATTR=DIR: each event that is opened is told to a file there, word for word as perf stat tells it.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events
cd "$SONDE_TMP" || exit 1

# told DIR: what its files say in the order of opening, without the numbers that differ from run to run
told() {
	local f
	for f in $(find "$1" -type f | sed 's/.*-//' | sort -n); do
		cat "$1"/event-*-*-"$f" | sed -E 's/^\[event-(.*)-[0-9]+\]/[\1]/; s/^fd=.*/fd/; s/^group_fd=[0-9].*/group_fd=N/; s/^pid=[0-9].*/pid=N/'
	done
}

same() {
	rm -rf p s
	mkdir p s
	PERF_TEST_ATTR=p perf stat "$@" >/dev/null 2>&1
	PERF_TEST_ATTR=s "$SONDE" stat "$@" >/dev/null 2>&1
	isnt "$(ls s)" "" "files are written: $*"
	is "$(told s)" "$(told p)" "as perf's: $*"
}
if ! needs_or_skip "attrs as perf has them" perf; then
	same true
	same -d true
	same -e task-clock,cs,cycles true
	same -e faults:u,cs:k true
	same -i -e cs true
	same -a -A -e 'cs,{faults,task-clock}' sleep 0.01
	same -g -e cs,faults true
	same -p $$ -e faults sleep 0.01
	same -C 0 -e cpu-clock sleep 0.01
	same --all-user -e faults true
fi
PERF_TEST_ATTR=nowhere/there "$SONDE" stat -e cs true >/dev/null 2>&1
ok $? "a folder that is not there is no error"

# ---- groups are read at one moment
n=$("$SONDE" stat -x, -e '{cpu-clock,cpu-clock,cpu-clock}' -- "$SONDE" workload noploop 0.2 2>&1 >/dev/null | cut -d, -f1,4 | cut -d, -f2 | sort -u | wc -l)
is "$n" 1 "members of a group ran equally long"
exits 0 "a time of ours may lead a group" "$SONDE" stat -x, -e '{duration_time,cs,faults}' true
is "$(grep -cE '^[0-9]+,[^,]*,(duration_time|context-switches|page-faults|cs|faults)' <<<"$err")" 3 "and all three are counted (perf 6.1 does not)"
unlike "$err" 'not (counted|supported)' "none is missing"
done_testing
