#!/usr/bin/env bash
# `sonde trace -F`: every page fault with the code and the address it touched; a known number of faults is counted; perf's lines where perf is
# installed.
# where: host 6.1 arm64
# needs: root
# timeout: 120
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events
cd "$SONDE_TMP" || exit 1
mkdir bin && ln -s "$SONDE" bin/perf
fault='minfault \[[^]]+\] => [^ ].* \([d?][k.]\)'

exits 0 "-F all" "$SONDE" trace -F all -- true
like "$out" "^ +[0-9]+\.[0-9]{3} true/[0-9]+ $fault$" "a line a fault"
like "$out" '^ .* minfault \[[^]]+\] => /[^ ]*libc[^ ]*@0x[0-9a-f]+ \(d\.\)$' "what is mapped there, and how far into it"
unlike "$out" ' (openat|mmap)\(' "no system calls"
is "$(grep -cvE ' (min|maj)fault \[' <<<"$out")" 0 "nothing else"
exits 0 "--no-syscalls" "$SONDE" trace -F all --no-syscalls -- true
is "$(grep -cvE ' (min|maj)fault \[' <<<"$out")" 0 "the same"
exits 0 "--syscalls" "$SONDE" trace -F all --syscalls -- true
like "$out" "^ +[0-9.]+ \( +\): true/[0-9]+ $fault$" "faults have no duration"
like "$out" '^ +[0-9.]+ \( *[0-9.]+ ms\): true/[0-9]+ (openat|mmap)\(' "system calls have one"
exits 0 "-e" "$SONDE" trace -F min -e openat -- true
like "$out" "$fault" "faults"
like "$out" ' openat\(' "and the calls that were named"
unlike "$out" ' mmap\(' "no others"
exits 129 "an unknown kind" "$SONDE" trace -F some -- true
like "$err" "unknown kind of page faults 'some' \(all, maj or min\)" "is named"

# Two hundred pages of memory that nobody has touched yet, and that is not made of large pages.
if ! needs_or_skip "a known number of faults" python3; then
	cat >touch.py <<'END'
import mmap
m = mmap.mmap(-1, 200 * mmap.PAGESIZE)
for i in range(200):
    m[i * mmap.PAGESIZE] = 1
END
	"$SONDE" trace -F min --json -- python3 touch.py >json 2>json.err
	python3 - >got 2>&1 <<'END'
import json, mmap
lines = [json.loads(l) for l in open("json")]
faults = [l for l in lines if "fault" in l]
zero = [f for f in faults if f["data"].get("map", "").startswith("/dev/zero")]
at = [f["data"]["addr"] for f in zero]
print(len(zero), at == [at[0] + i * mmap.PAGESIZE for i in range(200)], {f["fault"] for f in faults}, {f["comm"] for f in zero})
print(all(f["code"].get("map") for f in zero), {f["event"] for f in faults}, lines[-1]["lost"])
END
	is "$(cat got)" "200 True {'minor'} {'python3'}
True {'minor-faults'} 0" "each of 200 pages, in order" || diag "$(cat json.err)"
	n=$("$SONDE" trace -F min -- python3 touch.py 2>&1 | grep -c '=> /dev/zero')
	is "$n" 200 "as text"
	exits 0 "-s" "$SONDE" trace -F all -s -- python3 touch.py
	total=$(grep -oE '[0-9]+ minfaults' <<<"$out" | grep -oE '[0-9]+')
	[ "${total:-0}" -ge 200 ]
	ok $? "the table has them" || diag "$out"
	unlike "$out" 'syscall +calls' "and no calls"
	# A recording that has faults.
	"$SONDE" record -q -d -e minor-faults -c 1 -o faults.data -- python3 touch.py 2>record.err
	n=$("$SONDE" trace -i faults.data | grep -c ' minfault .*=> /dev/zero')
	is "$n" 200 "of a recording" || diag "$(cat record.err)"
	is "$("$SONDE" trace -i faults.data 2>&1 >/dev/null)" "" "files that are only data are no news"
fi
exits 0 "--call-graph" "$SONDE" trace -F min --call-graph fp --max-events 3 -- true
like "$out" '^ {39}[^ ]+.* \(' "with call chains"

# Lines of perf, and ours by its name.
if ! needs_or_skip "perf's lines" perf; then
	perf='^ +[0-9]+\.[0-9]{3} \( 0\.000 ms\): true/[0-9]+ (min|maj)fault \[[^]]+\] => [^ ]+ \([d?][k.]\)$'
	command perf trace -F all -- true >theirs 2>&1
	bin/perf trace -F all -- true >ours 2>&1
	is "$(grep -cvE "$perf" ours)" 0 "every line of ours" || diag "$(head -3 ours)"
	like "$(cat theirs)" "$perf" "those of perf"
	shape() { grep -oE '=> /[^@ ]*libc[^@ ]*@' "$1" | sort -u; }
	is "$(shape ours)" "$(shape theirs)" "the same names"
fi
done_testing
