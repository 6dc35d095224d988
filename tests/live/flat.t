#!/usr/bin/env bash
# A long run of `who` and `top`, fast-forwarded: thousands of readings while processes come and go, and memory that does not grow with them.
# where: host
# needs: root
# timeout: 400
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events
cd "$SONDE_TMP" || exit 1
export HOME=$SONDE_TMP

# Processes with names and addresses of their own, as long as anybody looks: what is remembered of each one would add up.
(
	n=0
	while :; do
		cp "$SONDE" "p$n"
		timeout -s KILL 0.2 "./p$n" workload leaf 5 >/dev/null 2>&1 || true
		rm -f "p$n"
		n=$(((n + 1) % 50))
	done
) 2>/dev/null &
churn=$!
trap 'kill -9 $churn $pid 2>/dev/null; rm -rf "$SONDE_TMP"' EXIT

kb() { awk '/^VmRSS/ { print $2 }' "/proc/$1/status" 2>/dev/null; }
lines() { wc -l <"$1"; }
# NAME ROUNDS COMMAND...: a line a round. Memory after a third of the rounds, and at the end.
flat() {
	local name=$1 rounds=$2 file=$3 early late
	shift 3
	"$@" >"$file" 2>"$file.err" &
	pid=$!
	third() { [ "$(lines "$file")" -ge $((rounds / 3)) ] || is_gone $pid; }
	all() { [ "$(lines "$file")" -ge "$rounds" ] || is_gone $pid; }
	wait_until third
	early=$(kb $pid)
	wait_until all
	late=$(kb $pid)
	kill -INT $pid
	wait $pid
	is $? 0 "$name ends well" || diag "$(cat "$file.err")"
	[ "$(lines "$file")" -ge "$rounds" ]
	ok $? "$name: $rounds rounds" || diag "$(lines "$file")"
	[ -n "$early" ] && [ -n "$late" ] && [ "$late" -le $((early * 5 / 4 + 2048)) ]
	ok $? "$name: memory stays ($early KB after a third, $late KB at the end)"
}

flat "who" 900 who.json "$SONDE" who -b -d 0.02 --json -o PID,PPID,USER,%CPU,COMMAND,CGROUP,EXE
grep -q '"command":"p[0-9]' who.json
ok $? "who saw the processes that came and went"
flat "top" 300 top.json "$SONDE" top --json -d 0.1 -e cpu-clock -F 999 -s comm,dso,sym -p $churn
grep -q "\"comm\":\"p[0-9]" top.json
ok $? "top saw them, too"
done_testing
