#!/usr/bin/env bash
# Command lines of trace-cmd's man pages, and what it prints: the same files, trace-cmd 3.1.6 beside us where it is installed.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde
data=$SONDE_SRC/tests/data/trace
corpus=${SONDE_BUILD:-$SONDE_SRC/build}/tests/trace_corpus
cd "$SONDE_TMP" || exit 1
ln -s "$SONDE" trace-cmd
tc=./trace-cmd
peer=
command trace-cmd --help 2>&1 | grep -q 'version 3.1.6' && peer=trace-cmd
[ -n "$peer" ] || skip "trace-cmd 3.1.6 is not installed" "as trace-cmd says"
cp "$data/6.1-events_v6.dat" trace.dat
cp "$data/6.1-function.dat" function.dat
cp "$data/6.1-systems.dat" systems.dat
mkdir dir other
cp trace.dat dir/a
cp "$data/6.1-kprobes.dat" dir/b
cp trace.dat other/a

# same NAME ARGS...: the same on standard output, apart from a letter that corrections.awk explains.
same() {
	local name=$1
	shift
	$tc "$@" >got 2>got.err
	[ -n "$peer" ] || return 0
	$peer "$@" 2>/dev/null | awk -f "$data/corrections.awk" >want
	cmp -s got want
	ok $? "$name: as trace-cmd" || { diff got want | head -4 | sed 's/^/# /'; }
}
exits 0 "report --verbose=warning" $tc report --verbose=warning
exits 0 "a field that only other kernels have" $tc report -F 'sched: prev_state == 0 || (success == 1)'
like "$err" "warning: none of these events has a field 'success': the comparison is false" "is reported"
same "the filter of the man page" report -F 'sched: prev_state == 0 || (success == 1)'
exits 1 "a filter that nothing can pass" $tc report -F 'sched: success == 1'
same "report -l -R" report -l -R
same "report -l -R of functions" report -l -R function.dat
same "report -i dir/a -i dir/b" report -i dir/a -i dir/b
like "$("$SONDE" ftrace report -i dir/a -i other/a 2>/dev/null | tail -1)" '^ *(dir|other)/a: ' "files of one name keep their folders"
same "report --comm" report --comm rcu_preempt
exits 0 "report --profile --comm sleep" $tc report --profile --comm rcu_preempt
like "$out" '^task: rcu_preempt-15$' "has the task"
[ "$(grep -c '^task:' <<<"$out")" -lt "$($tc report --profile | grep -c '^task:')" ]
ok $? "and not all the others"
$tc report --profile function.dat | sort >got
like "$(cat got)" 'Event: func: vfs_read\(\) \([0-9]+\)$' "report --profile of a function trace lists functions"
if [ -n "$peer" ]; then
	$peer report --profile function.dat 2>/dev/null | sort >want
	cmp -s got want
	ok $? "as trace-cmd does, in another order" || diff got want | head -4 | sed 's/^/# /'
fi

# split: FILE.1, and the event at the end time is in it.
if [ -x "$corpus" ]; then
	"$corpus" flags 7 >flags.dat
	exits 0 "split -o" $tc split -i flags.dat -o piece 0.001002 0.001010
	is "$(ls piece*)" "piece.1" "writes FILE.1"
	is "$($tc report piece.1 | grep -c ': tick:')" 9 "from the event at the start to the one at the end"
	if [ -n "$peer" ]; then
		$peer split -i flags.dat -o their 0.001002 0.001010 >/dev/null 2>&1
		is "$($tc report piece.1)" "$($tc report their.1)" "as trace-cmd's piece"
	fi
	first=$("$SONDE" ftrace report trace.dat | sed -n 's/.* \([0-9]*\.[0-9]*\): .*/\1/p' | sed -n 5p)
	last=$("$SONDE" ftrace report trace.dat | sed -n 's/.* \([0-9]*\.[0-9]*\): .*/\1/p' | sed -n 50p)
	exits 0 "split at times that report rounded" $tc split -i trace.dat -o round "$first" "$last"
	times=$($tc report round.1 | sed -n 's/.* \([0-9]*\.[0-9]*\): .*/\1/p')
	is "$(head -1 <<<"$times") $(tail -1 <<<"$times")" "$first $last" "has the events that were copied from"
fi

# convert: the last word is the file to write.
exits 0 "convert --compression any OUT" $tc convert --compression any packed.dat
is "$($tc report packed.dat)" "$($tc report trace.dat)" "has what trace.dat has"
exits 0 "convert -i IN OUT" $tc convert -i function.dat --file-version 6 six.dat
is "$($tc report six.dat)" "$($tc report function.dat)" "has what the input has"

# mem: as trace-cmd, but for the last column, which there is the difference of the two before it, not what was wasted at any one time.
exits 0 "mem" $tc mem -i systems.dat
like "$out" '^ +mm_alloc	56	1152	1096		    2304       2192		    1152       1096	56$' "has what a function holds"
sort <<<"$out" | cut -f1-8 >got
if [ -n "$peer" ]; then
	$peer mem -i systems.dat 2>/dev/null | sort | cut -f1-8 >want
	cmp -s got want
	ok $? "mem: as trace-cmd" || diff got want | head -4 | sed 's/^/# /'
fi
exits 0 "a file without such events" $tc mem function.dat
like "$err" "no kmem events" "is reported"
like "$("$SONDE" ftrace mem --json systems.dat)" '"function": "mm_alloc"' "JSON"

# Under its name.
exits 0 "--version" $tc --version
like "$out" '^trace-cmd version [0-9]+\.[0-9]+\.[0-9]+ ' "is a line that scripts can read"
exits 0 "help" $tc record --help
like "$out" '^  trace-cmd record -e sched -- ls ' "has trace-cmd's command lines"
unlike "$out" 'trace-cmd ftrace' "and no other"
exits 0 "our own help" "$SONDE" ftrace record --help
like "$out" '^  sonde ftrace record -e sched -- ls ' "has ours"
done_testing
