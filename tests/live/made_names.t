#!/usr/bin/env bash
# Names of code made at run time are kept with the recording: they outlive the process and its files, and perf reads the file as before.
# where: host
# needs: perf_events
# timeout: 180
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde
cd "$SONDE_TMP" || exit 1
export HOME=$SONDE_TMP PERF_BUILDID_DIR=$SONDE_TMP/debug JITDUMPDIR=$SONDE_TMP/dumps
mkdir dumps
rows() { "$SONDE" report --stdio --no-children -g none --sort dso,sym -i "$@" 2>&1; }

"$SONDE" record -q -k mono -g -e cpu-clock:u -F 1999 -o jit.data -- "$SONDE" workload jit 0.4 >/dev/null 2>&1
pid=$(basename dumps/jit-*.dump | tr -dc 0-9)
[ -s "/tmp/perf-$pid.map" ]
ok $? "the program left a map and a dump"
rm -f "/tmp/perf-$pid.map"
like "$(rows jit.data)" '\[JIT\] tid [0-9]+ +\[\.\] jit_loop' "its names are in the recording"
like "$("$SONDE" script -F ip,sym -i jit.data 2>/dev/null)" 'jit_outer' "script has them"
like "$("$SONDE" export --to folded -o - -i jit.data 2>/dev/null)" 'jit_outer;jit_loop ' "export has them"
printf '0 7fffffffffff somebody_else\n' >"/tmp/perf-$pid.map"
unlike "$(rows jit.data)" 'somebody_else' "a later process with that number does not change them"
rm -f "/tmp/perf-$pid.map"
"$SONDE" inject -b -i jit.data -o copy.data 2>/dev/null
like "$(rows copy.data)" 'jit_loop' "a copy has them, too"
rm dumps/jit-*.dump
exits 0 "inject -j without the dump" "$SONDE" inject -j -i jit.data -o injected.data
like "$(rows injected.data)" "jitted-$pid-0.so +\\[\\.\\] jit_loop" "takes what the recording kept of it"

needs_or_skip "perf reads it" perf || {
	command perf script --no-inline -F ip -i jit.data >theirs 2>perf.err
	is $? 0 "perf reads the file" || diag "$(cat perf.err)"
	"$SONDE" script --no-inline -F ip -i jit.data >ours 2>/dev/null
	cmp -s theirs ours && [ -s ours ]
	ok $? "... all of it"
	"$SONDE" inject -b -i jit.data -o - 2>/dev/null | command perf script -F ip -i - >theirs 2>perf.err
	[ -s theirs ] && ! grep -q 'nvalid' perf.err
	ok $? "... and as a stream" || diag "$(cat perf.err)"
	command perf report --header-only -i jit.data >header 2>&1
	like "$(cat header)" '# arch' "... and its header"
	command perf inject -b -i jit.data -o theirs.data 2>perf.err
	is $? 0 "... and rewrites it" || diag "$(cat perf.err)"
}

# A stream has them in its last records.
rm -f dumps/jit-*.dump
"$SONDE" record -q -k mono -g -e cpu-clock:u -F 1999 -o - -- "$SONDE" workload jit 0.4 2>/dev/null >stream.data
pid=$(basename dumps/jit-*.dump | tr -dc 0-9)
rm -f "/tmp/perf-$pid.map" dumps/jit-*.dump
like "$(rows stream.data)" '\[JIT\] tid [0-9]+ +\[\.\] jit_loop' "-o -: the stream has its names"
like "$(rows - <stream.data)" 'jit_loop' "also when it comes through a pipe"
"$SONDE" inject -b -i stream.data -o copy.data 2>/dev/null
like "$(rows copy.data)" 'jit_loop' "a file made of it has them, too"
head -c -8 stream.data >short.data
unlike "$(rows short.data)" 'jit_loop' "one that ends early has none"
needs_or_skip "perf reads the stream" perf || {
	command perf script --no-inline -F ip -i - <stream.data >theirs 2>perf.err
	is $? 0 "perf reads the stream" || diag "$(cat perf.err)"
	"$SONDE" script --no-inline -F ip -i stream.data >ours 2>/dev/null
	awk '{ print $1 }' theirs | cmp -s - <(awk '{ print $1 }' ours) && [ -s ours ] # of a stream perf 6.1 prints names as well
	ok $? "... all of it"
}

# Each file of a recording in parts has them.
"$SONDE" record -q --switch-output=1s -e cpu-clock:u -F 1999 -o parts.data -- "$SONDE" workload jit 2.5 >/dev/null 2>&1
rm -f /tmp/perf-"$("$SONDE" script -F pid -i "$(ls parts.data.* | head -1)" 2>/dev/null | head -1 | tr -dc 0-9)".map
like "$(rows "$(ls parts.data.* | head -1)")" 'jit_loop' "--switch-output: the first file has its names"

# A file of another user is not what the process said.
if [ "$(id -u)" = 0 ] && [ "$(uname -m)" = x86_64 ] && command -v gcc >/dev/null; then
	cat >quiet.c <<'END'
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void)
{
	static const unsigned char loop[] = { 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3 }; /* dec %rdi; jne; ret */
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED || !memcpy(page, loop, sizeof(loop)) || mprotect(page, 4096, PROT_READ | PROT_EXEC))
		return 1;
	((void (*)(unsigned long))page)(500000000);
	sleep(1); /* alive while its map is seen */
	return 0;
}
END
	gcc -O1 -o quiet quiet.c
	plant() { # OWNER OUTPUT
		"$SONDE" record -q -e cpu-clock:u -F 1999 -o "$2" -- \
			bash -c 'echo "0 7fffffffffff planted" >"/tmp/perf-$$.map"; chown "$1" "/tmp/perf-$$.map"; echo $$ >pid; exec ./quiet' sh "$1" 2>/dev/null
		rm -f "/tmp/perf-$(cat pid).map"
	}
	plant 65534 theirs.data
	unlike "$(rows theirs.data)" 'planted' "a map of another user's is not kept"
	plant 0 mine.data
	like "$(rows mine.data)" 'planted' "one of the process's user is"
else
	skip "needs root, gcc and x86_64" "a map of another user's"
fi
done_testing
