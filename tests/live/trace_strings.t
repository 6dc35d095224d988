#!/usr/bin/env bash
# `sonde trace`: names, buffers and structures that arguments point to, copied by BPF programs; what is shown where they may not be loaded.
# where: host 6.1
# needs: root
# timeout: 300
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events python3
cd "$SONDE_TMP" || exit 1

# ---- names and buffers
exits 1 "a command" "$SONDE" trace -- cat /nonexistent/file
like "$out" '^ +0\.000 \( *[0-9.]+ ms\): cat/[0-9]+ execve\(filename: "[^"]*/cat", argv: \["cat", "/nonexistent/file"\], envp: 0x[0-9a-f]+\) = 0$' \
	"from its exec on, with its arguments"
is "$(grep -c ' execve(' <<<"$out")" 1 "and no exec that failed before"
like "$out" ' openat\(dfd: CWD, filename: "/nonexistent/file"(, flags: [A-Z|]+)?\) += -1 ENOENT' "the name of a file"
# More than 255 digits, so that a name is not cut where a buffer is.
long=$(printf 'd%.0s/' $(seq 300))
printf 'line\none \033[31m"quoted" back\\slash \001\0012 \303\251\377' >odd
odd='line\\none \\33\[31m\\"quoted\\" back\\\\slash \\1\\0012 é\\377'
cat >words.py <<'END'
import os, sys
os.write(1, open("odd", "rb").read())
try:
    os.open(sys.argv[1] + "\n\33]0;x\7", 0)
except OSError:
    pass
END
exits 0 "--string-limit" "$SONDE" trace -o lines --string-limit 100 -e write,openat -- python3 words.py "$long"
like "$(cat lines)" " write\\(fd: 1(<[^>]*>)?, buf: \"$odd\", count: [0-9]+\\)" "what does not print is escaped"
like "$(cat lines)" "filename: \"$long\\\\n\\\\33\\]0;x\\\\a\"" "a long name is whole, and its controls are text"
unlike "$(cat -v lines)" '\^\[' "no control character is left"
exits 0 "a buffer" "$SONDE" trace -o lines -e write,read -- dd if=/dev/zero of=/dev/null bs=100 count=3 status=none
zeros=$(printf '\\\\0%.0s' $(seq 32))
is "$(grep -cE " write\\(fd: 1(<[^>]*>)?, buf: \"$zeros\"\.\.\., count: 100\\) += 100$" lines)" 3 "32 bytes at the entry"
is "$(grep -cE " read\\(buf: \"$zeros\"\.\.\., count: 100\\) += 100$| read\\(fd: [0-9]+(<[^>]*>)?, buf: \"$zeros\"\.\.\., count: 100\\) += 100$" lines)" 3 \
	"and at the end, where the kernel filled it"
exits 0 "--string-limit 0" "$SONDE" trace -o lines --string-limit 0 -e write,openat -- dd if=/dev/zero of=/dev/null bs=100 count=3 status=none
is "$(grep -cE ' write\(fd: 1(<[^>]*>)?, buf: 0x[0-9a-f]+, count: 100\)' lines)" 3 "no buffers"
like "$(cat lines)" 'openat\(.*filename: "/dev/zero"' "but names"
exits 0 "--no-strings" "$SONDE" trace -o lines --no-strings -e openat -- cat /dev/null
like "$(cat lines)" 'filename: 0x[0-9a-f]+' "pointers"
unlike "$(cat lines)" 'filename: "' "only"

# ---- a name whose page is not there when the call begins
cat >late.py <<'END'
import ctypes, os
with open("page", "wb") as f:
    f.write(b"/late/name\0" + bytes(8192))
f = open("page", "rb")
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.open(ctypes.c_void_p(libc.mmap(None, 4096, 1, 2, f.fileno(), 0)), 0)
libc.open(ctypes.c_void_p(8), 0)
END
# A call of somebody else in between splits the line in two, of which the second has no arguments: once more then.
call() { echo "open(at)?\\((dfd: CWD, )?filename: $1(, flags: RDONLY)?\\) += -1 $2"; }
for all in '' -a; do
	whole() { "$SONDE" trace $all -o lines -e openat,open -- python3 late.py 2>late.err && grep -qE "$(call 0x8 EFAULT)" lines && ! grep -q 'python3/.*continued' lines; }
	wait_until whole
	ok $? "what is nowhere stays a pointer $all" || diag "$(tail -5 lines)" "$(cat late.err)"
	like "$(cat lines)" "$(call '"/late/name"' ENOENT)" "a page that is not there is read at the end $all"
done

# ---- structures
cat >structures.py <<'END'
import os, resource, select, signal, socket, time
for family, address in ((socket.AF_INET, ("127.0.0.1", 9)), (socket.AF_UNIX, "/no/such\n"), (socket.AF_UNIX, "\0abstract")):
    s = socket.socket(family, socket.SOCK_STREAM)
    try:
        s.connect(address)
    except OSError:
        pass
s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
s.bind((4242, 1))
r, w = os.pipe()
os.writev(w, [b"abc", b"defg"])
e = select.epoll()
e.register(r, select.EPOLLIN | select.EPOLLET)
e.poll(1)
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP, signal.SIGTERM])
resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
pid = os.fork()
if not pid:
    os._exit(3)
os.waitpid(pid, 0)
os.stat("/dev/null")
END
exits 0 "structures" "$SONDE" trace -o lines -- python3 structures.py
lines=$(cat lines)
like "$lines" ' connect\(fd: [0-9]+(<[^>]*>)?, uservaddr: \{ \.family: INET, port: 9, addr: 127\.0\.0\.1 \}, ' "an address of the internet"
like "$lines" ' connect\(fd: [0-9]+(<[^>]*>)?, uservaddr: \{ \.family: LOCAL, path: "/no/such\\n" \}, ' "of a file"
like "$lines" ' connect\(fd: [0-9]+(<[^>]*>)?, uservaddr: \{ \.family: LOCAL, path: @"abstract" \}, ' "an abstract one"
like "$lines" ' bind\(fd: [0-9]+(<[^>]*>)?, umyaddr: \{ \.family: NETLINK, pid: 4242, groups: 0x1 \}, ' "of the kernel"
like "$lines" ' pipe2\(fildes: \[[0-9]+, [0-9]+\], flags: CLOEXEC\) += 0$' "a pipe's ends"
like "$lines" ' writev\(fd: [0-9]+(<[^>]*>)?, vec: \[\{ \.iov_len: 3 \}, \{ \.iov_len: 4 \}\], vlen: 2\) += 7$' "vectors"
like "$lines" ' epoll_ctl\(.*event: \{ \.events: IN\|ET, \.data: 0x[0-9a-f]+ \}\) += 0$' "what is waited for"
like "$lines" ' epoll_wait\(.*events: \{ \.events: IN, .*maxevents: ' "and what came"
like "$lines" ' rt_sigaction\(sig: USR1, act: \{ \.sa_handler: SIG_IGN, \.sa_flags: 0x[0-9a-f]+, \.sa_mask: \[\] \}, oact: \{ \.sa_handler: SIG_DFL' "a handler"
like "$lines" ' rt_sigprocmask\(how: BLOCK, nset: \[HUP TERM\], ' "a set of signals"
like "$lines" ' prlimit64\(resource: CORE, new_rlim: \{ \.rlim_cur: 0, \.rlim_max: ' "a limit"
like "$lines" 'wait4\((upid: [0-9]+, )?stat_addr: \{ \.exit: 3 \}' "how a child ended"
like "$lines" ' newfstatat\(dfd: CWD, filename: "/dev/null", statbuf: \{ \.st_mode: CHR\|0666, \.st_size: 0 \}\) += 0$' "a file's attributes"

# ---- whose calls
exits 0 "children" "$SONDE" trace -o lines -e openat -- sh -c '(cat /dev/null) & wait; cat /proc/version >/dev/null'
like "$(cat lines)" ' cat/[0-9]+ openat\(.*"/dev/null"' "of a child"
like "$(cat lines)" ' cat/[0-9]+ openat\(.*"/proc/version"' "and of another"
cat >threads.py <<'END'
import os, threading
t = threading.Thread(target=lambda: os.execv("/bin/cat", ["cat", "/nonexistent/after"]))
t.start()
t.join()
END
exits 1 "exec in a thread" "$SONDE" trace -o lines -e openat -- python3 threads.py
like "$(cat lines)" ' cat/[0-9]+ openat\(.*"/nonexistent/after"' "goes on being followed"
mkfifo pipe
bash -c 'while read -r line; do echo "$line" >/dev/null; done <pipe' & loop=$!
trap 'kill -9 $loop 2>/dev/null; rm -rf "$SONDE_TMP"' EXIT
exec 3>pipe
"$SONDE" trace -p $loop -e write -o attached 2>attached.err & tracer=$!
wait_until counts_events $tracer
fed() { echo 'some words' >&3; grep -q "bash/$loop write(fd: 1</dev/null>, buf: \"some words\\\\n\", count: 11)" attached; }
wait_until fed
ok $? "-p: of a running process" || diag "$(head -3 attached) $(cat attached.err)"
"$SONDE" trace -a -e write -o all 2>all.err & everybody=$!
wait_until counts_events $everybody
fed() { echo 'other words' >&3; grep -q "bash/$loop write(fd: 1, buf: \"other words" all; }
wait_until fed
ok $? "-a: of everybody" || diag "$(head -3 all) $(cat all.err)"
unlike "$(cat all)" "/$everybody write" "but not of ourselves"
"$SONDE" trace -C "$(cat /sys/devices/system/cpu/online)" -e write -o cpus 2>cpus.err & cpus=$!
"$SONDE" trace -a -p $loop -e write,clock_nanosleep -o both 2>both.err & both=$!
wait_until counts_events $cpus
wait_until counts_events $both
fed() { echo 'more words' >&3; grep -q "bash/$loop write(fd: 1, buf: \"more words" cpus && grep -q "bash/$loop write.*more words" both; }
sleep 1000 & sleeper=$!
wait_until fed
ok $? "-C: of everybody on these CPUs" || diag "$(head -3 cpus) $(cat cpus.err)"
unlike "$(grep -v "^ *[0-9.]* ([^)]*): bash/$loop " both)" '^ *[0-9.]* \(' "-a -p: of the process alone, as it says"
kill $sleeper
kill -INT $tracer $everybody $cpus $both
wait $tracer $everybody $cpus $both
exec 3>&-
wait $loop

# ---- JSON
exits 0 "--json" "$SONDE" trace --json -e openat,pipe2,write -- python3 -c 'import os; os.pipe(); os.write(2, b"a\"b\n")'
is "$(python3 -c '
import json, sys
lines = [json.loads(l) for l in sys.stdin]
print({type(l["args"]["filename"]) is str for l in lines if l.get("syscall") == "openat"},
      [l["args"]["fildes"] for l in lines if l.get("syscall") == "pipe2"],
      [l["args"]["buf"] for l in lines if l.get("syscall") == "write"][-1:])' <<<"$out")" "{True} ['[3, 4]'] ['a\"b\\n']" \
	"text as it is, structures as text"

# ---- without BPF
if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 2 ]; then
	skip "no events at all without CAP_SYS_ADMIN here: perf_event_paranoid" "without CAP_BPF"
else needs_or_skip "without CAP_BPF" capsh || {
	exits 0 "without CAP_BPF" capsh --drop=cap_bpf,cap_sys_admin -- -c "'$SONDE' trace -o lines -e openat -- cat /dev/null"
	is "$(grep -c 'strings and structures of system calls are not shown: no permission to load BPF programs' <<<"$err")" 1 "what is missing is said once"
	like "$(cat lines)" 'openat\(dfd: CWD, filename: 0x[0-9a-f]+' "and all else goes on"
}; fi
done_testing
