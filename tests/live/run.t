#!/usr/bin/env bash
# where: host 6.1 6.12
# needs: root bpf
# run: scripts on the running kernel. Where bpftrace is installed and knows the construct, what it prints is what has to be printed.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root bpf tracefs
cd "$SONDE_TMP" || exit 1

run() { timeout 120 "$SONDE" run -q "$@"; }
# what the script prints, blank lines aside
prints() { run -e "$1" 2>err.txt | grep .; }

is "$(prints 'BEGIN { printf("%d %s\n", 42, "x"); }')" "42 x" "a begin probe prints, and the run ends by itself"
run -e 'BEGIN { exit(7); }' >/dev/null
is $? 7 "the status of exit()"
run -e 'BEGIN { nosuch(); }' >out.txt 2>err.txt
is "$?.$(cat out.txt)" "1." "a script that is wrong: status 1, and nothing on standard output"
like "$(cat err.txt)" "\^~+" "the place is marked"
is "$(echo 'BEGIN { printf("%d\n", $1); }' | run - 5)" 5 "from standard input, with a parameter"
echo 'BEGIN { printf("%s\n", str($1)); }' >script.bt
is "$(run script.bt abc)" abc "from a file"
run -o out.txt -e 'BEGIN { printf("into\n"); }'
is "$(cat out.txt)" into "-o"
is "$(prints 'BEGIN { printf("a"); } BEGIN { printf("b"); } END { printf("c\n"); }')" abc "several begin probes in their order, then end"

is "$(prints 'BEGIN { @a[1] = 10; @a[2] = 20; for ($kv : @a) { @s += $kv.1; } for ($i : 0..1000) { @r += $i; } printf("%d %d\n", @s, @r); exit(); }' |
	head -1)" "30 499500" "loops over a map and over a range: callbacks"

# the same as bpftrace prints; in guests that takes it 5 s each
same() {
	local name=$1 script=$2
	[ "$SONDE_GUEST" = host ] || { skip "compared on the host" "$name"; return; }
	needs_or_skip "$name" bpftrace && return
	bpftrace -e "$script" 2>peer.txt | grep -v '^Attaching' | grep . >want.txt
	prints "$script" >got.txt
	if cmp -s want.txt got.txt; then ok 0 "$name, as bpftrace"; else
		ok 1 "$name, as bpftrace"
		diff want.txt got.txt | sed 's/^/# /'
		sed 's/^/# /' peer.txt err.txt
	fi
}
same "numbers, texts, tuples, files" 'BEGIN { printf("%d %u %x %X %5d|%-5d|%05d %lld %c\n", 1, 2, 255, 255, 42, 42, 42, -5, 65);
	printf("%s|%6s|%-6s|\n", "abc", "abc", "abc"); print("str"); print(5); @t = (1, "x", (2, 3)); print((1, "a"));
	time("%Y\n"); cat("/proc/sys/kernel/ostype"); exit(); }'
same "maps and aggregates" 'BEGIN { @x[1] = 5; @x[2] = 3; @x[3] = 9; @y["a", 2] = 1; @z = 7; print(@x); print(@x, 2); print(@x, 2, 2); clear(@x);
	@c = count(); @s = sum(5); @a[1] = avg(10); @a[2] = avg(2); @st = stats(5); @st = stats(7); @mi = min(3); @ma = max(9); exit(); }'
same "histograms" 'BEGIN { @h = hist(-1); @h = hist(0); @h = hist(1); @h = hist(3000); @k[1] = hist(5); @k[2] = hist(5); @k[2] = hist(6);
	@l = lhist(5, 0, 100, 10); @l = lhist(500, 0, 100, 10); exit(); }'

json=$(run -f json -e 'BEGIN { printf("hi\n"); @x[1, "a"] = 5; @h = hist(5); @s = stats(4); print((1, "q")); }')
is "$(printf '%s\n' "$json" | python3 -c 'import json, sys; print(" ".join(json.loads(l)["type"] for l in sys.stdin))')" \
	"attached_probes printf value hist stats map" "-f json: an object a line"
like "$json" '"@x": ?\{"1,a": ?5\}' "with keys as bpftrace writes them"

# probes
run -e 'tracepoint:syscalls:sys_enter_execve { @[str(args->filename)] = count(); }' -c "bash -c 'for i in 1 2 3; do /bin/true; done'" >out.txt 2>err.txt
is "$(sed -n 's/^@\[\/bin\/true\]: //p' out.txt)" 3 "a tracepoint, its fields, and a command to look at"
run -e 'tracepoint:syscalls:sys_enter_* { @[probe] = count(); }' -c /bin/true >out.txt 2>err.txt
like "$(cat out.txt)" '^@\[tracepoint:syscalls:sys_enter_execve\]: [1-9]' "all system calls, by name"
like "$(run -e 'interval:ms:10 { @++; if (@ >= 3) { exit(); } }')" '^@: ([3-9]|[1-9][0-9]+)$' "a clock"
run -e 'profile:hz:999 { @[cpu] = count(); } interval:s:1 { exit(); }' >out.txt
like "$(cat out.txt)" '^@\[[0-9]+\]: [0-9]' "samples on CPUs"
if ! needs_or_skip "a function of a program" uprobes; then
	run -e "uprobe:$(type -P bash):main { @ = count(); }" -c "bash -c true" >out.txt 2>err.txt
	like "$(cat out.txt)" '^@: [1-9]' "a function of a program"
fi
# Probes of one event run in the order of the script: in the kernel, functions have the newest first
order() {
	run -e "$1 { printf(\"%d a\n\", pid); } $1 { printf(\"%d b\n\", pid); } $1 { printf(\"%d c\n\", pid); }" \
		-c "bash -c 'echo \$\$ >pid.txt; exec /bin/true'" >out.txt 2>err.txt
	like "$(awk -v pid="$(cat pid.txt)" '$1 == pid { printf "%s", $2 }' out.txt)" '^(abc)+$' "probes of $1 run in the order of the script" ||
		sed 's/^/# /' err.txt
}
order tracepoint:syscalls:sys_enter_execve
order rawtracepoint:sched_process_exec
needs_or_skip "order of uprobes" uprobes || order uprobe:libc:exit
run -e 'rawtracepoint:sched_switch { @ = count(); }' -c 'sleep 0.1' >out.txt 2>err.txt
like "$(cat out.txt)" '^@: [1-9]' "a raw tracepoint"
# -p: only that process, but clocks go on
bash -c 'while :; do echo; done' >/dev/null &
pid=$!
of_pid='tracepoint:raw_syscalls:sys_enter { @[pid] = count(); } interval:ms:100 { @ticks++; if (@ticks > 5) { exit(); } }'
run -p $pid -e "$of_pid" >out.txt 2>err.txt
is "$(sed -n 's/^@\[\([0-9]*\)\]: .*/\1/p' out.txt)" $pid "-p: system calls of one process, and clocks" || sed 's/^/# /' err.txt
kill $pid
wait $pid 2>/dev/null
run -e 'tracepoint:nosuch:nosuch { }' >out.txt 2>err.txt
is $? 1 "a tracepoint that is not there"
like "$(cat err.txt)" "nosuch:nosuch" "is named"

# Ctrl-C ends it: end probes run, maps are printed
"$SONDE" run -q -e 'interval:ms:10 { @++; } END { printf("over\n"); }' >out.txt 2>err.txt &
pid=$!
wait_until catches $pid INT
kill -INT $pid
wait $pid
is $? 130 "Ctrl-C is what it dies of, as shells expect"
like "$(cat out.txt)" over "after its end probes"
like "$(cat out.txt)" '^@: [0-9]' "and its maps"

# called bpftrace
ln -s "$SONDE" bpftrace
is "$(./bpftrace -e 'BEGIN { printf("x\n"); exit(); }' 2>/dev/null | head -2)" "Attaching 1 probe...
x" "called bpftrace"
like "$(__BPFTRACE_NOTIFY_PROBES_ATTACHED=1 run -e 'interval:ms:1 { exit(); }')" __BPFTRACE_NOTIFY_PROBES_ATTACHED "the word that its tests wait for"

# many probes go as fast as they come: bpftrace takes two grace periods for each
began=$(date +%s%N)
run -e 'tracepoint:syscalls:sys_enter_* { @ = count(); } interval:ms:1 { exit(); }' >/dev/null
took=$((($(date +%s%N) - began) / 1000000))
[ $took -lt 2700 ]
ok $? "350 system calls attached, run and gone in $took ms (bpftrace: 27 s)"

# who loses records is told
run -e 'tracepoint:raw_syscalls:sys_enter { printf("%s %s %s %s\n", comm, comm, comm, comm); }' -c 'dd if=/dev/zero of=/dev/null bs=1 count=100000 status=none' >out.txt 2>err.txt
lines=$(grep -c . out.txt) lost=$(sed -n 's/.*: \([0-9]*\) records lost.*/\1/p' err.txt)
[ $((lines + ${lost:-0})) -ge 200000 ]
ok $? "records that are printed ($lines) and lost (${lost:-0}) are all that there were"

# CAP_BPF and CAP_PERFMON are enough, with files that only root reads; without them it is said what is missing
as_user() {
	local caps=$1
	shift
	setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps "$caps" --ambient-caps "$caps" timeout 60 "$SONDE" run -q "$@"
}
if ! needs_or_skip "capabilities" setpriv; then
	as_user +bpf,+perfmon,+dac_read_search -e 'tracepoint:sched:sched_switch { @ = count(); } interval:ms:50 { exit(); }' >out.txt 2>err.txt
	if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ]; then
		like "$(cat out.txt)" '^@: [0-9]' "CAP_BPF and CAP_PERFMON are enough" || sed 's/^/# /' err.txt
	else # Debian's kernels want more then
		like "$(cat out.txt err.txt)" '^@: [0-9]|perf_event_paranoid=2' "CAP_BPF and CAP_PERFMON are enough, or it is said what else"
	fi
	as_user +dac_read_search -e 'BEGIN { }' >out.txt 2>err.txt
	is $? 1 "without them it is refused"
	like "$(cat err.txt)" 'CAP_BPF and CAP_PERFMON missing' "with what is missing"
fi

# listing
like "$("$SONDE" run -l 'tracepoint:sched:sched_sw*')" '^tracepoint:sched:sched_switch$' "-l"
like "$("$SONDE" run -lv 'tracepoint:sched:sched_switch' 2>&1; "$SONDE" run -v -l 'tracepoint:sched:sched_switch')" 'next_pid' "with -v also fields"
like "$("$SONDE" run --info)" 'ringbuf .*yes' "--info"

# the kernel's functions: guests
if ! needs_or_skip "kprobes" kprobes; then
	run -e 'kprobe:vfs_read { @ = count(); }' -c /bin/true >out.txt 2>err.txt
	like "$(cat out.txt)" '^@: [1-9]' "a function of the kernel" || sed 's/^/# /' err.txt
	run -e 'kretprobe:vfs_read { @[retval > 0] = count(); }' -c /bin/true >out.txt 2>err.txt
	like "$(cat out.txt)" '^@\[(1|true)\]: [1-9]' "its return value" || sed 's/^/# /' err.txt out.txt
	run -e 'kprobe:vfs_r* { @[func] = count(); }' -c /bin/true >out.txt 2>err.txt
	like "$(cat out.txt)" '^@\[vfs_read\]: [1-9]' "a wildcard, and which one it was" || sed 's/^/# /' err.txt out.txt
	order kprobe:begin_new_exec
	run -e 'kprobe:nosuch_function { }' >out.txt 2>err.txt
	is $? 1 "a function that is not there"
	if "$SONDE" run --info | grep -q '^  fentry .* yes'; then
		run -e 'fentry:vfs_read { @ = count(); }' -c /bin/true >out.txt 2>err.txt
		like "$(cat out.txt)" '^@: [1-9]' "fentry" || sed 's/^/# /' err.txt
		order fentry:begin_new_exec
	else
		skip "fentry is not to be had here" "fentry"
	fi
fi
done_testing
