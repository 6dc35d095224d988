#!/usr/bin/env bash
# where: host
# needs:
# `flame -- COMMAND` and `flame -p`: what is recorded becomes a graph while it runs, without a temporary file or another process.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde perf_events
cd "$SONDE_TMP" || exit 1

# There is no folder for temporary files.
export TMPDIR=$PWD/nowhere
exits 0 "a command" "$SONDE" flame -e cpu-clock -F 999 --folded -o cmd.txt -- \
	sh -c 'ps -o comm= --ppid $PPID >children; exec "$SONDE" workload leaf 0.5'
like "$(cat cmd.txt)" "workload_leaf [0-9]+" "its stacks are there"
# Not counted: who opens files of others for us, whose filesystem may not answer.
is "$(grep -vc '^sonde-open$' children)" 1 "the command is our only child"
[ ! -e nowhere ]
ok $? "nothing is made in TMPDIR"
exits 0 "a page" "$SONDE" flame -e cpu-clock -F 999 -o page.html -- "$SONDE" workload leaf 0.5
isnt "$(wc -c <page.html)" 0 "is written"

"$SONDE" workload leaf 60 &
busy=$!
exits 0 "a process" "$SONDE" flame -e cpu-clock -F 999 -p $busy --folded -o pid.txt -- sleep 1
kill $busy
wait $busy 2>/dev/null
like "$(cat pid.txt)" "workload_leaf [0-9]+" "its stacks are there"

# What a run is about is told as it is of a recording.
exits 0 "as JSON" "$SONDE" flame --json -e cpu-clock -F 999 -o page.html -- sh -c 'echo said; exec "$SONDE" workload leaf 0.3'
like "$out" '"samples": [1-9]' "samples are counted"
unlike "$out" "said" "and the command's output stands elsewhere"
exits 127 "a command that is not there" "$SONDE" flame -o never.html -- ./missing
[ ! -e never.html ]
ok $? "makes no page"
exits 3 "a status" "$SONDE" flame -e cpu-clock -F 999 -o page.html -- sh -c '"$SONDE" workload leaf 0.2; exit 3'
done_testing
