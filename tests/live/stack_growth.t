#!/usr/bin/env bash
# -g is --call-graph auto under our own name and fp as perf; with auto the copies of stacks grow while stacks turn out to be longer.
# where: host
# needs: root perf_events
# timeout: 300
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde cc
cd "$SONDE_TMP" || exit 1
export XDG_CACHE_HOME=$SONDE_TMP/cache

# CPU time, not time: a loaded machine gives as many samples. 90 frames take 20 KB and more.
cat >deep.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <time.h>
static volatile long sink;
__attribute__((noipa)) static void leaf(void) { for (int i = 0; i < 20000; i++) sink += i; }
__attribute__((noipa)) static int down(int n)
{
	volatile char room[200];
	memset((void *)room, n, sizeof(room));
	if (!n)
		leaf();
	else
		sink += down(n - 1);
	return room[5];
}
int main(int argc, char **argv)
{
	clock_t end = atoi(argv[1]) * (CLOCKS_PER_SEC / 1000);
	while (clock() < end)
		sink += down(argc > 2 ? atoi(argv[2]) : 90);
	return 0;
}
END
cc -O1 -fno-optimize-sibling-calls -fomit-frame-pointer -o deep deep.c
ok $? "a program with deep stacks" || { done_testing; exit; }

# Of each process the newest stack: whether it reaches main.
newest() {
	"$SONDE" script -i "$1" -F pid,ip,sym 2>/dev/null |
		awk 'NF == 1 && $1 ~ /^[0-9]+$/ && !open { pid = $1; open = 1; whole[pid] = "no"; next } NF == 0 { open = 0 } $2 == "main" { whole[pid] = "main" } END { for (p in whole) print whole[p] }' |
		sort | uniq -c | awk '{ print $1, $2 }'
}
json() { python3 -c 'import json, sys; d = json.loads(sys.stdin.read()); print(eval(sys.argv[1]))' "$1" <<<"$out"; }

exits 0 "-g" "$SONDE" record --json -g -e cpu-clock:u -F 999 -o g.data -- ./deep 3000
is "$(json 'd["first_stack_bytes"] == 8192 and d["stack_bytes"] >= 32768')" True "more was copied of each stack in the end"
is "$(json '0 < d["stacks_truncated"] < d["stacks"] / 2')" True "those from before are truncated, and counted"
like "$err" "note: many stacks did not fit into 8192 bytes: from [0-9.]+ s on, up to (32768|65528) bytes were copied" "which is said once"
is "$(grep -c 'stacks did not fit' <<<"$err")" 1 "and not twice"
is "$(newest g.data)" "1 main" "the newest stack is whole"
perf script -i g.data -F ip,sym 2>/dev/null | awk 'BEGIN { RS = "" } / main/ { n++ } END { exit !(n > 100) }'
ok $? "perf reads the stacks of either size as one event"
is "$("$SONDE" evlist -i g.data)" "cpu-clock:u" "of which there is one"
like "$("$SONDE" report -i g.data --stdio 2>/dev/null)" "^# Samples: .* of event 'cpu-clock:u'" "and one in the report"

exits 0 "-g of children that are there before" "$SONDE" record -g -e cpu-clock:u -F 999 -o forks.data -- sh -c './deep 2000 & ./deep 2000 & ./deep 2000; wait'
is "$(newest forks.data | grep main)" "3 main" "grows for all of them"
./deep 4000 & pid=$!
exits 0 "-p" "$SONDE" record -g -e cpu-clock:u -F 999 -o p.data -p $pid
is "$(newest p.data)" "1 main" "grows, too"

exits 0 "dwarf copies what was asked for" "$SONDE" record --json --call-graph dwarf -e cpu-clock:u -F 999 -o d.data -- ./deep 500
is "$(json 'd["stack_bytes"]') $(newest d.data)" "8192 1 no" "and no more"
like "$err" "hint: --call-graph dwarf,65528" "but says what would"
exits 0 "short stacks" "$SONDE" record --json -g -e cpu-clock:u -F 999 -o s.data -- ./deep 500 10
is "$(json 'd["stack_bytes"]')" 8192 "are copied as before"
exits 0 "events in a group keep their size" "$SONDE" record --json -g -e '{cpu-clock:u,task-clock:u}' -F 999 -o group.data -- ./deep 500
is "$(json 'd["stack_bytes"]')" 8192 "of the copy"

# As perf: by frame pointer.
ln -s "$SONDE" perf && ./perf record -q -g -e cpu-clock:u -F 999 -o as_perf.data -- ./deep 200 2>/dev/null
like "$("$SONDE" evlist -v -i as_perf.data)" "sample_type: IP\|TID\|TIME\|CALLCHAIN\|PERIOD," "called as perf, -g is fp"
done_testing
