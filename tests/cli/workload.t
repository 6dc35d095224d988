#!/usr/bin/env bash
# `sonde workload`: each program does exactly what it says, as perf counts it.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde

# count EVENT NAME [ARG...]: how often EVENT happened
count() {
	local event=$1
	shift
	perf stat -x, -e "$event" -o "$SONDE_TMP/count" "$SONDE" workload "$@" || echo "workload failed" >&2
	sed -n 's/^\([0-9][0-9]*\),.*/\1/p' "$SONDE_TMP/count"
}

# more_by EVENT NAME N LOW HIGH: the difference between N and 0 lies in LOW..HIGH
more_by() {
	local event=$1 name=$2 n=$3 low=$4 high=$5 with without more
	needs_or_skip "$name $n: $event" perf root && return
	if [ "${event#*:}" != "$event" ] && [ ! -e "$tracefs/events/${event/://}" ]; then
		skip "no event $event here" "$name $n: $event"
		return
	fi
	with=$(count "$event" "$name" "$n") without=$(count "$event" "$name" 0)
	more=$((with - without))
	[ -n "$with" ] && [ -n "$without" ] && [ $more -ge "$low" ] && [ $more -le "$high" ]
	ok $? "$name $n: $low to $high more $event than with 0" || diag "with $n: $with, with 0: $without"
}

more_by syscalls:sys_enter_getppid syscalls 1000 1000 1000
more_by syscalls:sys_enter_pwrite64 io 500 500 500
more_by syscalls:sys_enter_pread64 io 500 500 500
more_by sched:sched_process_fork forks 50 50 50
more_by sched:sched_process_exit forks 50 50 50
# The process has faults of its own, and how many pages of the program are mapped at once varies by a few.
if nm "$SONDE" 2>/dev/null | grep -q __asan_init; then
	skip "the sanitizer's shadow memory has faults too" "faults 5000"
else
	more_by minor-faults faults 5000 4990 5010
fi
# Start-up waits a few times itself.
more_by context-switches switches 1000 1980 1000000
more_by context-switches mutex 50 45 1000000

# What runs for a time, is on the CPU for that long, whatever else the machine does. One that stands still meanwhile counts that too: once more then.
on_cpu() { # MS WORKLOAD...
	local ms=$1
	shift
	for _ in 1 2 3 4 5 6 7 8; do
		perf stat -x, -e task-clock -o "$SONDE_TMP/count" "$SONDE" workload "$@"
		n=$(sed -n 's/^\([0-9]*\)\.[0-9]*,msec,.*/\1/p' "$SONDE_TMP/count")
		[ "${n:-0}" -gt $((ms + 150)) ] || break
	done
	[ "${n:-0}" -ge "$ms" ] && [ "$n" -le $((ms + 150)) ]
	ok $? "$*: computes for as long as it is told" || diag "$ms ms: $(cat "$SONDE_TMP/count")"
}
if ! needs_or_skip "time" perf root; then
	on_cpu 300 noploop 0.3
	on_cpu 300 thloop -t 3 0.1
	on_cpu 200 leaf 0.2
fi

# What jit left behind: the dumps in $SONDE_TMP, and the maps that go with them.
clean_jit() {
	local dump
	for dump in "$SONDE_TMP"/jit-*.dump; do
		rm -f "$dump" "/tmp/perf-$(basename "$dump" .dump | tr -dc '0-9').map"
	done
}

# chain WORKLOAD WANT ARG...: the most frequent stack, leaf first, begins with these functions
chain() {
	local name=$1 want=$2
	shift 2
	needs_or_skip "stack of $name" perf root && return
	# perf record 6.1 itself sometimes aborts on a busy machine: that is no finding about us.
	for _ in 1 2 3 4 5; do
		perf --buildid-dir "$SONDE_TMP/debug" record -q -BN -F 997 -e cpu-clock:u -g -o "$SONDE_TMP/perf.data" \
			"$SONDE" workload "$name" "$@" >"$SONDE_TMP/stderr" 2>&1 && break
		clean_jit
	done
	perf --buildid-dir "$SONDE_TMP/debug" script -i "$SONDE_TMP/perf.data" -F ip,sym 2>/dev/null |
		awk 'NF { s = s (s ? " " : "") $2; next } s { n[s]++; s = "" }
		     END { for (s in n) if (n[s] > best) { best = n[s]; most = s } print most }' >"$SONDE_TMP/stack"
	like "$(cat "$SONDE_TMP/stack")" "^$want( |\$)" "$name: stack is $want"
}
chain leaf "workload_leaf workload_middle workload_parent" 0.5
chain deep "workload_spin workload_recurse workload_recurse workload_recurse workload_deep" 3 -s 0.5
chain thloop "workload_spin workload_thread" 0.5
chain sqrtloop "workload_sqrt workload_sqrtloop" 0.5
chain brstack "(brstack_bar (brstack_foo )?)?(brstack_foo )?brstack_bench workload_brstack" 99999999
JITDUMPDIR=$SONDE_TMP chain jit "jit_loop jit_outer workload_jit" 0.5
clean_jit

# The two files of jit, looked at by another reader.
exits 0 "jit runs" env JITDUMPDIR="$SONDE_TMP" bash -c 'echo $$; exec "$SONDE" workload jit 0.01'
is "$(awk '{ print $3 }' "/tmp/perf-$out.map" | tr '\n' ' ')" "jit_loop jit_outer " "the map names both functions"
is "$(od -An -tx4 -N4 "$SONDE_TMP/jit-$out.dump" | tr -d ' ')" 4a695444 "the dump has the magic of jitdump"
rm -f "/tmp/perf-$out.map"

# Probes are in the notes of the binary, with arguments.
if ! needs_or_skip "usdt notes" readelf; then
	notes=$(readelf -n "$SONDE" 2>/dev/null)
	for probe in begin step end; do
		like "$(printf '%s\n' "$notes" | grep -A1 'Provider: sonde')" "Name: $probe" "USDT probe sonde:$probe"
	done
	like "$notes" 'Arguments: -?4@[^ ]+ -?8@[^ ]+ -?8@' "step has three arguments"
fi

# Symbols that others look for by name.
if ! needs_or_skip "symbols" nm; then
	symbols=$(nm "$SONDE" | awk '$2 == "T" { print $3 }')
	for f in workload_spin workload_leaf workload_middle workload_parent workload_recurse workload_inline_caller \
		workload_thread workload_sqrt workload_locked workload_allocate workload_touch workload_syscalls; do
		like "$symbols" "^$f\$" "$f is a symbol"
	done
fi

for w in noploop thloop leaf inline sqrtloop datasym; do
	exits 0 "$w 0 ends at once" "$SONDE" workload $w 0
done
for w in deep brstack landlock malloc faults syscalls switches io forks usdt mutex; do
	exits 0 "$w 0 ends at once" "$SONDE" workload $w 0
	exits 0 "$w 10" "$SONDE" workload $w 10 -s 0
	is "$out$err" "" "and says nothing"
done

exits 0 "--list" "$SONDE" workload --list
is "$(printf '%s\n' "$out" | wc -l)" 19 "lists 19 workloads"
exits 0 "--list --json" "$SONDE" workload --list --json
if ! needs_or_skip "the list is JSON" python3; then
	is "$(printf '%s' "$out" | python3 -c 'import json, sys; print(len(json.load(sys.stdin)))')" 19 "the list is JSON"
fi
exits 129 "without a name" "$SONDE" workload
exits 129 "an unknown name" "$SONDE" workload lef
like "$err" "did you mean 'leaf'" "names the closest"
exits 129 "no number" "$SONDE" workload syscalls many
exits 129 "no time" "$SONDE" workload leaf soon
exits 129 "too deep" "$SONDE" workload deep 50001
exits 129 "one argument too many" "$SONDE" workload leaf 0 0
exits 129 "no threads" "$SONDE" workload thloop 0 -t 0
exits 1 "no directory for the temporary file" env TMPDIR=/nonexistent "$SONDE" workload io 1
like "$err" "temporary file: No such file" "and says so"
exits 1 "no directory for the dump" env JITDUMPDIR=/nonexistent "$SONDE" workload jit 0
rm -f "/tmp/perf-$(printf '%s' "$err" | sed -n 's/.*jit-\([0-9]*\)\.dump.*/\1/p').map"
done_testing
