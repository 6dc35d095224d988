#!/usr/bin/env bash
# `sonde bench`: what it refuses, and how.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde
exits 129 "no suite" "$SONDE" bench
exits 129 "an unknown suite" "$SONDE" bench prob
like "$err" "did you mean .*probe" "names the closest"
exits 0 "help" "$SONDE" bench probe --help
like "$out" '^Examples:' "begins with examples"
exits 0 "the list" "$SONDE" bench probe --list
like "$out" '^kretprobe +return of a kernel function' "kinds with what they are"
exits 129 "an unknown kind" "$SONDE" bench probe uprob
like "$err" "unknown kind of probe 'uprob'" "is named"
like "$err" "did you mean 'uprobe'" "with the closest"
for t in 0 -1 61 x; do
	exits 129 "an invalid time: $t" "$SONDE" bench probe "--time=$t"
	like "$err" "invalid time in seconds '$t'" "is named: $t"
done
exits 129 "the list of something" "$SONDE" bench probe --list uprobe
exits 129 "an unknown option" "$SONDE" bench probe --nonsense
# ---- perf's suites -----------------------------------------------------------------------------------------------------------
exits 129 "a collection without a benchmark" "$SONDE" bench mem
exits 129 "an unknown benchmark" "$SONDE" bench mem memcopy
like "$err" "did you mean 'memcpy'" "names the closest"
exits 129 "an unknown format" "$SONDE" bench -f terse sched pipe
exits 129 "too many runs" "$SONDE" bench -r 100000 sched pipe
like "$err" "too many runs" "is named"
exits 129 "a word too much" "$SONDE" bench sched pipe now
like "$err" "unexpected argument 'now'" "is named"
for size in 0 x 1XB -1 99999TB; do
	exits 1 "an invalid size: $size" "$SONDE" bench mem memcpy "--size=$size"
	like "$err" "size.* ?'?$size" "is named: $size"
done
exits 1 "an unknown function" "$SONDE" bench mem memset -f stos
like "$err" "unknown function 'stos'" "is named"
like "$err" "hint: default: " "with those there are"
exits 0 "the functions" "$SONDE" bench mem memset -f help
like "$out" '^	default \.\.\. ' "are listed"
exits 1 "threads that cannot be shared out" "$SONDE" bench futex wake-parallel -t 5 -w 2
like "$err" "5 threads cannot be divided evenly among 2" "is refused"
exits 1 "too many threads" "$SONDE" bench futex hash -t 1000000
like "$err" "number of threads: 1000000 is above the limit of 4096" "is refused"
exits 1 "too many loops" "$SONDE" bench sched pipe -l 18446744073709551615
like "$err" "number of loops: 18446744073709551615 is above the limit" "is refused"
(ulimit -n 20 && "$SONDE" bench --format simple epoll all) >"$SONDE_TMP/out" 2>"$SONDE_TMP/err"
is $? 1 "none of a collection can run"
is "$(grep -c 'cannot create an event descriptor: Too many open files' "$SONDE_TMP/err")" 2 "each says why"
is "$(grep -c '^# Running epoll/' "$SONDE_TMP/out")" 2 "since one that fails does not end the others"
exits 129 "numa" "$SONDE" bench numa mem
like "$err" "numactl" "says what helps"
exits 0 "a simple format" "$SONDE" bench -f simple syscall basic -l 100
like "$out" '^0\.[0-9]{3}$' "is a bare number"
exits 0 "JSON" "$SONDE" bench --json mem memcpy -s 4KB -l 10 -f default
is "$(python3 -c 'import json, sys; d = json.load(sys.stdin)["benchmarks"][0]; print(d["benchmark"], d["results"][0]["of"], d["results"][0]["mean"] > 0)' <<<"$out")" \
	"memcpy default True" "has the function and its rate"
is "$("$SONDE" bench -f simple mem memcpy -s 4KB | head -1 | cut -c1-10)" "# function" "a reader that went away"

if [ "$(id -u)" = 0 ] && [ -e /proc/sys/kernel/unprivileged_bpf_disabled ] && type -P setpriv >/dev/null; then
	# Not at its own path: others may not reach that.
	cp "$SONDE" "$SONDE_TMP/prog" && chmod 755 "$SONDE_TMP" "$SONDE_TMP/prog"
	exits 1 "without rights" setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set -all "$SONDE_TMP/prog" bench probe uprobe
	like "$err" 'cannot measure probes: .*CAP_BPF' "what is missing"
	like "$err" 'hint: run it as root' "and what helps"
else
	skip "not root, or no setpriv" "without rights"
fi
done_testing
