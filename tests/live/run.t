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

is "$(run -c 'cat /dev/null' -e 'named=BEGIN { printf("%d %d\n", cpid > 1, has_cpid); } tracepoint:sched:sched_process_exec /pid == cpid/ { printf("mine\n"); }' | grep . | tr '\n' ' ')" "1 1 mine " "cpid is the command; a probe may have a name"
for block in 'begin { BODY }' 'begin { exit() } end { BODY }'; do
	is "$(prints "enum shade { DARK = 7 }; ${block/BODY/'@i = 1; $x = @i == 2 ? (int16)@i : (enum shade)0x7fffffff; print(($x, sizeof($x), $x + 1));'}" | head -1)" \
		"(2147483647, 8, 2147483648)" "${block%% *}...: an enum and a smaller signed number become one that holds both"
done
for block in 'begin { BODY }' 'begin { exit() } end { BODY }'; do
	is "$(prints "${block/BODY/'@x[1, "a"] = (5, "b"); let $v; if (find(@x, (1, "a"), $v)) { print($v); } if (!find(@x, (2, "a"), $v)) { print($v); } clear(@x);'}" |
		grep . | tr '\n' ' ')" "(5, b) (5, b) " "${block%% *}...: find() sets the variable where the key is there"
done
for key in '$i++' rand '(1, nsecs)'; do
	exits 1 "find() with the key $key" "$SONDE" run -e "begin { \$i = 1; @m[1] = 2; if (find(@m, $key, \$v)) { print(\$v); } }"
	like "$err" 'find\(\) evaluates its key twice: put it into a variable first' "which may be another one the second time"
done
run -e 'begin { errorf("bad %d", 1);
	warnf("so so\n"); @n = 1; @n == 2;
	_ = @n == 3; exit(); }' >out.txt 2>err.txt
is "$(grep -c '^ERROR: line 1: bad 1$' err.txt) $(grep -c '^WARNING: line 2: so so$' err.txt)" "1 1" "errorf() and warnf() end with a newline and say where they are" || diag "$(cat err.txt)"
is "$(grep -c 'the value is not used' err.txt)" 1 "a statement without an effect is a warning; one that is discarded is not"
is "$(prints 'BEGIN { printf("%d %d\n", cpid, has_cpid); }')" "0 0" "which there may not be"

run -k -e 'BEGIN { printf("%s|", str(0));
	print(*(uint64*)8); exit(); }' >out.txt 2>err.txt
is "$(grep -c 'WARNING: line [12]: begin: cannot read memory: Bad address' err.txt)" 2 "-k: reads that fail are reported with their lines" || diag "$(cat err.txt)"
is "$(run -e 'BEGIN { print(*(uint64*)8); }' 2>&1 | grep .)" 0 "else they read as 0"

# end blocks run here: no verifier follows their loops, and loops over maps go by the printed order
is "$(prints 'BEGIN { exit(); } END { $i = 0; $s = 0; while ($i < 300) { $j = 0; while ($j < 1000) { @n[$j % 3] = $j; $s += 1; $j++; } $i++; }
	printf("%d\n", $s); for ($kv : @n) { for ($o : @n) { printf("%d", $kv.0 * 10 + $o.0); } } clear(@n); @n[7] = 1; @c = count(); print(@c); }' | tr '\n' ' ')" \
	"300000 111210212220120@c: 1 @c: 1 @n[7]: 1 " "an end block of 300,000 rounds, loops in order, clear() at once"
is "$(prints 'BEGIN { @c[1] = count(); @c[1] = count(); @a = avg(4); @a = avg(8); exit(); } END { @c[1] = count(); $n = (int64)@a;
	for ($kv : @c) { printf("%d=%d\n", $kv.0, $kv.1); } printf("%d %d %d %s\n", $n, len(@c), has_key(@c, 2), "x"); clear(@c); clear(@a); }' | tr '\n' ' ' | cut -d' ' -f1-5)" \
	"1=3 6 1 0 x" "an end block reads and adds to what all CPUs counted"
is "$(prints 'BEGIN { exit(); } END { printf("%d\n", pid > 0); } END { exit(3); } END { print("never"); }' | head -1)" 1 "what only the kernel knows runs there, in its order"
"$SONDE" run -e 'END { printf("here\n"); $i = 0; while ($i < 20000) { $i++; printf("%64d\n", $i); } while (1) { @x++; } }' >out.txt 2>err.txt &
pid=$!
wait_until grep -q here out.txt
kill -TERM $pid
wait $pid
like "$(cat err.txt)" "end was interrupted" "an end block that never ends can be interrupted"

# the same as bpftrace 0.17 prints, called by its name; in guests that takes it 5 s each
ln -s "$SONDE" bpftrace
same() {
	local name=$1 script=$2
	[ "$SONDE_GUEST" = host ] || { skip "compared on the host" "$name"; return; }
	needs_or_skip "$name" bpftrace && return
	bpftrace -e "$script" 2>peer.txt | grep -v '^Attaching' | grep . >want.txt
	timeout 120 ./bpftrace -e "$script" 2>err.txt | grep -v '^Attaching' | grep . >got.txt
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
# A program that returns 0 at a tracepoint would hide the event from all others. Shells call getppid, too, whoever starts one meanwhile.
run -e "tracepoint:syscalls:sys_enter_getppid /comm == \"$(basename "$SONDE")\"/ { @ = count(); }" \
	-c "$SONDE stat -x, -e syscalls:sys_enter_getppid -- $SONDE workload syscalls 100" >out.txt 2>err.txt
is "$(grep -c '^@: 100$' out.txt),$(grep -o '^[0-9]*,,syscalls:sys_enter_getppid' err.txt)" "1,100,,syscalls:sys_enter_getppid" \
	"a script at a tracepoint leaves the event to others"
# A descriptor is an int, though its register has 64 bits: AT_FDCWD is -100, however the program set it.
run -e 'tracepoint:syscalls:sys_enter_openat /pid == cpid/ { @[args.dfd] = count(); @size = sizeof(args.dfd); }' -c "cat /dev/null" >out.txt 2>err.txt
like "$(cat out.txt)" '^@\[-100\]: [1-9]' "arguments of system calls have the size of their type" || diag "$(cat out.txt err.txt)"
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
# events as the other verbs call them
run -e 'sched:sched_switch { @[probe] = count(); @ok[args.next_pid >= 0] = count(); }' -c 'sleep 0.1' >out.txt 2>err.txt
like "$(cat out.txt)" '^@\[tracepoint:sched:sched_switch\]: [1-9]' "SYSTEM:EVENT is a tracepoint" || sed 's/^/# /' err.txt
run -e 'page-faults { @[probe] = count(); } sched:sched_process_e* { @e[probe] = count(); }' -c /bin/true >out.txt 2>err.txt
like "$(cat out.txt)" '^@e\[tracepoint:sched:sched_process_exit\]: [1-9]' "so is a pattern" || sed 's/^/# /' err.txt
run -e 'kprob:vfs_read { }' >out.txt 2>err.txt
like "$(cat err.txt)" "did you mean 'kprobe'" "but a slip is one"
# iterators, signals to sonde itself
like "$(prints "iter:task { if (ctx->task->pid == $$) { printf(\"%s\n\", ctx->task->comm); } }")" '^(bash|run\.t)$' "an iterator over tasks" || sed 's/^/# /' err.txt
like "$(prints 'iter:task_file { @ = count(); }')" '^@: [1-9]' "and over their files"
"$SONDE" run -q -e 'self:signal:SIGUSR1 { printf("signal\n"); exit(); }' >out.txt 2>err.txt &
pid=$!
wait_until catches $pid USR1
kill -USR1 $pid
wait $pid
is "$?.$(cat out.txt)" 0.signal "a signal to the script itself"
# -p: only that process, but clocks go on
bash -c 'while :; do echo; done' >/dev/null &
pid=$!
of_pid='tracepoint:raw_syscalls:sys_enter { @[pid] = count(); } interval:ms:100 { @ticks++; if (@ticks > 5) { exit(); } }'
run -p $pid -e "$of_pid" >out.txt 2>err.txt
is "$(sed -n 's/^@\[\([0-9]*\)\]: .*/\1/p' out.txt)" $pid "-p: system calls of one process, and clocks" || sed 's/^/# /' err.txt
kill $pid
wait $pid 2>/dev/null
# -G: only tasks of a control group and those below it
cgroups=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
if [ -z "$cgroups" ] || ! mkdir "$cgroups/sonde-test.$$" 2>/dev/null || ! mkdir "$cgroups/sonde-test.$$/below"; then
	skip "no cgroup2 that can be written to" "-G"
else
	group=$cgroups/sonde-test.$$
	bash -c "echo \$\$ >$group/below/cgroup.procs; while :; do /bin/true; done" &
	pid=$!
	inside() { grep -q . "$group/below/cgroup.procs"; }
	wait_until inside
	by_group='tracepoint:raw_syscalls:sys_enter { @[cgroup] = count(); @n++; if (@n > 100) { exit(); } } interval:s:100 { exit(); }'
	run -G "$group" -e "$by_group" >out.txt 2>err.txt
	is "$(sed -n 's/^@\[\([0-9]*\)\]: .*/\1/p' out.txt)" "$(stat -c %i "$group/below")" "-G: system calls of a control group" || sed 's/^/# /' out.txt err.txt
	run -G "/sonde-test.$$/below" --dry-run -e "$by_group" >out.txt 2>err.txt
	is $? 0 "by its path in the hierarchy"
	kill $pid
	wait $pid 2>/dev/null
	empty() { ! grep -q . "$group/below/cgroup.procs"; }
	wait_until empty
	rmdir "$group/below" "$group"
	run -G /nosuch-group -e 'BEGIN { }' >out.txt 2>err.txt
	is $? 1 "a control group that is not there"
fi
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

flood() { dd if=/dev/zero of=/dev/null bs=1 count=100000 status=none; grep -q 'so far: .* records lost' err.txt; }
"$SONDE" run -v -e 'config = { perf_rb_pages = 1 } tracepoint:syscalls:sys_enter_read /comm == "dd"/ { printf("%s %s %s %s\n", comm, comm, comm, comm); }' >/dev/null 2>err.txt &
pid=$!
wait_until catches $pid INT
wait_until flood
ok $? "with -v it is told during the run, too" || tail -5 err.txt | sed 's/^/# /'
kill -INT $pid
wait $pid
like "$(cat err.txt)" 'perf_rb_pages = 4 ' "and the hint is about a larger buffer than the one that was full"

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
like "$("$SONDE" run -lv 'tracepoint:sched:sched_switch')" '^    pid_t next_pid' "-lv as bpftrace takes it"

if [ -e /sys/kernel/btf/vmlinux ]; then
	is "$("$SONDE" run -l 'struct task_struct')" "struct task_struct" "-l of the kernel's types"
	like "$("$SONDE" run -lv 'struct task_struct')" '^    pid_t tgid$' "with their members"
	like "$("$SONDE" run -lv 'enum pid_type')" '^    PIDTYPE_TGID = 1$' "and values"
else
	skip "kernel without BTF" "-l of the kernel's types"
fi

# systemd learns when all is attached
cat >notify.py <<'END'
import os, socket, subprocess, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("notify.socket")
s.settimeout(100)
p = subprocess.Popen(sys.argv[1:], env=dict(os.environ, NOTIFY_SOCKET=os.path.abspath("notify.socket")))
print(s.recv(100).decode())
p.terminate()
p.wait()
END
is "$(python3 notify.py "$SONDE" run -q -e 'interval:s:100 { }' 2>/dev/null)" READY=1 "READY=1 for systemd"

# stages
like "$(run -d verifier -e 'BEGIN { printf("ran\n"); }')" '^processed [0-9]+ insns' "-d verifier: its words"
unlike "$(run -d verifier -e 'BEGIN { printf("ran\n"); }')" '^ran' "and nothing runs"
run -d nosuch -e 'BEGIN { }' >out.txt 2>err.txt
is $? 129 "a stage that is not there"
run -e 'BEGIN { system("true"); }' >out.txt 2>err.txt
is $? 1 "system() is refused"
like "$(cat err.txt)" 'allow it with --unsafe' "unless --unsafe allows it"
is "$(run --unsafe -e 'BEGIN { system("echo from the shell"); }' 2>err.txt)" "from the shell" "with --unsafe it runs"

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
