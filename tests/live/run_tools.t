#!/usr/bin/env bash
# where: host 6.1 6.12
# needs: root bpf tracefs
# timeout: 300
# The ready scripts of `run`: each loads and attaches on every kernel (those on functions of the kernel where there are kprobes or fentry), and
# some see what is done for them to see.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root bpf tracefs uprobes
cd "$SONDE_TMP" || exit 1
run() { timeout 100 "$SONDE" run -q "$@"; }
me=t$$
ln -s "$SONDE" $me

"$SONDE" run -L >tools.txt
like "$(cat tools.txt)" '^opensnoop +Which files are opened' "-L lists scripts by their question"
like "$("$SONDE" run opensnoop --help)" 'usage: sonde run opensnoop' "each documents itself"
is "$(sed 's/ .*//' tools.txt | while read -r tool; do "$SONDE" run "$tool" --help | grep -q "^usage: sonde run $tool" || echo "$tool"; done)" "" \
	"all of them, by their name"
is "$(sed 's/ .*//' tools.txt)" "$(cd "$SONDE_SRC/scripts" && ls ./*.bt | sed 's|^\./||; s/\.bt$//' | LC_ALL=C sort)" "they are the files of scripts/"

# What is given to those that take something.
arguments() {
	case $1 in
	funccount) echo 'vfs_r*' ;;
	funclatency) echo vfs_read ;;
	argdist) echo vfs_read 3 ;;
	ufunccount) echo libc 'getp*id' ;;
	ufunclatency) echo libc getaddrinfo ;;
	tpcount) echo sched 'sched_process_*' ;;
	esac
}
fentry=$("$SONDE" run --info | grep -c '^  fentry .* yes')
load_tool() {
	local line=$1 tool=${1%% *} args
	[[ $line != *'(needs kprobes)' ]] || [ -e "$tracefs/kprobe_events" ] || return 0
	[[ $line != *'(needs fentry)' ]] || [ "$fentry" = 1 ] || return 0
	read -ra args <<<"$(arguments "$tool")"
	timeout 120 "$SONDE" run -q --dry-run "$tool" "${args[@]}" >"try.$tool" 2>&1 || { echo "$tool"; sed "s/^/# $tool: /" "try.$tool" >&2; }
}
export -f load_tool arguments
export SONDE tracefs fentry
is "$(tr '\n' '\0' <tools.txt | xargs -0 -P 4 -I{} bash -c 'load_tool "{}"')" "" "all ready scripts load and attach"
if ! needs_or_skip "those on functions of the kernel" kprobes; then
	is "$(grep 'needs kprobes' tools.txt | while read -r tool _; do [ -e "try.$tool" ] || echo "$tool"; done)" "" "those on functions of the kernel, too"
fi

# It sees all processes, and others may open so many that records are lost.
opens() {
	run -c "bash -c 'true </etc/hostname'" opensnoop >out.txt 2>err.txt
	grep -Eq 'bash +[0-9]+ /etc/hostname' out.txt
}
wait_until opens
ok $? "opensnoop: what a command opens" || diag "$(cat err.txt)"
run -c "./$me workload syscalls 5" syscount >out.txt 2>err.txt
like "$(cat out.txt)" "^@programs\\[$me\\]: [1-9]" "syscount: its system calls" || diag "$(cat err.txt)"
run -c "./$me workload usdt 3" ufunccount "$SONDE" 'workload_usd*' >out.txt 2>err.txt
like "$(cat out.txt)" "^@calls\\[uprobe:[^,]*:workload_usdt, $me\\]: 1\$" "ufunccount: a function of a program, by pattern" || diag "$(cat out.txt err.txt)"
run -c "./$me workload usdt 3" ufunclatency "$SONDE" workload_usdt >out.txt 2>err.txt
is "$(sed -n 's/^\[.*) *\([0-9]*\) |.*/\1/p' out.txt | awk '{ n += $1 } END { print n }')" 1 "ufunclatency: its one call" || diag "$(cat out.txt err.txt)"
run -c "./$me workload forks 20" tpcount sched 'sched_process_f*' >out.txt 2>err.txt
[ "$(sed -n 's/^@events\[tracepoint:sched:sched_process_fork\]: //p' out.txt)" -ge 20 ] 2>/dev/null
ok $? "tpcount: events by name" || diag "$(cat out.txt err.txt)"
printf abc >small.txt
run -c 'dd if=small.txt of=/dev/null status=none' fileslower >out.txt 2>err.txt
like "$(cat out.txt)" ' dd +R +3 +[0-9]+ small\.txt$' "fileslower: a read, its bytes and its file" || diag "$(cat out.txt err.txt)"
if ! needs_or_skip "mountsnoop" unshare; then
	run -c "unshare -m bash -c 'mkdir m; mount -t tmpfs src$me m; umount m'" mountsnoop >out.txt 2>err.txt
	like "$(cat out.txt)" " mount src$me [^ ]*m tmpfs" "mountsnoop: a mount" || diag "$(cat out.txt err.txt)"
fi
cat >connect.py <<'END'
import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen(1)
c = socket.create_connection(s.getsockname())
d, _ = s.accept()
c.sendall(b"x" * 1000)
d.recv(1000, socket.MSG_WAITALL)
c.close()
d.close()
print("port", s.getsockname()[1], flush=True)
END
[ ! -e /sys/class/net/lo ] || ip link set lo up 2>/dev/null
if ! needs_or_skip "connections" python3; then
	run -c 'python3 connect.py' tcpconnect >out.txt 2>err.txt
	port=$(sed -n 's/^port //p' out.txt)
	like "$(cat out.txt)" " python3 +127\\.0\\.0\\.1 +$port\$" "tcpconnect: program, address and port" || diag "$(cat out.txt err.txt)"
	run -c 'python3 connect.py' tcplife >out.txt 2>err.txt
	port=$(sed -n 's/^port //p' out.txt)
	like "$(cat out.txt)" " python3 +[0-9]+ +$port +127\\.0\\.0\\.1 +100[0-2] +[01] +[0-9]+\$" "tcplife: what a connection carried" || diag "$(cat out.txt err.txt)"
	run -c 'python3 -c "import threading; t = threading.Thread(target=print); t.start(); t.join()"' threadsnoop >out.txt 2>err.txt
	like "$(cat out.txt)" '^[0-9]+ +python3 +[^ ]' "threadsnoop: a thread and its function" || diag "$(cat out.txt err.txt)"
fi
if ! needs_or_skip "functions of the kernel" kprobes; then
	run -c 'dd if=/dev/zero of=/dev/null bs=1000 count=7 status=none' funccount 'vfs_rea*' >out.txt 2>err.txt
	[ "$(sed -n 's/^@calls\[vfs_read\]: //p' out.txt)" -ge 7 ] 2>/dev/null
	ok $? "funccount: calls by pattern" || diag "$(cat out.txt err.txt)"
	run -c 'dd if=/dev/zero of=/dev/null bs=100000 count=7 status=none' argdist vfs_read 3 >out.txt 2>err.txt
	like "$(cat out.txt)" '^\[64K, 128K\) +([7-9]|[1-9][0-9]+) \|' "argdist: values of an argument" || diag "$(cat out.txt err.txt)"
	run -c 'dd if=/dev/zero of=/dev/null bs=1000 count=7 status=none' funclatency vfs_read >out.txt 2>err.txt
	[ "$(sed -n 's/^\[.*) *\([0-9]*\) |.*/\1/p' out.txt | awk '{ n += $1 } END { print n + 0 }')" -ge 7 ]
	ok $? "funclatency: times of calls" || diag "$(cat out.txt err.txt)"
fi
done_testing
