#!/usr/bin/env bash
# where: host
# needs: root
# timeout: 300
# bench: the suites do what they say (calls are counted by the kernel), and print perf's layouts. Row S4-279 of the acceptance matrix.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde python3
cd "$SONDE_TMP" || exit 1

# Digits become N, addresses P, what describes a function D; a number in a column keeps the width of the column.
layout() {
	perl -pe 's/^(# function \S+) \(.*\)$/$1 (D)/; s/0x[0-9a-f]+|\(nil\)/P/g; s/\binf\b/1/g; s/^( +)([\d.]+)( usecs\/op\S*| ops\/sec| [KMG]?B\/sec)/("W" x length($1.$2)).$3/e; s/\d+(\.(\d+))?/$2 ? "N." . ("n" x length($2)) : "N"/ge; s/[KMG]B\/sec/B\/sec/'
}

# ---- perf's layouts ---------------------------------------------------------------------------------------------------------
compare() {
	local words="$*"
	command perf bench "$@" 2>/dev/null | layout >theirs
	"$SONDE" bench "$@" 2>/dev/null | layout >ours
	[ "$(grep -c . theirs)" -gt 0 ] && cmp -s ours theirs
	ok $? "S4-279: bench $words: perf's layout" || diag "$(diff theirs ours)"
}
needs_or_skip "S4-279: perf's layouts" perf || {
	compare sched messaging -g 1 -l 10
	compare sched messaging -g 1 -l 10 -t -p
	compare -f simple sched messaging -g 1 -l 10
	compare sched pipe -l 100
	compare sched pipe -l 100 -T
	compare -f simple sched pipe -l 100
	compare syscall basic -l 1000
	compare -f simple syscall basic -l 1000
	compare mem memcpy -s 64MB
	compare -f simple mem memset -s 1MB
	compare mem memset -s 64MB -f default
	compare mem find_bit -i 2 -j 10
	compare futex hash -r 1 -t 2 -f 16
	compare futex hash -r 1 -t 2 -f 16 -s -S
	compare futex wake -t 4
	compare -r 3 futex wake -t 4 -s -w 2
	compare -r 3 futex wake-parallel -t 4 -w 2
	compare -r 3 futex requeue -t 4
	compare -r 3 futex requeue -t 4 -B
	compare futex lock-pi -r 1 -t 2
	compare futex lock-pi -r 1 -t 2 -M -s
	compare epoll wait -r 1 -t 2 -f 4
	compare epoll ctl -r 1 -t 2 -f 4
	compare internals kallsyms-parse -i 2
	compare internals synthesize -i 3
	compare internals evlist-open-close -i 3
	compare breakpoint thread -b 1 -p 2 -t 2
	compare breakpoint enable -p 1 -a 1
	[ "$(printf '  2.5 usecs/op\n' | layout)" != "$(printf ' 2.5 usecs/op\n' | layout)" ]
	ok $? "S4-279: the comparison sees a column's width"
}

# ---- what is really called ----------------------------------------------------------------------------------------------------
calls() { # CALL ARGS...: how often the kernel saw it
	local call=$1
	shift
	"$SONDE" stat -x, -e "syscalls:sys_enter_$call" -- "$SONDE" bench "$@" 2>&1 >/dev/null | awk -F, '/sys_enter/ { print $1 }'
}
needs_or_skip "S4-279: calls" root perf_events || {
	# 1000, and 11 to warm up
	is "$(calls getppid syscall basic -l 1000)" 1011 "S4-279: syscall basic makes the calls"
	is "$(calls getpgid syscall getpgid -l 1000)" 1011 "S4-279: syscall getpgid too"
	is "$(calls execve syscall execve -l 10)" 11 "S4-279: syscall execve runs 11 programs, one of them to warm up"
	got=$(calls write sched pipe -l 1000)
	[ "$got" -ge 2200 ] && [ "$got" -lt 2300 ]
	ok $? "S4-279: sched pipe: two writes for each exchange" || diag "$got"
	got=$(calls write sched messaging -g 1 -l 5)
	[ "$got" -ge 2040 ] && [ "$got" -lt 2140 ]
	ok $? "S4-279: sched messaging: 20 x 20 x 5 messages" || diag "$got"
	got=$(calls epoll_ctl epoll ctl -r 1 -t 1 -f 4)
	said=$("$SONDE" bench epoll ctl -r 1 -t 1 -f 4 | grep -c '^Averaged [1-9][0-9]* \(ADD\|MOD\|DEL\) operations')
	[ "$got" -gt 100 ] && [ "$said" = 3 ]
	ok $? "S4-279: epoll ctl: three kinds of operations" || diag "$got $said"
}

# ---- numbers -------------------------------------------------------------------------------------------------------------------
exits 0 "S4-279: -r" "$SONDE" bench --json -r 3 syscall basic -l 20000
printf '%s\n' "$out" >r.json
is "$(python3 - <<'END'
import json
b = json.load(open("r.json"))["benchmarks"]
r = {x["name"]: x for x in b[0]["results"]}
op, time = r["time_per_op"], r["time"]
print(len(b), b[0]["collection"], b[0]["benchmark"], len(op["values"]))
print(op["min"] <= op["mean"] <= op["max"] and min(op["values"]) == op["min"] and max(op["values"]) == op["max"])
print(all(abs(t * 1e6 / 20000 - o) < 1e-6 * o + 1e-9 for t, o in zip(time["values"], op["values"])))
n, m = 3, sum(op["values"]) / 3
error = (sum((v - m) ** 2 for v in op["values"]) / (n - 1) / n) ** 0.5
print(abs(op["error_percent"] - 100 * error / m) < 1e-6)
END
)" $'1 syscall basic 3\nTrue\nTrue\nTrue' "S4-279: three runs, their mean and their error"
exits 0 "S4-279: -r as text" "$SONDE" bench -r 2 syscall basic -l 2000
like "$out" '^# 2 runs: time_per_op [0-9.e-]+ us \(\+- [0-9.]+%\), [0-9.e-]+ to [0-9.e-]+$' "the spread"
is "$(grep -c 'usecs/op' <<<"$out")" 2 "after both runs"
mkdir bin && ln -s "$SONDE" bin/perf
exits 0 "S4-279: called as perf" bin/perf bench -r 2 syscall basic -l 2000
is "$(grep -c 'usecs/op' <<<"$out")" 1 "-r is what it is there: of futex and breakpoint"
# What was copied was copied within the time that the command took.
began=$(date +%s%N)
exits 0 "S4-279: mem" "$SONDE" bench -f simple mem memcpy -s 1MB -l 300 -f default
took=$(($(date +%s%N) - began))
awk -v rate="$(tail -1 <<<"$out")" -v took="$took" 'BEGIN { exit !(rate > 0 && 300 * 1048576 / rate * 1e9 < took) }'
ok $? "S4-279: the rate is one that fits into the time" || diag "$out in $took ns"
exits 0 "S4-279: sched all" "$SONDE" bench --json --repeat 1 sched all
is "$(grep -c '"benchmark":' <<<"$out")" 2 "runs all of a collection"
exits 0 "S4-279: a lock for each thread" "$SONDE" bench --json futex lock-pi -r 1 -t 2 -M
exits 0 "S4-279: PI" "$SONDE" bench -r 2 futex requeue -t 4 -p
like "$out" '^\[Run 2\]: Awoke and Requeued \([0-9]+\+[0-9]+\) of 4 threads in ' "requeue to a PI lock"
for args in "-m" "-R" "-N 2" "-S" "-E" "-B"; do
	# shellcheck disable=SC2086
	exits 0 "S4-279: epoll wait $args" "$SONDE" bench epoll wait -r 1 -t 2 -f 4 $args
	like "$out" '^Averaged [1-9][0-9]* operations/sec' "has seen events: $args"
done

# ---- killed in the middle ------------------------------------------------------------------------------------------------------
"$SONDE" bench sched messaging -g 1 -l 1000000000 >/dev/null 2>&1 &
pid=$!
has_children() { [ "$(pgrep -c -P $pid)" = 40 ]; }
wait_until has_children
ok $? "S4-279: 40 processes send messages"
pgrep -P $pid >children
kill -KILL $pid
wait $pid 2>/dev/null
all_gone() { local c; while read -r c; do is_gone "$c" || return 1; done <children; }
wait_until all_gone
ok $? "S4-279: after SIGKILL all of them are gone"
done_testing
