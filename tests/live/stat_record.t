#!/usr/bin/env bash
# where: host 6.1
# needs: root
# timeout: 300
# `stat record` and `stat report`: perf reads our files and we read perf's, and both say the same about them.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events
cd "$SONDE_TMP" || exit 1

# same NAME FILE OPTIONS...: both reports of a file, to the byte. (perf forgets how long intervals are, so that ratios of intervals
# are wrong or missing there.)
same() {
	local name=$1 file=$2
	shift 2
	perf stat "$@" report -i "$file" >perf.out 2>perf.err
	"$SONDE" stat "$@" report -i "$file" >sonde.out 2>sonde.err
	[[ $name != *interval* ]] || sed -i 's/ *#  *[0-9.]* [^#]*$//; s/ *$//' perf.err sonde.err
	cmp -s perf.err sonde.err && cmp -s perf.out sonde.out
	ok $? "$name" || diag "$(diff perf.err sonde.err | head -20)"
}

HW=task-clock,context-switches,page-faults,cycles,duration_time
# In guests perf is slow, and what it says is the same.
if [ "$SONDE_GUEST" = host ] && ! needs_or_skip "perf's files" perf; then
	perf stat record -o p1 -e $HW true 2>/dev/null
	same "perf's counts of a command" p1
	same "as CSV" p1 -x,
	same "as JSON" p1 -j
	perf stat record -o p2 -a -e cpu-clock,context-switches sleep 0.1 2>/dev/null
	same "of the system" p2
	perf stat record -o p3 -a -A -e cpu-clock,context-switches,cycles sleep 0.1 2>/dev/null
	same "of each CPU" p3
	same "of each CPU, as CSV" p3 -x,
	same "of each CPU, as JSON" p3 -j
	for by in core socket die node; do
		perf stat report -i p3 --per-$by >perf.out 2>perf.err
		"$SONDE" stat report -i p3 --per-$by >sonde.out 2>sonde.err
		# How many CPUs nothing was counted on: perf always says one.
		sed -i -E 's/ [0-9]+( +<not supp)/ ~\1/' perf.err sonde.err
		cmp -s perf.err sonde.err
		ok $? "by $by" || diag "$(diff perf.err sonde.err)"
	done
	perf stat record -o p4 -I 50 -a -e cpu-clock,context-switches sleep 0.18 2>/dev/null
	same "its intervals" p4
	perf stat record -o p5 --per-thread -p $$ -e task-clock,page-faults sleep 0.1 2>/dev/null
	same "of threads" p5
	perf stat record -o p6 -e '{task-clock,context-switches},page-faults' true 2>/dev/null
	same "of a group" p6
	perf stat record --null -o p7 true 2>/dev/null
	same "of nothing" p7
	perf stat record -o - -e task-clock,cycles true 2>/dev/null >p8
	"$SONDE" stat report -i - <p8 2>sonde.err
	like "$(cat sonde.err)" 'msec task-clock' "of a stream"
	like "$(cat sonde.err)" "<not supported>      cycles|[0-9]      cycles" "which does not name what it could not count: we do"
	perf stat record -o p9 -e sched:sched_switch,task-clock -a sleep 0.05 2>/dev/null
	exits 0 "of a tracepoint, where perf 6.1 cannot read its own file" "$SONDE" stat report -i p9
	like "$err" 'sched:sched_switch' "is there"
fi

# ---- ours
"$SONDE" stat record -o s1 -e $HW -- true 2>live.err
ok $? "we record"
"$SONDE" stat report -i s1 2>rep.err
strip() { grep -v 'stats for\|seconds user\|seconds sys\|^ *$' "$1"; }
is "$(strip rep.err)" "$(strip live.err)" "the report says what was shown when it was counted"
"$SONDE" stat record -o s2 -a -A -e cpu-clock,context-switches,duration_time -- sleep 0.1 2>/dev/null
"$SONDE" stat record -o s3 -I 50 -a -e cpu-clock,context-switches -- sleep 0.18 2>live.err
"$SONDE" stat report -i s3 2>rep.err
is "$(cat rep.err)" "$(cat live.err)" "intervals are the same, too"
"$SONDE" stat record -o s4 --per-thread -p $$ -e task-clock,page-faults -- sleep 0.1 2>/dev/null
"$SONDE" stat record -o s5 -e '{task-clock,context-switches},page-faults' -- true 2>/dev/null
"$SONDE" stat record -o s6 --null -- true 2>/dev/null
"$SONDE" stat record -o - -e task-clock,page-faults -- true 2>/dev/null >s7
"$SONDE" stat record -o s8 -a -e sched:sched_switch,cpu-clock -- sleep 0.05 2>/dev/null
"$SONDE" stat record -o s9 -C 0 -e cpu-clock -G / -- sleep 0.05 2>/dev/null
if [ "$SONDE_GUEST" = host ] && ! needs_or_skip "perf reads our files" perf; then
	same "perf reads ours: a command" s1
	# What could not be opened has no id: a name for id 0 would be taken for the first event's.
	"$SONDE" stat record -o - -e cycles,task-clock,instructions -- true 2>/dev/null | perf stat report 2>&1 | grep -oE ' (cycles|task-clock|instructions) ' | tr -d ' ' >names
	is "$(tr '\n' ' ' <names)" "cycles task-clock instructions " "a stream names every event, counted or not"
	same "as CSV, too" s1 -x,
	same "as JSON, too" s1 -j
	same "each CPU" s2
	same "intervals" s3
	same "threads" s4
	same "a group" s5
	same "nothing" s6
	same "a tracepoint: its format is there" s8
	same "a cgroup, which is part of the name" s9
	is "$(perf evlist -g -i s5 2>/dev/null | head -1)" "{task-clock,context-switches}" "the group is in the head"
	like "$(perf report --header-only -i s1 2>/dev/null)" "contains stat data" "the head says what it is"
	perf stat report -i - <s7 >/dev/null 2>perf.err
	like "$(cat perf.err)" 'msec task-clock' "perf reads our stream"
fi
exits 0 "a stream, ours" sh -c "\"$SONDE\" stat report -i - <s7"
like "$err" 'page-faults' "is read"
exits 0 "another way to add up" "$SONDE" stat report --per-socket -x, -i s2
like "$err" '^S0,[0-9]+,[0-9.]+,msec,cpu-clock' "by socket, though it was made by CPU"
exits 0 "a way that the counts do not have" "$SONDE" stat report --per-core -i s1
like "$err" "counts of tasks, not of CPUs" "is said, and what there is is shown"
like "$err" "task-clock" "with its events"

# ---- habits, mistakes
"$SONDE" stat record -e faults -- true >/dev/null 2>&1
[ -s perf.data ]
ok $? "perf.data without -o"
exits 0 "which the report finds" "$SONDE" stat report
"$SONDE" stat record -e faults -- true >/dev/null 2>&1
[ -s perf.data.old ]
ok $? "the one before is kept"
exits 5 "the status is the command's" "$SONDE" stat record -o s1 -e faults -- sh -c 'exit 5'
exits 129 "-r keeps one run only" "$SONDE" stat record -r 3 -- true
like "$err" "record" "is said"
exits 1 "no such file" "$SONDE" stat report -i nope
like "$err" "nope" "is named"
"$SONDE" record -o samples -e cpu-clock -- true >/dev/null 2>&1
exits 1 "samples are not counts" "$SONDE" stat report -i samples
like "$err" "the file has no counts.*stat record" "and who makes them is said"
head -c 700 s3 >cut
"$SONDE" stat report -i cut >/dev/null 2>cut.err
[ $? -le 1 ]
ok $? "a file that was cut off does no harm"
exits 1 "a place that cannot be written" "$SONDE" stat record -o /nonexistent/x -e faults -- touch ran
[ ! -e ran ]
ok $? "is found out before the command runs"
done_testing
