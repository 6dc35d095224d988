#!/usr/bin/env bash
# `sonde trace`: what descriptors stand for, through copies, children and execs; also where other calls are asked for.
# where: host 6.1
# needs: root bpf
# timeout: 200
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events bpf python3
cd "$SONDE_TMP" || exit 1
echo some text >file
cat >calls.py <<'END'
import fcntl, os, socket
fd = os.open("file", os.O_RDONLY)
os.read(fd, 1)
os.dup2(fd, 100)
os.read(100, 2)
os.close(100)
os.read(fd, 3)
os.dup2(fd, 101, inheritable=True)
d = os.open("/proc/self", os.O_RDONLY)
os.close(os.open("status", os.O_RDONLY, dir_fd=d))
os.close(fcntl.fcntl(d, fcntl.F_DUPFD, 200))
r, w = os.pipe()
os.write(w, b"x")
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen()
c = socket.create_connection(s.getsockname())
c.send(b"yy")
odd = os.open("odd\33\n>", os.O_RDWR | os.O_CREAT)
os.write(odd, b"z")
os.close(odd)
pid = os.fork()
if not pid:
    os.lseek(101, 5, 0)
    os.execv("/bin/cat", ["cat", "/proc/self/fd/101"])
os.waitpid(pid, 0)
try:
    os.read(300, 9)
except OSError:
    pass
END
check() {
	like "$1" ' read\(fd: [0-9]+<file>, buf: "s", count: 1\) += 1$' "$2: a file by its name"
	like "$1" ' read\(fd: 100<file>, buf: "om", count: 2\) += 2$' "$2: a copy"
	like "$1" ' read\(fd: [0-9]+<file>, buf: "e t", count: 3\) += 3$' "$2: that was closed alone"
	like "$1" ' write\(fd: [0-9]+<pipe>, buf: "x", count: 1\) += 1$' "$2: a pipe"
	like "$1" ' sendto\(fd: [0-9]+<127\.0\.0\.1:[0-9]+>, ' "$2: a connection by where it leads"
	like "$1" ' write\(fd: [0-9]+<odd\\x1b\\n>>, buf: "z", count: 1\) += 1$' "$2: a name is no more than text"
	like "$1" ' lseek\(fd: 101<file>, offset: 5(, whence: SET)?\) += 5$' "$2: a child has what its parent has"
	like "$1" ' read\(fd: 300, buf: 0x[0-9a-f]+, count: 9\) += -1 EBADF' "$2: what was never opened has no name"
}
exits 0 "all calls" "$SONDE" trace -o all -- python3 calls.py
check "$(cat all)" "all calls"
like "$(cat all)" ' openat\(dfd: [0-9]+</proc/self>, filename: "status", flags: RDONLY' "the directory of a name"
like "$(cat all)" ' close\(fd: [0-9]+</proc/self/status>\)' "which is part of the whole name"
like "$(cat all)" ' close\(fd: 200</proc/self>\)' "a copy by fcntl"
exits 0 "some calls" "$SONDE" trace -o some -e read,write,sendto,lseek -- python3 calls.py
check "$(cat some)" "some calls"
is "$(grep -vcE ' (read|write|sendto|lseek)\(' some)" 0 "some calls: only these"
exits 0 "-s" "$SONDE" trace -s -o table -e read -- python3 calls.py
is "$(grep -cE '^   (openat|close|dup2|clone|fork|execve) ' table)" 0 "-s: what was only followed is not counted"
like "$(cat table)" '^   read ' "-s: the others are"
exits 0 "before" "$SONDE" trace -o before -e read -- sh -c 'read line' <file
like "$(cat before)" " sh/[0-9]+ read\\((fd: 0<[^>]*/file>, )?buf: \"" "what a command finds open"
exec 5<file
exits 0 "exec" "$SONDE" trace -o execd -e lseek,read -- python3 -c 'import os; os.set_inheritable(5, True); os.execv("/usr/bin/env", ["env", "head", "-c", "4", "/proc/self/fd/5"])'
like "$(cat execd)" ' head/[0-9]+ read\(fd: 3</proc/self/fd/5>, buf: "some' "after two execs"
exits 0 "--no-fd-names" "$SONDE" trace --no-fd-names -o none -e read -- python3 calls.py
unlike "$(cat none)" 'fd: [0-9]+<' "--no-fd-names: numbers only"
like "$(cat none)" ' read\(fd: [0-9]+, buf: "s", count: 1\)' "--no-fd-names: and the rest as before"

# A process that runs already.
mkfifo pipe
bash -c 'exec 7</etc/passwd; while read -r line; do read -r -u 7 other; done <pipe' & loop=$!
trap 'kill -9 $loop 2>/dev/null; rm -rf "$SONDE_TMP"' EXIT
exec 3>pipe
"$SONDE" trace -p $loop -e read -o attached 2>attached.err & tracer=$!
wait_until counts_events $tracer
fed() { echo line >&3; grep -q "bash/$loop read(fd: 7</etc/passwd>, buf: \"" attached; }
wait_until fed
ok $? "-p: what was opened before" || diag "$(head -3 attached) $(cat attached.err)"
kill -INT $tracer
wait $tracer
exec 3>&-
wait $loop
done_testing
