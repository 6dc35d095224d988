#!/usr/bin/env bash
# Options of perf 6.1 that choose or cut: callees that do not count, what is between two events, one socket, one event of a group,
# counts of threads, a file for each event. Ours beside perf's, of recordings that tests/gen/perf_hw makes in both byte orders; where
# perf does not do what its manual says, by what it should be.
# where: host
# needs:
# timeout: 300
. "${SONDE_SRC:-.}/tests/lib.sh"
need perf gcc python3 sonde
gen=$(dirname "$SONDE")/tests/perf_hw
if [ ! -x "$gen" ]; then
	echo "1..0 # SKIP tests/perf_hw is not built"
	exit 0
fi
cd "$SONDE_TMP" || exit 1
. "$SONDE_SRC/tests/live/report_lib.sh"
export PERF_BUILDID_DIR=$SONDE_TMP/debug
cat >prog.c <<'EOS'
int first(int x) { return x + 1; }
int second(int x) { return x + 2; }
int third(int x) { return x + 3; }
int fourth(int x) { return x + 4; }
int main(int n, char **v) { return first(n) + second(n) + third(n) + fourth(n); }
EOS
gcc -g -O0 -o prog prog.c || { ok 1 "a program is built"; done_testing; exit; }
at=$(nm prog | awk '$3 == "first" { print $1 }')
"$gen" group "$PWD/prog" "$at" group.data && "$gen" group "$PWD/prog" "$at" swap.data swap
ok $? "recordings are made"
rows() { "$SONDE" report --stdio -i group.data "$@" 2>/dev/null | grep -E '^ +[0-9.]+%'; }

# ---- callees that count for their callers ----
for expression in second '^(first|third)$' 'nothing is called so' ir; do
	same group group.data -- --no-children --ignore-callees "$expression"
	same group group.data -- --children -g callee --ignore-callees "$expression"
done
same swap swap.data -- --no-children -s sym --ignore-callees second
same group group.data -- --no-children --ignore-callees second --max-stack 3
compared
# perf 6.1 drops the callers instead where graphs begin at the outermost one, and does nothing where there are no graphs.
some=(--no-children --no-group -s sym)
is "$(rows "${some[@]}" -g caller --ignore-callees second)" "$(rows "${some[@]}" -g callee --ignore-callees second)" \
	"--ignore-callees: the order of graphs does not matter"
is "$(rows "${some[@]}" -g none --ignore-callees second)" "$(rows "${some[@]}" -g callee --ignore-callees second)" "nor whether there are any"
isnt "$(rows "${some[@]}" -g none --ignore-callees second)" "$(rows "${some[@]}" -g none)" "rows are others than without"
exits 129 "an expression that is none" "$SONDE" report -i group.data --ignore-callees '['
like "$err" "invalid regular expression" "is told"

# ---- what is between two events ----
on=instructions off=branch-misses
for how in "--switch-on $on" "--switch-on $on --switch-off $off" "--switch-on $on --switch-off $off --show-on-off-events" "--switch-on $on --switch-off $on" \
	"--switch-on $on --switch-off $off -C 1" "--switch-on $on --switch-off $off --tid 4243" "--switch-on $on --switch-off $off --time 0.00103,0.00125" \
	"--switch-on $off --switch-off $on --show-on-off-events"; do
	# shellcheck disable=SC2086
	same group group.data -- --no-children -g none -n $how
	# shellcheck disable=SC2086
	perf script --no-inline -i group.data $how >theirs 2>/dev/null
	# shellcheck disable=SC2086
	"$SONDE" script --no-inline -i group.data $how >ours 2>ours.err
	cmp ours theirs >cmp.out 2>&1 && [ -s ours ]
	ok $? "script $how" || diag "$(cat cmp.out ours.err)"
done
compared
# perf 6.1 leaves out the first such event, and goes on.
line=(-F comm,tid,cpu,time,event)
perf script -i group.data -G "${line[@]}" 2>/dev/null | sed "/ $off:/,\$d" >theirs
"$SONDE" script -i group.data -G "${line[@]}" --switch-off $off >ours 2>ours.err
cmp ours theirs >cmp.out 2>&1 && [ -s ours ]
ok $? "script --switch-off alone ends there" || diag "$(cat cmp.out ours.err)"
is "$("$SONDE" report --stdio -i group.data --no-children -g none --no-group --switch-off $off -s dso -n 2>/dev/null | awk '$3 == "prog" { n += $2 } END { print n }')" \
	"$(wc -l <theirs)" "and report counts as many"
is "$("$SONDE" script -i group.data "${line[@]}" -G --switch-on $on --workers 4 | md5sum)" \
	"$(perf script -i group.data "${line[@]}" -G --switch-on $on 2>/dev/null | md5sum)" "workers change nothing"
is "$("$SONDE" script "${line[@]}" -G --switch-on $on --switch-off $off -i - <group.data | md5sum)" \
	"$("$SONDE" script "${line[@]}" -G --switch-on $on --switch-off $off -i group.data | md5sum)" "nor where it comes from"
exits 129 "an event that was not recorded" "$SONDE" report --stdio -i group.data --switch-on instruction
like "$err" "did you mean '$on'" "what it may have meant"
exits 129 "of script" "$SONDE" script -i group.data --switch-off nothing
like "$err" "available: cycles, $on, $off" "what there is"

# ---- a file for each event ----
perf script --no-inline -i group.data --per-event-dump >theirs 2>/dev/null
for event in cycles $on $off; do mv "group.data.$event.dump" "theirs.$event"; done
"$SONDE" script --no-inline -i group.data --per-event-dump >ours 2>ours.err
# perf 6.1 does not count what is still in its buffer.
said() { sed -E 's/^\[ (sonde|perf) script: Wrote [0-9.]+ MB//' "$1"; }
is "$(said ours)" "$(said theirs)" "script --per-event-dump: what was written"
like "$(head -1 ours)" "^\[ sonde script: Wrote $(stat -c %s group.data.cycles.dump | awk '{ printf "%.3f", $1 / 1048576 }') MB " "and how much"
for event in cycles $on $off; do
	cmp "group.data.$event.dump" "theirs.$event" >cmp.out 2>&1 && [ -s "theirs.$event" ]
	ok $? "lines of $event" || diag "$(cat cmp.out ours.err)"
done
is "$(find . -name 'group.data.*' | sort)" "$(printf './group.data.%s.dump\n' cycles $on $off | sort)" "nothing else is left"
"$SONDE" script -i group.data -G --per-event-dump --switch-on $on --switch-off $off >/dev/null 2>&1
is "$(cat group.data.*.dump | sort | md5sum)" "$("$SONDE" script -i group.data -G --switch-on $on --switch-off $off 2>/dev/null | sort | md5sum)" \
	"the files together are the lines"
exits 129 "no JSON" "$SONDE" script -i group.data --per-event-dump --json
exits 129 "and no stream" "$SONDE" script -i - --per-event-dump </dev/null
mkdir shut && cp group.data shut/ && ln -s /nowhere/at/all "shut/group.data.cycles.dump" && chmod a-w shut
"$SONDE" script -i shut/group.data --per-event-dump >/dev/null 2>&1
is "$(readlink -e /nowhere/at/all)" "" "a link that lies there is not followed"
chmod u+w shut

# ---- one event of a group, one socket ----
for n in 0 1 2 3; do
	same group group.data --exact -- --no-children -g none --group-sort-idx $n -n
	same group group.data --exact -- --no-children -g none --group-sort-idx $n -s sym
	same swap swap.data --exact -- --no-children -g none --group-sort-idx $n -s pid,sym
done
isnt "$(rows --no-children -g none --group-sort-idx 1)" "$(rows --no-children -g none)" "another order than without"
# perf 6.1 has no such filter where a key does not tell sockets apart, or no key is the command
for socket in 0 1 4711; do
	same group group.data --exact -- --no-children -g none --no-group --socket-filter $socket -s socket,comm,sym
	same swap swap.data --exact -- --no-children -g none --no-group --socket-filter $socket -s comm,socket -n
done
compared
sums() { awk '{ n[$NF] += $2 } END { for (f in n) print f, n[f] }' | sort; }
is "$(rows --no-children -g none --no-group --socket-filter 1 -s sym -n | sums)" \
	"$(rows --no-children -g none --no-group -s socket,sym -n | grep ' 001 ' | sums)" "without the socket in the keys too"
exits 0 "a socket that is not there" "$SONDE" report --stdio -i group.data --socket-filter 4711
like "$err" "no CPU of the recording is in socket 4711" "is told"
exits 129 "a socket that is no number" "$SONDE" report --stdio -i group.data --socket-filter one

# ---- counts of threads ----
for file in group swap; do
	perf report --stdio -T -i $file.data 2>/dev/null | sed -n '/^# *PID/,$p' >theirs
	"$SONDE" report --stdio -T -i $file.data 2>/dev/null | sed -n '/^# *PID/,$p' >ours
	cmp ours theirs >cmp.out 2>&1 && [ "$(wc -l <ours)" = 6 ]
	ok $? "$file: report -T" || diag "$(cat cmp.out ours)"
	# perf 6.1 forgets the ends of lines.
	perf report --stdio -T --pretty raw -i $file.data 2>/dev/null | sed -n '/^# *PID/,$p' | tr -d '\n' >theirs
	"$SONDE" report --stdio -T --pretty raw -i $file.data 2>/dev/null | sed -n '/^# *PID/,$p' | tee raw | tr -d '\n' >ours
	cmp ours theirs >cmp.out 2>&1 && [ "$(wc -l <raw)" = 16 ]
	ok $? "$file: report -T --pretty raw" || diag "$(cat cmp.out raw)"
done
is "$("$SONDE" report --json -T -i group.data 2>/dev/null | python3 -c '
import json, sys
for t in json.load(sys.stdin)["threads"]:
    for e, n in t["counts"].items():
        print(t["pid"], t["tid"], e, n)')" "$("$SONDE" report --stdio -T --pretty raw -i group.data 2>/dev/null | sed '1,/^# *PID/d' | awk '{ print $1, $2, $3, $5 }')" "the same as JSON"
"$gen" branch "$PWD/prog" "$at" branch.data
exits 0 "-T of a recording without" "$SONDE" report --stdio -T -i branch.data
like "$err" "record -s" "says how to record it"
exits 129 "another way to look" "$SONDE" report --stdio -T --pretty ugly -i group.data

# ---- what fits nothing, and what cannot be written ----
exits 0 "a time that ends before it begins" "$SONDE" report --stdio -i group.data --time 5,3
like "$err" "no samples match" "is told"
like "$err" "samples range from 0.001000 to 0.001299" "with the times there are"
for verb in report script; do
	exits 0 "$verb of a command that was not there" "$SONDE" $verb -i group.data --comms nothing
	like "$err" "the recording has.* program" "says which were"
	"$SONDE" $verb -i group.data >/dev/full 2>full.err
	is "$? $(wc -l <full.err)" "1 1" "$verb: a full device is told once"
	like "$(cat full.err)" "No space left" "and as what it is"
done
exits 0 "a function that was not there" "$SONDE" report --stdio -i group.data -S nothing
like "$err" "no samples match" "is told"
exits 0 "where all is there" "$SONDE" report --stdio -i group.data --comms program
is "$err" "" "nothing is said"
exits 129 "half a key" "$SONDE" report -i group.data --sort symm
like "$err" "did you mean 'symbol'" "is told what it may be"

# ---- diff ----
for i in 1 2; do
	"$gen" group "$PWD/prog" "$(printf %x $((0x$at + 10 * i * i)))" later$i.data
done
# files OPTIONS...: also the other way round, and three of them
same_diff() {
	local files strip=$1
	shift
	for files in "group.data later1.data" "later2.data group.data" "group.data later1.data later2.data"; do
		# shellcheck disable=SC2086
		perf diff "$@" $files 2>/dev/null | tr -d "$strip" >theirs
		# shellcheck disable=SC2086
		"$SONDE" diff "$@" $files 2>ours.err | tr -d "$strip" >ours
		cmp ours theirs >cmp.out 2>&1 && [ -s ours ]
		ok $? "diff $* $files" || diag "$(cat cmp.out ours.err)"
	done
}
same_diff '' -F
same_diff '' -F -c delta -p
same_diff '' -F -c ratio -q
same_diff '' -F -s pid,sym
# perf pads what it says it does not (report_compare.py: separator)
same_diff ' ' -t ,
same_diff ' ' -t , -p -F -c ratio
same_diff ' ' -t : -s pid,dso
for weights in 3,2 -3,2; do
	is "$("$SONDE" diff -F -c wdiff:$weights group.data later1.data 2>/dev/null)" "$(perf diff -F -c wdiff:$weights group.data later1.data 2>/dev/null)" \
		"diff -F -c wdiff:$weights"
done
unlike "$("$SONDE" diff -q -t , group.data later1.data)" ' ,|, ' "no blanks between columns"
# What perf 6.1 shows is not what it has computed: after -b another total stands in it.
"$SONDE" diff -q -t ';' -F -b group.data later2.data | python3 -c '
import re, sys
n = 0
for line in sys.stdin:
    cells = line.rstrip("\n").split(";")
    if cells[1]:
        assert re.fullmatch(r"[()0-9*/ -]+", cells[2]), cells
        assert "%+.2f%%" % eval(cells[2]) == cells[1], cells
        n += 1
sys.exit(n < 3)'
ok $? "a formula gives its value"
exits 129 "a dot between columns" "$SONDE" diff -t . group.data later1.data
like "$err" "cannot separate columns" "is told"
done_testing
