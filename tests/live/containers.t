#!/usr/bin/env bash
# where: host
# needs: root
# timeout: 300
# Containers, as unshare makes them: pid and mount namespaces, seen from outside and from inside.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events
if ! unshare -mpf --mount-proc true 2>/dev/null; then
	echo "1..0 # SKIP no pid namespaces"
	exit 0
fi
cd "$SONDE_TMP" || exit 1

# A busy program in a container, with a number there that nobody has here, where the kernel lets us choose it.
free=30000
while [ -e /proc/$free ]; do free=$((free + 1)); done
unshare -mpf --mount-proc bash -c "echo $((free - 1)) >/proc/sys/kernel/ns_last_pid; \"$SONDE\" workload noploop 300 & wait" 2>/dev/null &
outer=$!
in_container() { # the child of the container's first process
	local first
	first=$(pgrep -P $outer) && pid=$(pgrep -P "$first" -x sonde)
}
wait_until in_container
isnt "$pid" "" "a program runs in a container"
inside=$(awk '$1 == "NSpid:" { print $NF }' "/proc/$pid/status")
isnt "$inside" "$pid" "where it has another number"

exits 0 "stat -p: by the number that it has here" "$SONDE" stat -x, -p "$pid" -e task-clock,cs -- bash -c "burn 50 $pid"
ms=$(awk -F, '/task-clock/ { print int($1) }' <<<"$err")
[ "${ms:-0}" -ge 1 ]
ok $? "its time is counted" || diag "$err"
exits 0 "stat -p --per-thread" "$SONDE" stat -p "$pid" --per-thread -e task-clock -- bash -c "burn 50 $pid"
like "$err" "[a-z]+-$pid +[0-9.]+ msec task-clock" "names it by that number"
if [ ! -e "/proc/$inside" ]; then
	exits 1 "stat -p: by the number that it has there" "$SONDE" stat -p "$inside" -e cs -- true
	like "$err" "no such process: $inside" "is said"
	like "$err" "process $inside exists in a container: outside it is [0-9]+" "with the number that is meant"
else
	skip "process $inside is there by accident" "stat -p: by the number that it has there"
fi

# From inside: /proc and numbers are the container's; what is outside cannot be seen.
cat >inside.sh <<'EOS'
"$SONDE" workload noploop 300 &
p=$!
"$SONDE" stat -x, -p $p -e task-clock -- bash -c "burn 50 $p" 2>counts
echo "status $?"
kill $p
wait $p 2>/dev/null
"$SONDE" stat -p "$1" -e cs -- true 2>outside
echo "outside $?"
"$SONDE" doctor >doctor.out 2>&1
EOS
exits 0 "in a container" unshare -mpf --mount-proc bash "$PWD/inside.sh" "$pid"
like "$out" 'status 0' "stat -p works there, too"
like "$(cat counts)" '^[0-9.]+,msec,task-clock,' "and counts"
if [ "$pid" -gt 300 ]; then
	like "$out" 'outside 1' "a process of the host is not there"
	like "$(cat outside)" "no such process: $pid" "which is said"
fi
like "$(cat doctor.out)" 'container +(yes|pid namespace|a )' "doctor knows where it is" || diag "$(grep container doctor.out)"

# A mount namespace of its own: the files that it sees are its own.
mkdir -p own && cp "$SONDE" own/program
unshare -m bash -c "mount -t tmpfs t \"$PWD/own\"; cp \"$SONDE\" \"$PWD/own/program\"; exec \"$PWD/own/program\" workload noploop 300" &
other=$!
is_program() { [ "$(cat /proc/$other/comm)" = program ]; }
wait_until is_program
exits 0 "stat -p of a program that only it can see" "$SONDE" stat -x, -p $other -e task-clock -- bash -c "burn 50 $other"
like "$err" '^[0-9.]+,msec,task-clock' "is counted"
kill $other "$pid" 2>/dev/null
wait $other "$outer" 2>/dev/null
done_testing
