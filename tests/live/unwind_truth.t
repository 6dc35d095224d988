#!/usr/bin/env bash
# where: host
# needs: root
# timeout: 300
# Stacks of real programs, stopped at moments of chance: what our tables say is what gdb says. A short run is part of `make check`;
# `make unwind-truth` (UNWIND_STACKS=N a program, all programs) is the long one.
#
# gdb goes as far as it can: past main, past the entry point, without a limit. What it shows and is not compared: inlined functions and tail
# calls (they come from debug information, not from the stack), and what it reads into the stack behind the first function of a thread
# (addresses where no code is). Of code without tables (V8's) it is told that whoever has called something has a frame at rbp, which its
# own reading of instructions misses; the innermost function is left to it (unwind_gdb.py). Every difference must be on the list in
# unwind_truth.c, or the test fails; a stack that is longer than gdb's is a difference, too.
. "${SONDE_SRC:-.}/tests/lib.sh"
need root
cd "$SONDE_TMP" || exit 1
truth=$(dirname "$SONDE")/tests/unwind_truth
command -v gdb >/dev/null || { skip "gdb is not here" "stacks equal gdb's"; done_testing; exit; }
[ -x "$truth" ] || { skip "unwind_truth was not built here" "stacks equal gdb's"; done_testing; exit; }
each=${UNWIND_STACKS:-30}
sleep 60 & pid=$!
gdb -nx -batch -p $pid -ex 'info registers' >attached 2>&1
kill $pid
if grep -qE 'ptrace:|not permitted' attached; then
	skip "$(grep -E 'ptrace:|not permitted' attached | head -n 1)" "stacks equal gdb's"
	done_testing
	exit
fi
export UNWIND_TICK=$truth
stacks=0 equal=0 longer=0 bad=0 calls=0 programs=0
: >reasons

# watch NAME CMD...: stops CMD until there are enough stacks, and compares
watch() {
	local name=$1 pid tries=0 line n e l u c
	shift
	[ -x "$(command -v "$1")" ] || { diag "$name: $1 is not here"; return; }
	export UNWIND_OUT=$SONDE_TMP/dump UNWIND_STACKS=$each
	: >dump
	while [ "$(grep -c ^gdb dump)" -lt "$each" ] && [ $tries -lt 6 ]; do
		tries=$((tries + 1))
		{
			"$@" </dev/null 2>/dev/null > >(cat >/dev/null) &
			pid=$!
			sleep 0.2
			timeout 200 gdb -nx -batch -p $pid -x "$SONDE_SRC/tests/oracle/unwind_gdb.py" >gdb-log 2>&1
			kill -9 $pid
			wait $pid
		} 2>/dev/null
	done
	"$truth" compare dump >result 2>&1
	line=$(grep ^stacks result)
	read -r _ n _ e _ l _ u _ _ _ _ _ c <<<"$line"
	if [ "${n:-0}" = 0 ]; then
		diag "$name: nothing could be stopped: $(tail -n 1 gdb-log)"
		return
	fi
	programs=$((programs + 1)) stacks=$((stacks + n)) equal=$((equal + e)) longer=$((longer + l)) bad=$((bad + u)) calls=$((calls + c))
	diag "$name: $line"
	grep ^reason result >>reasons
	grep '^#' result | head -n 60
	[ -z "${UNWIND_KEEP:-}" ] || cp dump "$UNWIND_KEEP/$name.dump"
}

if command -v g++ >/dev/null; then
	g++ -O2 -g -pthread -Wl,-z,lazy -o victim "$SONDE_SRC/tests/oracle/unwind_victim.cc"
	watch victim ./victim
	g++ -O0 -fno-omit-frame-pointer -pthread -o victim0 "$SONDE_SRC/tests/oracle/unwind_victim.cc"
	watch victim0 ./victim0
fi
watch workload "$SONDE" workload malloc 100000000
watch bash bash --norc -c 'f() { local i; for i in {1..50}; do x=$((x + i)); y=${x//1/2}; done; }; while :; do f; done'
watch perl perl -e 'while (1) { my %h; for my $i (1 .. 30000) { $h{ $i % 1000 } .= "x$i" } $x = join ",", sort { $a <=> $b } keys %h }'
watch python /usr/bin/python3 -c 'import json
while True: json.loads(json.dumps([{"a": i, "b": [1, 2, 3]} for i in range(1000)]))'
watch sort sort --parallel=2 -n /dev/urandom
cc1=$(gcc -print-prog-name=cc1 2>/dev/null)
printf '#include <%s>\n' stdio.h stdlib.h string.h math.h >big.c
for i in {1..3000}; do echo "double f$i(double *x, int n) { double s = 0; for (int i = 0; i < n; i++) s += sin(x[i]) * $i; return s; }"; done >>big.c
multiarch=$(gcc -print-multiarch 2>/dev/null)
watch cc1 "${cc1:-cc1}" -quiet -imultiarch "$multiarch" -O2 -o /dev/null big.c
if [ -n "${UNWIND_LONG:-}" ]; then
	cc1plus=$(g++ -print-prog-name=cc1plus)
	as=$(gcc -print-prog-name=as) ld=$(gcc -print-prog-name=ld)
	head -n 1500 big.c >half.c
	"$cc1" -quiet -imultiarch "$multiarch" -O1 -o big.s half.c 2>/dev/null
	for i in {1..300}; do sed "s/\bf\([0-9]*\)\b/f${i}_\1/g; s/\.L/.L${i}_/g; s/^\.L/.L/" big.s; done >huge.s
	printf '#include <%s>\n' map string vector algorithm regex iostream unordered_map functional >big.cc
	watch dash dash -c 'while :; do i=0; while [ $i -lt 1000 ]; do i=$((i + 1)); case $i in *7*) x=$x$i ;; esac; done; x=; done'
	watch cc1plus "$cc1plus" -quiet -imultiarch "$multiarch" -D_GNU_SOURCE -O2 -o /dev/null big.cc
	watch as "$as" -o /dev/null huge.s
	watch gzip gzip -9 -c /dev/urandom
	watch xz xz -c /dev/urandom
	watch bzip2 bzip2 -c /dev/urandom
	watch zstd zstd -19 -c /dev/urandom
	watch sha256sum sha256sum /dev/zero
	watch md5sum md5sum /dev/zero
	watch b2sum b2sum /dev/zero
	watch openssl openssl speed -seconds 2 rsa2048 aes-128-cbc ecdsap256
	watch sqlite3 sqlite3 :memory: 'with recursive c(x) as (select 1 union all select x + 1 from c where x < 1e9) select sum(x * x), count(distinct x % 1000), group_concat(x % 7) from c group by x % 13;'
	watch git git -C "$SONDE_SRC" log -p --stat
	watch git2 git diff --no-index --stat /usr/lib/python3 /usr/share/perl
	watch tar tar c /usr/lib
	watch find find / -xdev -name '*xyz*' -newer /etc/passwd
	watch ls ls -lR /usr
	watch du du -a /usr
	watch grep grep -rE '(foo|bar)+[a-z]{3,9}baz' /usr/lib/gcc /usr/include
	watch sed sed -E 's/([a-z]+)[0-9]*/<\1>/g' big.s huge.s
	watch awk awk 'BEGIN { while (1) { for (i = 0; i < 1000; i++) a[i % 37] = a[i % 31] i; split(a[1], b, "1"); delete a } }'
	watch od od -c /dev/urandom
	watch factor bash -c 'exec factor $(seq 1000000000000000003 2 1000000000000100003)'
	watch diff diff -r /usr/lib/python3 /usr/share
	watch readelf readelf -wF -wi /usr/lib/x86_64-linux-gnu/libc.so.6
	watch objdump objdump -d /usr/lib/x86_64-linux-gnu/libc.so.6 /usr/bin/perf
	watch nm nm -D --demangle /usr/lib/x86_64-linux-gnu/libLLVM-14.so.1
	watch ld "$ld" --gc-sections -r -o /dev/null "$(dirname "$SONDE")/libcmd.a" --whole-archive
	watch make make -pn -f /dev/null
	watch perf perf list
	watch clang clang -O2 -c -o /dev/null -Xclang -disable-free big.cc
	watch clang_fork clang -cc1 -O2 -emit-obj -o /dev/null big.c
	watch gdb gdb -nx -batch -ex 'info functions .*a.*' /usr/bin/bash /usr/bin/perf
	watch bpftrace bpftrace -l
	watch node node -e 'const a = []; for (;;) { JSON.parse(JSON.stringify([...Array(1000).keys()].map(i => ({ i, s: "x" + i })))); a.sort() }'
	watch apt apt-cache dumpavail
	watch dpkg dpkg-query -W -f '${Package} ${Depends}\n'
	watch man man -K -w zzzyyyxxx
	watch trace-cmd trace-cmd list -e
	watch script "$SONDE" list
fi
share() { awk -v e="$1" -v n=$stacks 'BEGIN { printf "%.2f", n ? 100 * e / n : 0 }'; }
diag "$programs programs, $stacks stacks, $equal equal ($(share $equal) %), $longer longer (together $(share $((equal + longer))) %), $bad not explained"
awk '{ n = $2; $1 = $2 = ""; c[$0] += n } END { for (k in c) printf "# %6d%s\n", c[k], k }' reasons
is "$bad" 0 "every difference to gdb is on the list"
is "$calls" 0 "every return address follows a call"
[ "$stacks" -ge $((each * 3)) ]
ok $? "enough stacks were seen"
# In a short run a single signal's own stack is more than one in a thousand.
least=95
[ -z "${UNWIND_LONG:-}" ] || least=99.9
awk -v s="$(share $equal)" -v least=$least 'BEGIN { exit !(s >= least) }'
ok $? "$least % of all stacks and more are equal"
done_testing
