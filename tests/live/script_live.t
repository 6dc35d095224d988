#!/usr/bin/env bash
# where: host
# needs:
# timeout: 300
# `record -o - | script -i -`: lines while the recording runs, the same text as from a file, and how it ends.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde perf_events
cd "$SONDE_TMP" || exit 1

# FILE has a line.
appears() {
	wait_until test -s "$1"
}

# The command runs until somebody has seen a line of it.
live() {
	local name=$1
	shift
	rm -f seen live.txt
	"$SONDE" record -q -e cpu-clock -F 200 "$@" -o - -- bash -c 'while [ ! -e seen ]; do :; done' |
		tee stream.data | "$SONDE" script -i - >live.txt 2>live.err &
	appears live.txt
	ok $? "$name: lines come while it runs"
	touch seen
	wait
	"$SONDE" script -i stream.data >file.txt 2>file.err
	cmp live.txt file.txt >cmp.out 2>&1
	ok $? "$name: the text is that of the recording" || diag "$(cat cmp.out)"
	is "$(cat live.err)" "$(cat file.err)" "$name: and so is what is said about it"
}
live "--no-buffering" --no-buffering
live "as usual" -g
live "packed" -z

# It computes between its children, too: of one that only forks and waits, on one CPU, the kernel hands the timer to the child each time, and there
# it ends with it.
rm -f seen live.txt
"$SONDE" record -q -e cpu-clock -F 200 -g -o - -- bash -c 'while [ ! -e seen ]; do (:); for i in {1..20000}; do :; done; done' |
	tee stream.data | "$SONDE" script -i - --json --show-task-events >live.txt 2>live.err &
appears live.txt
ok $? "--json: too"
touch seen
wait
"$SONDE" script -i stream.data --json >file.txt 2>/dev/null
cmp live.txt file.txt
ok $? "one list in the end"
for more in "--show-task-events --show-mmap-events" "--deltatime -F comm,time" "--reltime -F comm,time,event" "--header" "--time 10%-50%" "-D" "--comms bash --max-stack 2"; do
	# shellcheck disable=SC2086
	"$SONDE" script -i stream.data $more 2>/dev/null | sed "/^# captured on/d; s/@stream.data/@-/" >file.txt
	# shellcheck disable=SC2086
	(head -c 100; sleep 0.2; cat) <stream.data | "$SONDE" script -i - $more 2>/dev/null | sed "/^# captured on/d" >live.txt
	cmp live.txt file.txt
	ok $? "$more: the same"
done

# A file through a pipe is still a file; a stream that is cut off is read up to there.
"$SONDE" record -q -e cpu-clock -F 999 -o whole.data -- "$SONDE" workload leaf 0.2 2>/dev/null
"$SONDE" script -i whole.data >file.txt
cat whole.data | "$SONDE" script -i - >live.txt
cmp live.txt file.txt
ok $? "a file through a pipe"
head -c $(($(stat -c %s stream.data) - 3)) stream.data | "$SONDE" script -i - >live.txt 2>live.err
is $? 0 "cut off: not an error"
like "$(cat live.err)" 'the stream is truncated in a record, at byte [0-9]+' "but said"
printf 'nothing of the kind' | "$SONDE" script -i - >live.txt 2>live.err
is $? 1 "no recording"
like "$(cat live.err)" 'not a perf.data file' "is said"
: | "$SONDE" script -i - >live.txt 2>live.err
is $? 1 "nothing at all"

# The reader of the lines leaves: everybody goes, and nobody says a word.
bash -c 'while :; do :; done' &
busy=$!
timeout 60 "$SONDE" record -q --no-buffering -e cpu-clock -F 200 -o - -p $busy 2>record.err |
	"$SONDE" script -i - 2>script.err | head -1 >live.txt
status=("${PIPESTATUS[@]}")
like "$(cat live.txt)" 'cpu-clock' "head gets its line"
kill $busy
wait $busy 2>/dev/null
is "${status[0]}" 141 "and the recorder ends by that"
is "${status[1]}" 141 "script ends by SIGPIPE"
is "$(cat record.err script.err)" "" "quietly"

# Ctrl-C reaches all of a pipe: the recorder ends it, script writes what still comes.
rm -f live.txt
cat >pipe.sh <<'EOS'
"$SONDE" record -q --no-buffering -e cpu-clock -F 200 -o - -- bash -c 'while :; do :; done' |
	"$SONDE" script -i - -F comm,time,event --json >live.txt 2>live.err
EOS
env --default-signal=INT setsid bash pipe.sh &
samples_come() { grep -qs '"event"' live.txt; }
wait_until samples_come
ok $? "again lines come"
group=$(pgrep -f "^bash pipe.sh$" | while read -r p; do [ "$(readlink "/proc/$p/cwd")" = "$PWD" ] && echo "$p"; done | head -1)
kill -INT -- "-$group"
wait
is "$(tail -1 live.txt)" "]" "Ctrl-C: the list is closed"
is "$(cat live.err)" "" "and nothing is amiss"
done_testing
