#!/usr/bin/env bash
# where: host
# needs: root
# timeout: 1200
# Recordings made by perf, reported by perf and by us: every row and every call graph is the same. What is masked is written down in
# report_compare.py, with perf's fault behind each entry.
. "${SONDE_SRC:-.}/tests/lib.sh"
need root perf_events perf gcc python3 sonde

cd "$SONDE_TMP" || exit 1
. "$SONDE_SRC/tests/live/report_lib.sh"
# shellcheck disable=SC2086
build_mix && gcc $flags -pthread "$SONDE_SRC/bench/deep.c" -o deep
ok $? "the programs are built"

# The ways to look at a recording with call chains.
every_way() {
	local name=$1 file=$2
	same "$name" "$file" -- --sort comm,dso,sym
	same "$name" "$file" -- --sort comm,dso,sym -g caller,5
	same "$name" "$file" -- --sort comm,dso,sym -g callee
	same "$name" "$file" -- -g none --sort comm,dso,sym -n
	same "$name" "$file" --ordered -- --no-children --sort comm,dso,sym
	same "$name" "$file" --ordered -- --no-children --sort comm,dso,sym -g caller
	same "$name" "$file" --ordered -- --no-children --sort comm,dso,sym -g none
	same "$name" "$file" --ordered -- --no-children --sort pid,dso,sym -g callee,0.2
	same "$name" "$file" -- --sort comm,dso
	same "$name" "$file" -- --sort dso -g none
	same "$name" "$file" --sym-first -- --sort sym
	same "$name" "$file" -- --sort comm,dso,sym -g fractal,3
	same "$name" "$file" --ordered -- --no-children --sort comm,dso,sym -g fractal,caller,3
}

some_ways() {
	local name=$1 file=$2
	same "$name" "$file" -- --sort comm,dso,sym
	same "$name" "$file" -- -g none --sort comm,dso,sym -n
	same "$name" "$file" --ordered -- --no-children --sort comm,dso,sym
	same "$name" "$file" --ordered -- --no-children --sort pid,dso,sym -g caller,0.2
}

record mix.data -F 4000 -e cpu-clock -g -- "${mix[@]}"
every_way "threads, forks, exec, dlopen" mix.data
same "as perf does without being asked" mix.data --
same "as perf does without being asked" mix.data --ordered -- --no-children

compared
# The comparison itself: an error of 0.01 point does not pass.
perf report --stdio -i mix.data >theirs 2>/dev/null
"$SONDE" report --no-inline --stdio -i mix.data >ours 2>/dev/null
python3 "$compare" theirs ours >/dev/null
ok $? "the comparison passes"
for n in 0 1 2 17 100; do
	python3 "$compare" --plant $n theirs ours >/dev/null
	isnt $? 0 "and fails when percentage $n is off by 0.01"
done
grep -v in_lib1 ours >fewer
python3 "$compare" theirs fewer >/dev/null
isnt $? 0 "and fails when a row is missing"

compared
# However the samples are shared out and whoever finishes first, the text is the same.
while read -r args; do
	texts=$(for n in 1 2 2 2 2 3 3 7 16; do
		# shellcheck disable=SC2086
		"$SONDE" $args --workers $n -i mix.data 2>&1 | md5sum
	done | sort -u | wc -l)
	is "$texts" 1 "nine times the same, with 1, 2, 3, 7 and 16 workers: $args"
done <<-END
	report --stdio
	report --stdio --sort sym -g fractal,0.1
	report --stdio --no-children --sort pid,dso,sym -g caller,0.01
	report --stdio --hierarchy --sort comm,dso,sym
	report --json --sort comm,sym
	export --to folded
	export --to speedscope
	export --to pprof -o -
	flame -o -
END

record multi.data -F 2000 -e cpu-clock,task-clock,page-faults,context-switches -g -- "${mix[@]}"
some_ways "four events" multi.data
same "four events" multi.data -- --sort comm,dso,sym -g callee

record z.data -z -F 2000 -e cpu-clock -g -- "${mix[@]}"
some_ways "compressed" z.data

record period.data -c 1000003 -e task-clock:u -g -- "${mix[@]}"
some_ways "a fixed period, user only" period.data

record flat.data -F 4000 -e cpu-clock -- "${mix[@]}"
same "without call chains" flat.data --ordered --
same "without call chains" flat.data --ordered -- --sort pid,sym -n
same "without call chains" flat.data --ordered -- --sort dso

# Events of different kinds in one file, one of them without chains.
record mixed.data -e cpu-clock/call-graph=no,freq=3000/ -e page-faults/call-graph=fp,period=1/ -- "${mix[@]}"
"$SONDE" report --no-inline --stdio -i mixed.data --sort comm,dso,sym -g none >ours 2>/dev/null
is "$(awk '/of event/ { on = /cpu-clock/ } on && $1 ~ /%$/ && $1 != $2' ours)" "" "with children, an event without chains has only leaves"
same "one event with chains and one without" mixed.data --ordered -- --no-children --sort comm,dso,sym
compared

for _ in 1 2 3 4 5 6; do
	perf_stream pipe.data -F 4000 -e cpu-clock -g -- "${mix[@]}"
	err=$?
	hits_stubs pipe.data --comms $tasks || break
done
ok $err "recorded into a pipe"
same "a pipe" pipe.data --ordered -- --no-children --sort comm,dso,sym
same "a pipe" pipe.data --ordered -- --no-children --sort comm,dso,sym -g caller
same "a pipe" pipe.data --ordered -- --no-children --sort pid,sym -g none
compared
"$SONDE" report --stdio -i pipe.data >from-file 2>&1
"$SONDE" report --stdio -i - <pipe.data >from-stdin 2>&1
cmp -s from-file from-stdin
ok $? "the same from standard input"
# shellcheck disable=SC2002
cat pipe.data | "$SONDE" report --stdio -i - >from-pipe 2>&1
cmp -s from-file from-pipe
ok $? "the same through a real pipe"
# perf never counts children in a pipe; made into a file it does.
python3 "$SONDE_SRC/tests/live/pipe_to_file.py" pipe.data piped.data
perf report --stdio -i piped.data --sort comm,dso,sym >theirs 2>/dev/null
"$SONDE" report --no-inline --stdio -i pipe.data --sort comm,dso,sym >ours 2>/dev/null
said=$(python3 "$compare" theirs ours)
ok $? "a pipe with children: as perf has it from the same data in a file ($(head -1 <<<"$said"))" || diag "$said"
"$SONDE" report --no-inline --stdio -i piped.data --sort comm,dso,sym >ours-file 2>/dev/null
cmp -s ours ours-file
ok $? "and as we have it from that file"

compared
if ! needs_or_skip "tracepoints" tracefs; then
	record tp.data -e sched:sched_switch,sched:sched_process_fork -g -- "${mix[@]}"
	every_way "tracepoints" tp.data
fi

./mix 300 ./lib1.so ./lib2.so &
pid=$!
sleep 0.3
record attach.data -F 2000 -e cpu-clock -g -p $pid -- sleep 2
record system.data -a -F 2000 -e cpu-clock -g -- sleep 2
kill $pid
wait $pid 2>/dev/null
some_ways "attached to a process" attach.data
same "the whole system, our programs" system.data --comms $tasks -- --sort comm,dso,sym
same "the whole system, our programs" system.data --comms $tasks -- --sort comm,dso,sym -g none
same "the whole system, our programs" system.data --comms $tasks -- --no-children --sort comm,dso,sym -g caller
same "the whole system, our programs" system.data --comms $tasks -- --sort comm,dso

compared
# A large one: 100,000 samples and more, 10,000 different chains and more.
tenths=24 # of a second: more samples than asked for are minutes of perf's time
for _ in 1 2 3 4 5; do
	perf record -q -F 25000 -m 4096 -e cpu-clock:u -g -o deep.data ./deep $((tenths / 10)).$((tenths % 10)) 4 24 60 2>/dev/null
	samples=$(perf report --stats -i deep.data 2>/dev/null | awk '/SAMPLE events/ { print $3; exit }')
	[ "${samples:-0}" -ge 100000 ] && break
	tenths=$((tenths * 115000 / (${samples:-0} + 1000) + 5))
done
[ "${samples:-0}" -ge 100000 ]
ok $? "a recording of 100,000 samples and more ($samples)"
chains=$("$SONDE" report --no-inline --stdio -i deep.data --no-children -g caller,0 --sort dso --json 2>/dev/null |
	python3 -c 'import json, sys; print(sum(1 for e in json.load(sys.stdin)["events"] for r in e["rows"] for n in r["graph"] if "child" not in n))')
[ "${chains:-0}" -ge 10000 ]
ok $? "with 10,000 different chains and more ($chains)"
same "a large one" deep.data -- --sort comm,dso,sym
same "a large one" deep.data --ordered -- --no-children --sort comm,dso,sym
same "a large one" deep.data --ordered -- --no-children --sort comm,dso,sym -g caller
same "a large one" deep.data -- --sort pid,sym
compared
for workers in 1 3 16; do
	"$SONDE" report --stdio -i deep.data --workers $workers >with-$workers 2>&1
done
cmp -s with-1 with-3 && cmp -s with-1 with-16
ok $? "the same text with 1, 3 and 16 workers"

done_testing
