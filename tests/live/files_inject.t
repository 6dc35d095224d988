#!/usr/bin/env bash
# `sonde inject`: build ids and sleeping times put into recordings; perf reads the result, and its own inject says the same.
# where: host
# needs: root
# timeout: 300
. "${SONDE_SRC:-.}/tests/lib.sh"

need perf perf_events
cd "$SONDE_TMP" || exit 1
export PERF_BUILDID_DIR=$SONDE_TMP/debug
ln -s "$SONDE" perf

# ---- build ids
perf record -q -B -F 2000 -g -e cpu-clock -o plain.data -- "$SONDE" workload leaf 0.3 2>/dev/null
exits 0 "-b" "$SONDE" inject -b -i plain.data -o ours.data
command perf inject -b -i plain.data -o theirs.data 2>/dev/null
# perf leaves the kernel out, and has its own copy of the vdso.
ids() { command perf buildid-list -i "$1" 2>/dev/null | grep -v '\[kernel\|\[vdso\]' | sort; }
is "$(ids ours.data)" "$(ids theirs.data)" "perf finds the ids that its own inject finds"
like "$(command perf buildid-list -i ours.data)" "$(realpath "$SONDE")" "the program among them"
is "$("$SONDE" buildid-list -i ours.data)" "$(command perf buildid-list -i ours.data)" "we read it alike"
is "$(command perf script -i ours.data 2>&1)" "$(command perf script -i plain.data 2>/dev/null)" "and nothing else changed"
is "$(stat -c %a ours.data)" 600 "mode 0600"
like "$(command perf report --header-only -i ours.data)" "hostname : $(uname -n)" "features are kept"
exits 0 "in place" "$SONDE" inject --buildid-all -i plain.data -o plain.data
[ "$(command perf buildid-list -i plain.data | wc -l)" -ge "$(command perf buildid-list -i ours.data | wc -l)" ]
ok $? "--buildid-all has at least as many"
is "$(command perf script -i plain.data 2>&1 | grep -c clock)" "$(command perf script -i ours.data 2>/dev/null | grep -c clock)" "with all samples"

# ---- streams
wanted=$(command perf script -i ours.data 2>/dev/null | grep -c clock)
"$SONDE" inject -b <ours.data >stream.data
is "$(command perf script -i - <stream.data 2>perf.err | grep -c clock)" "$wanted" "a file becomes a stream"
is "$(cat perf.err)" "" "that perf reads without complaint"
is "$("$SONDE" script -i stream.data 2>/dev/null | grep -c clock)" "$wanted" "and we"
is "$(command perf buildid-list -i - <stream.data 2>/dev/null | sort)" "$(command perf buildid-list -i ours.data | sort)" "with its ids"
"$SONDE" record -q -F 2000 -e cpu-clock -o - -- "$SONDE" workload leaf 0.3 2>/dev/null >pipe.data
wanted=$("$SONDE" script -i pipe.data | grep -c clock)
is "$("$SONDE" inject -b <pipe.data | command perf script -i - 2>/dev/null | grep -c clock)" "$wanted" "a stream stays one"
"$SONDE" inject -b -i pipe.data -o filed.data
is "$(command perf script -i filed.data 2>/dev/null | grep -c clock)" "$wanted" "also in a file"

# ---- compressed, and directories
"$SONDE" record -q -z -F 2000 -e cpu-clock -o z.data -- "$SONDE" workload leaf 0.3 2>/dev/null
"$SONDE" inject -i z.data -o unz.data
is "$(command perf script -i unz.data 2>&1)" "$(command perf script -i z.data 2>/dev/null)" "a compressed one comes out plain"
like "$(command perf report --header-only -i z.data)" 'compressed :' "the header of a compressed one says so"
header=$(command perf report --header-only -i unz.data)
like "$header" '^# cmdline : ' "that of the plain one is there"
unlike "$header" 'compressed :' "and does not claim otherwise"
for _ in 1 2 3 4 5 6; do
	command perf record -q --threads -F 2000 -e cpu-clock -o dir.data -- "$SONDE" workload leaf 0.3 >/dev/null 2>&1
	command perf script -i dir.data >dir.txt 2>/dev/null && break
done
"$SONDE" inject -b -i dir.data -o undir.data
is "$(command perf script -i undir.data 2>/dev/null | sort)" "$(sort dir.txt)" "a directory becomes one file"

# ---- sleeping times
needs_or_skip "-s" tracefs || {
	for _ in 1 2 3 4 5 6; do
		command perf record -q -e sched:sched_stat_runtime -e sched:sched_switch -e sched:sched_process_exit -g -a -o s.data -- \
			sh -c 'for i in 1 2 3 4 5; do sleep 0.02; ls >/dev/null; done' 2>/dev/null
		command perf inject -s -i s.data -o theirs.data 2>/dev/null && break
	done
	exits 0 "-s" "$SONDE" inject -s -i s.data -o mine.data
	fields=comm,tid,time,event,period,ip,sym
	command perf script -F $fields -i theirs.data >theirs.txt 2>/dev/null
	command perf script -F $fields -i mine.data >mine.txt 2>/dev/null
	cmp theirs.txt mine.txt && [ -s mine.txt ]
	ok $? "the same samples as perf inject -s ($(grep -c sched_switch mine.txt))"
	exits 0 "called as perf" ./perf inject -s -i s.data -o again.data
	cmp -s mine.data again.data
	ok $? "the same bytes"
}
exits 1 "-s without such events" "$SONDE" inject -s -i ours.data -o x.data
like "$err" 'no sched:sched_stat_' "is said"
[ ! -e x.data ] && [ -z "$(find . -name 'x.data.*')" ]
ok $? "and leaves nothing behind"
exits 1 "no recording" "$SONDE" inject -b -i /etc/passwd -o x.data
done_testing
