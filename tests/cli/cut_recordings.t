#!/usr/bin/env bash
# A recording that somebody truncates while it is read: every reader says so, once, and ends with status 1.
. "${SONDE_SRC:-.}/tests/lib.sh"
gen=$(dirname "$SONDE")/tests
cd "$SONDE_TMP" || exit
"$gen/perf_large" chains 60000 whole.data
"$gen/cut_when_mapped" whole.data 9999999999 true
[ $? = 125 ] || { echo "1..0 # SKIP processes cannot be traced here (ptrace)"; exit 0; }

# Truncated when it has been mapped and before any of it is read.
cut() { # SIZE NAME COMMAND... (the recording is called in.data)
	local size=$1 name=$2 status
	shift 2
	cp whole.data in.data
	"$gen/cut_when_mapped" in.data "$size" "$@" >out 2>err
	status=$?
	is $status 1 "$name: status 1" || diag "$(cat err)"
	is "$(grep -c "'in.data' was truncated while it was being read" err)" 1 "$name: a message, once" || diag "$(cat err)"
}

for size in 0 8192 1000000; do
	for workers in 1 4; do
		cut $size "report, $workers workers, $size bytes left" "$SONDE" report -i in.data -g none --workers $workers
		cut $size "script, $workers workers, $size bytes left" "$SONDE" script -i in.data --workers $workers
	done
	for verb in buildid-list evlist annotate; do
		cut $size "$verb, $size bytes left" "$SONDE" $verb -i in.data
	done
	cut $size "buildid-list -H, $size bytes left" "$SONDE" buildid-list -H -i in.data
	cut $size "flame, $size bytes left" "$SONDE" flame -i in.data -o page.html
	ok "$([ ! -e page.html ]; echo $?)" "flame, $size bytes left: no page is left behind"
	cut $size "diff, $size bytes left" "$SONDE" diff whole.data in.data
	cut $size "inject, $size bytes left" "$SONDE" inject -i in.data -o injected.data
	ok "$([ ! -e injected.data ]; echo $?)" "inject, $size bytes left: no file is left behind"
	cut $size "archive, $size bytes left" "$SONDE" archive -i in.data -o archive.tar
	ok "$([ ! -e archive.tar ]; echo $?)" "archive, $size bytes left: no file is left behind"
	cut $size "data convert, $size bytes left" "$SONDE" data convert -i in.data --to-json page.json
	cut $size "data repair, $size bytes left" "$SONDE" data repair in.data
	is "$(stat -c %s in.data)" $size "data repair, $size bytes left: nothing is written"
done
# Less than a page: nothing faults, and it is noticed all the same.
cut $(($(stat -c %s whole.data) - 8)) "report, 8 bytes less" "$SONDE" report -i in.data -g none
# A directory of files.
"$gen/perf_large" chains 20000 part.data
mkdir dir
cp part.data dir/data
"$gen/cut_when_mapped" dir/data 4096 "$SONDE" report -i dir -g none >out 2>err
is $? 1 "a directory: status 1"
is "$(grep -c "'dir' was truncated while it was being read" err)" 1 "a directory: a message, once" || diag "$(cat err)"
done_testing
