#!/usr/bin/env bash
# where: host
# needs: root
# timeout: 300
# Stacks of programs without frame pointers: record --call-graph dwarf, and perf's own recordings of that kind.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events
cd "$SONDE_TMP" || exit 1
command -v gcc >/dev/null || { skip "no compiler here" "stacks without frame pointers"; done_testing; exit; }
export XDG_CACHE_HOME=$SONDE_TMP/cache

cat >chain.c <<'END'
#include <stdlib.h>
static volatile unsigned sink;
__attribute__((noipa)) static int leaf(const void *a, const void *b)
{
	for (unsigned i = 0; i < 2000; i++)
		sink += i;
	return *(const int *)a - *(const int *)b;
}
__attribute__((noipa)) static void middle(int *at, size_t nr)
{
	qsort(at, nr, sizeof(*at), leaf); /* the C library has no frame pointers */
	sink++;
}
__attribute__((noipa)) void outer(int rounds)
{
	int numbers[300];
	while (rounds--) {
		for (int i = 0; i < 300; i++)
			numbers[i] = (i * 7919) % 1009;
		middle(numbers, 300);
	}
	sink++;
}
int main(int argc, char **argv)
{
	outer(argc > 1 ? atoi(argv[1]) : 1);
	return 0;
}
END
gcc -O2 -g0 -fomit-frame-pointer -o chain chain.c || exit 1
rounds=400

# whole_stacks: of the samples in the program's own code, how many show the whole way to _start; reads script's output
whole_stacks() {
	awk 'BEGIN { RS = "" }
	{ gsub(/\n/, " ") }
	/ leaf\+/ { n++; if ($0 ~ / leaf\+.* middle\+.* outer\+.* main\+.*_start\+/) whole++ }
	END { print n + 0, whole + 0 }'
}

exits 0 "records with call graphs by unwind tables" "$SONDE" record -F 999 --call-graph dwarf -o ours.data -- ./chain $rounds
like "$err" '[0-9]+ of [0-9]+ stacks truncated( \(.*\))?; recorder used' "the closing line says how many stacks are truncated, and our cost"
like "$err" ' 0 lost' "nothing is lost"
read -r n whole < <("$SONDE" script -i ours.data 2>/dev/null | whole_stacks)
[ "$n" -gt 20 ] && [ "$n" = "$whole" ]
ok $? "all stacks are whole, through a library without frame pointers" || diag "$whole of $n"
perf script --no-inline -i ours.data >perf.txt 2>perf.err
read -r pn pwhole < <(whole_stacks <perf.txt)
[ "$pn" = "$n" ] && [ "$pwhole" = "$n" ] && [ ! -s perf.err ]
ok $? "perf reads the file without a word and shows the same" || diag "$pwhole of $pn: $(cat perf.err)"
out=$(perf evlist -v -i ours.data 2>&1)
like "$out" 'sample_type: [A-Z|]*CALLCHAIN' "the file holds chains"
unlike "$out" 'STACK_USER|REGS_USER' "and no stacks"

exits 0 "fp on the same program" "$SONDE" record -q -F 999 --call-graph fp -o fp.data -- ./chain $rounds
read -r fn fwhole < <("$SONDE" script -i fp.data 2>/dev/null | whole_stacks)
[ "$fwhole" -lt "$fn" ]
ok $? "... does not see it (so the test can tell)" || diag "$fwhole of $fn"

exits 0 "--raw-stack keeps perf's format" "$SONDE" record -q -F 999 --call-graph dwarf --raw-stack -o raw.data -- ./chain $rounds
out=$(perf evlist -v -i raw.data 2>&1)
like "$out" 'REGS_USER\|STACK_USER' "with registers and stacks"
read -r n whole < <(perf script --no-inline -i raw.data 2>/dev/null | whole_stacks)
[ "$n" -gt 20 ] && [ "$whole" -ge $((n * 9 / 10)) ]
ok $? "which perf unwinds" || diag "$whole of $n"
read -r n whole < <("$SONDE" script -i raw.data 2>/dev/null | whole_stacks)
[ "$n" -gt 20 ] && [ "$whole" = "$n" ]
ok $? "and so do we" || diag "$whole of $n"
small=$(stat -c %s ours.data) large=$(stat -c %s raw.data)
[ $((small * 20)) -le "$large" ]
ok $? "unwound, the file is less than a twentieth" || diag "$small, $large"

# perf's own recording, the same samples by both
if perf record -q -F 999 --call-graph dwarf -o perf.data -- ./chain $rounds; then
	perf script --no-inline -i perf.data >perf.txt 2>/dev/null
	"$SONDE" script --no-inline -i perf.data >ours.txt 2>/dev/null
	out=$(python3 "$SONDE_SRC/tests/oracle/unwind_compare.py" perf.txt ours.txt)
	ok $? "perf's recording: our stacks are perf's, or go on where those end" || diag "$out"
	diag "$(tail -n 1 <<<"$out")"
	read -r n whole < <(whole_stacks <ours.txt)
	[ "$n" -gt 20 ] && [ "$n" = "$whole" ]
	ok $? "all of them whole" || diag "$whole of $n"
	"$SONDE" report -i perf.data --stdio -g caller >report.txt 2>report.err
	grep -q 'outer' report.txt
	ok $? "report draws them"
else
	skip "perf record failed" "perf's recording"
fi

# A function that ends in a call of what never returns: the return address is no longer in it.
cat >last.c <<'END'
#include <sys/time.h>
static volatile unsigned sink;
__attribute__((noipa, noreturn)) static void forever(void)
{
	for (;;)
		sink++;
}
__attribute__((noipa, noreturn)) void ends_in_a_call(void)
{
	forever();
}
__attribute__((noipa)) void next_one(void)
{
	sink++;
}
int main(void)
{
	struct itimerval half = { .it_value = { .tv_usec = 500000 } };
	setitimer(ITIMER_PROF, &half, 0); /* of CPU time, and SIGPROF ends it */
	ends_in_a_call();
}
END
gcc -O1 -g0 -fomit-frame-pointer -falign-functions=1 -o last last.c
exits 155 "what never returns" "$SONDE" record -q -F 999 --call-graph dwarf -o last.data -- ./last
for reader in "$SONDE" perf; do
	out=$("$reader" script --no-inline -i last.data -F comm,ip,sym 2>/dev/null | awk 'BEGIN { RS = "" } /forever/ { n++; w += /ends_in_a_call/ && !/next_one/ } END { print (n >= 5), n - w }')
	is "$out" "1 0" "its caller has its name ($(basename "$reader"))"
done

# What is short is said.
perf record -q -F 999 --call-graph dwarf,256 -o short.data -- ./chain $rounds
exits 0 "stacks longer than their copy" "$SONDE" script -i short.data
like "$err" '[0-9]+ of [0-9]+ stacks are truncated' "it is said"
like "$err" 'longer than the copy; --call-graph dwarf,65528' "and what helps"
unlike "$out" '\[unknown\] \(\[unknown\]\)' "no frame is made up"

# -p, threads, several events
"$SONDE" workload thloop 300 -t 3 >/dev/null & pid=$!
burn 50 $pid
exits 0 "-p, several events" "$SONDE" record -F 499 -e cpu-clock,context-switches --call-graph dwarf -o pid.data -p $pid -- bash -c "burn 300 $pid"
kill $pid
wait $pid 2>/dev/null
out=$(perf script --no-inline -i pid.data 2>&1)
like "$out" 'workload_spin.*' "stacks of a running process"
unlike "$out" 'rror' "perf has nothing to say"
n=$(awk 'BEGIN { RS = "" } { gsub(/\n/, " ") } / workload_spin\+/ { n++ } / workload_spin\+.* workload_thread\+.* (start_thread|clone3)/ { w++ } END { print (n > 10 && w >= n * 9 / 10) ? "yes" : w " of " n }' <<<"$out")
is "$n" yes "threads up to where they began"

exits 0 "auto" "$SONDE" record -F 499 --call-graph auto -o auto.data -- ./chain 5
like "$err" 'auto: dwarf, not all programs have frame pointers' "auto says what it chose"

exits 129 "a size that is none" "$SONDE" record --call-graph dwarf,70000 -o no.data -- true
like "$err" 'from 8 to 65528' "says what is possible"
exits 129 "a way that is none" "$SONDE" record --call-graph lbrr -o no.data -- true
like "$err" 'dwarf\[,BYTES\]' "says which there are"
exits 129 "--raw-stack alone" "$SONDE" record --raw-stack -g -o no.data -- true

# Tables are kept by build id; a damaged one is made again.
perf record -q -F 999 --call-graph dwarf -o py.data -- perl -e 'for (1 .. 300000) { $h{ $_ % 1000 } .= "x" }'
"$SONDE" script -i py.data >first.txt 2>/dev/null
kept=$(ls "$XDG_CACHE_HOME/sonde/cfi" | head -n 1)
isnt "$kept" "" "tables are kept in the cache"
"$SONDE" script -i py.data >second.txt 2>/dev/null
cmp -s first.txt second.txt
ok $? "the same with the cache"
for f in "$XDG_CACHE_HOME"/sonde/cfi/*; do head -c 5000 /dev/urandom >"$f"; done
"$SONDE" script -i py.data >third.txt 2>/dev/null
cmp -s first.txt third.txt
ok $? "the same with a damaged cache"
done_testing
