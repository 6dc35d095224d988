#!/usr/bin/env bash
# where: host
# needs: root
# timeout: 600
# A recording names files, and one of them may be on a filesystem that does not answer: readers go on without it and name it.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events
gen=$(dirname "$SONDE")/tests
cd "$SONDE_TMP" || exit 1
command -v gcc >/dev/null || { skip "no compiler here" "a program on a filesystem that does not answer"; done_testing; exit; }
pids=()
trap 'kill -9 "${pids[@]}" 2>/dev/null; umount -l "$SONDE_TMP/held" 2>/dev/null; rm -rf "$SONDE_TMP"' EXIT


cat >prog.c <<'END_OF_PROGRAM'
#include <signal.h>
#include <unistd.h>
static volatile unsigned sink;
__attribute__((noipa)) void spin_on_fuse(void)
{
	for (unsigned i = 0; i < 100000; i++)
		sink += i;
}
int main(void)
{
	alarm(300);
	for (;;)
		spin_on_fuse();
}
END_OF_PROGRAM
gcc -O2 -g -o prog prog.c || exit 1
mkdir held
"$gen/fuse_hold" prog held 400 >>fuse.out 2>fuse.err &
fuse=$!
pids+=("$fuse")
mounted() { grep -qs ready fuse.out || is_gone $fuse; }
wait_until mounted
if is_gone $fuse; then
	skip "no FUSE here" "a filesystem that does not answer"
	done_testing
	exit
fi

held/prog &
prog=$!
pids+=("$prog")
# Copies of stacks are unwound by the reader, who needs the program's tables for it.
burn 50 $prog
"$SONDE" record -e cpu-clock -F 499 --call-graph dwarf --raw-stack -p $prog -o stacks.data -- sleep 1 2>record.err
has_samples stacks.data 10
ok $? "a program on FUSE is recorded, with stacks" || diag "$(cat record.err)"
"$SONDE" record -e cpu-clock -F 499 -p $prog -o plain.data -- sleep 1 2>record.err
has_samples plain.data 10
ok $? "a program on FUSE is recorded" || diag "$(cat record.err)"
"$SONDE" record -B -e cpu-clock -F 499 -o without_ids.data -- timeout 1 held/prog 2>record.err
has_samples without_ids.data 10
ok $? "a program on FUSE is recorded, without build ids" || diag "$(cat record.err)"

export SONDE_CACHE="$SONDE_TMP/none"
"$SONDE" report -i plain.data --stdio >out 2>err
like "$(cat out)" 'spin_on_fuse' "while the filesystem answers, report names its functions"
unlike "$(cat err)" 'did not respond' "and warns of nothing"
"$SONDE" annotate -i plain.data --stdio spin_on_fuse >out 2>err
like "$(cat out)" 'prog.c|sink' "annotate shows its code"

# begin VERB ARGUMENT...: starts a reader; all of a kind wait for the filesystem at the same time
begun=()
begin() {
	local n=${#begun[@]}
	timeout -s KILL 60 "$SONDE" "$@" >"out$n" 2>"err$n" </dev/null &
	begun+=("$! $1")
}
# ends HOW N: reader N has to end by itself, and to name the file
ends() {
	local how=$1 n=$2 guard verb pid
	read -r guard verb <<<"${begun[n]}"
	local name="$how: $verb"
	WAIT_SECONDS=40 wait_until is_gone "$guard"
	ok $? "$name ends" || diag "$(cat "err$n")"
	is_gone "$guard" || for pid in $guard $(pgrep -P "$guard"); do kill -9 "$pid"; done
	wait "$guard"
	isnt $? 137 "$name was not killed"
	like "$(cat "err$n")" "'[^']*held/prog[^']*' was not read: its file system did not respond" "$name names the file" || diag "$(cat "err$n")"
}

how="a filesystem that opens files and does not read them"
kill -s USR2 $fuse
begin report -i plain.data --stdio
begin annotate -i plain.data --stdio
for n in 0 1; do ends "$how" $n; done

how="a filesystem that does not answer"
kill -s USR1 $fuse
begun=()
begin report -i plain.data --stdio
begin script -i plain.data
begin report -i stacks.data --stdio
begin annotate -i plain.data --stdio
begin flame -i plain.data -o page.html
begin diff plain.data stacks.data
begin export -i plain.data --to folded
begin archive -i stacks.data -o bundle.tar
begin inject -b -i without_ids.data -o injected.data
for n in "${!begun[@]}"; do ends "$how" "$n"; done
like "$(cat out0)" 'prog' "$how: report has its rows"
like "$(cat out1)" 'cpu-clock' "$how: script has its samples"
kill -9 $fuse
umount -l held

done_testing
