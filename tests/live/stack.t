#!/usr/bin/env bash
# `sonde stack`: threads that sleep, run, handle a signal and are stopped; the same frames as gdb's, of the process and of its core; a
# process that goes on afterwards; what is refused.
# where: host
# needs: root
# timeout: 120
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root gcc python3

cd "$SONDE_TMP" || exit 1
export HOME=$SONDE_TMP
unset DEBUGINFOD_URLS
cat >planted.c <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
volatile unsigned long sum, beats;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
__attribute__((noinline)) void wait_inner(void) { pthread_mutex_lock(&held); sum++; }
__attribute__((noinline)) void wait_outer(int n) { if (n) wait_outer(n - 1); else wait_inner(); sum++; }
__attribute__((noinline)) void spin_here(void) { for (;;) sum++; }
__attribute__((noinline)) void on_signal(int s) { for (;;) pause(); }
static void *waiter(void *p) { wait_outer(3); return p; }
static void *spinner(void *p) { spin_here(); return p; }
static void *handler(void *p) { signal(SIGUSR1, on_signal); pthread_kill(pthread_self(), SIGUSR1); return p; }
/* A sleep that must not end early when somebody looks. */
static void *sleeper(void *p)
{
	for (;;) {
		struct timespec left = { .tv_nsec = 20000000 };
		if (nanosleep(&left, NULL))
			puts("interrupted"), fflush(stdout);
		beats++;
	}
	return p;
}
__attribute__((noinline)) void last_stop(void) { for (;;) pause(); }
int main(void)
{
	pthread_t t;
	pthread_mutex_lock(&held);
	pthread_create(&t, NULL, waiter, NULL);
	pthread_create(&t, NULL, spinner, NULL);
	pthread_create(&t, NULL, handler, NULL);
	pthread_create(&t, NULL, sleeper, NULL);
	puts("ready");
	fflush(stdout);
	last_stop();
}
END
gcc -O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls -pthread -o planted planted.c 2>/dev/null
ok $? "a program is built" || { done_testing; exit; }
nice ./planted >said &
pid=$!
trap 'kill -9 $pid 2>/dev/null; rm -rf "$SONDE_TMP"' EXIT
settled() { "$SONDE" stack --no-lines $pid 2>/dev/null >seen; grep -q on_signal seen && grep -q last_stop seen && grep -q wait_inner seen && grep -q spin_here seen; }
wait_until settled
ok $? "all threads are where they stay"

exits 0 "stack PID" "$SONDE" stack $pid
like "$out" "^thread $pid \\(planted\\) S$" "the first thread"
like "$out" '^#[0-9]+ +0x[0-9a-f]{16}  last_stop\+0x[0-9a-f]+ \(planted\) .*planted\.c:[0-9]+$' "its function, with file and line"
like "$out" '^#[0-9]+ +0x[0-9a-f]{16}  main\+0x' "and its caller"
is "$(printf '%s\n' "$out" | grep -c '  wait_outer+0x')" 4 "recursion, as deep as it is"
like "$out" '^#0 +0x[0-9a-f]{16}  spin_here\+0x' "a thread that runs"
like "$out" '  on_signal\+0x' "a signal handler"
like "$(printf '%s\n' "$out" | sed -n '/on_signal/,/^$/p')" '  handler\+0x' "and what the signal interrupted"
if [ -r /proc/self/stack ] && grep -q . /proc/$pid/stack; then
	like "$out" '^#[0-9]+ +\[kernel\] +.*pause' "where it sleeps in the kernel"
else
	skip "/proc/PID/stack is empty here" "where it sleeps in the kernel"
fi
unlike "$out" '^ +\.\.\.' "every stack is whole"
is "$err" "" "nothing to complain about"

# A thread that runs in the kernel: one sample has both sides of it. dd spends nearly all its time in read(), each call 64 MB.
dd if=/dev/zero of=/dev/null bs=64M 2>/dev/null &
reader=$!
trap 'kill -9 $pid $reader 2>/dev/null; rm -rf "$SONDE_TMP"' EXIT
burn 5 $reader
in_kernel() { "$SONDE" stack --no-lines $reader 2>/dev/null >seen; grep -q '\[kernel\] .*read' seen && grep -qE '^#[0-9]+ +0x[0-9a-f]{16}  (__)?(libc_)?read' seen; }
if "$SONDE" record -q -e cpu-clock -o - -p $reader -- sleep 0.1 >/dev/null 2>&1; then
	wait_until in_kernel
	ok $? "a thread that runs in the kernel: what it does there, and the call of its program" || diag "$(cat seen)"
	like "$(head -2 seen)" '^#0 +\[kernel\] ' "the kernel's frames come first"
	like "$(cat seen)" '\[kernel\] +[a-z_0-9.]*read[a-z_0-9.]*\+0x[0-9a-f]+' "with names"
	"$SONDE" stack --json --no-lines $reader | python3 -c 'import json, sys; t = json.load(sys.stdin)["threads"]; sys.exit(len(t) != 1)'
	ok $? "JSON"
else
	skip "nothing may be sampled here" "a thread that runs in the kernel"
fi
kill -9 $reader
wait $reader 2>/dev/null

# The process goes on, and nothing in it was interrupted.
"$SONDE" stack --json $pid >one.json
for _ in 1 2 3 4 5; do "$SONDE" stack --no-lines $pid >/dev/null; done
unlike "$(cat said)" interrupted "a sleep goes on as if nobody had looked"
unlike "$(cat /proc/$pid/status)" '^State:.*(stop|trac)' "nothing is left stopped"
is "$(awk '/TracerPid/ { print $2 }' /proc/$pid/status)" 0 "nobody traces it"
python3 - >got 2>&1 <<'END'
import json
v = json.load(open("one.json"))
print("threads", len(v["threads"]))
# One that the kernel was running is not stopped: a sample has its frames. The others are.
stopped = [t["stopped_ns"] for t in v["threads"] if "stopped_ns" in t]
print("stopped", len(stopped) >= 4 and all(ns > 0 for ns in stopped))
END
like "$(cat got)" '^threads 5$' "JSON: all threads"
like "$(cat got)" '^stopped True$' "JSON: how long each one stood still"

# gdb sees the same, address by address. Its frames of tail calls and those above main are its own.
if command -v gdb >/dev/null && gdb -batch -nx -p $pid -ex 'thread apply all bt' >gdb.txt 2>/dev/null && grep -q last_stop gdb.txt; then
	"$SONDE" stack $pid >ours.txt
	python3 - >got 2>&1 <<'END'
import re
ours, theirs = {}, {}
for line in open("ours.txt"):
    if m := re.match(r"thread (\d+)", line):
        at = ours.setdefault(int(m[1]), [])
    elif (m := re.match(r"#\d+ +0x([0-9a-f]+)  (\S+?)(\+0x\S+)?( |$)", line)):
        at.append((int(m[1], 16), m[2].split("@")[0]))
for line in open("gdb.txt"):
    if m := re.match(r"Thread .*LWP (\d+)", line):
        at = theirs.setdefault(int(m[1]), [])
    elif m := re.match(r"#\d+ +0x([0-9a-f]+) in (\S+)", line):
        at.append((int(m[1], 16), m[2]))
own = {"wait_inner", "wait_outer", "waiter", "spinner", "handler", "on_signal", "last_stop", "sleeper", "main"}
pick = lambda frames: [f for f in frames if f[1] in own]
print("same", set(ours) == set(theirs) and all(pick(ours[t]) == pick(theirs[t]) and (pick(ours[t]) or t) for t in ours))
for t in ours:
    if pick(ours[t]) != pick(theirs.get(t, [])):
        print(t, ours[t], theirs.get(t))
END
	like "$(cat got)" '^same True$' "gdb has the same frames at the same addresses" || diag "$(cat got)"
	gdb -batch -nx -p $pid -ex "generate-core-file made.core" >/dev/null 2>&1
	exits 0 "stack of gdb's core" "$SONDE" stack made.core
	is "$(printf '%s\n' "$out" | grep -c '  wait_outer+0x')" 4 "gdb's core: recursion"
	like "$out" '  last_stop\+0x' "gdb's core: the first thread"
else
	skip "gdb is not installed, or may not look" "gdb has the same frames at the same addresses"
fi

kill -STOP $pid
is_stopped() { grep -q '^State:[[:space:]]*T' /proc/$pid/status; }
wait_until is_stopped
exits 0 "a process that is stopped" "$SONDE" stack $pid
like "$out" "^thread $pid \\(planted\\) T$" "stays stopped" || diag "$out"
like "$out" '  last_stop\+0x' "its stack"
is_stopped
ok $? "and still is"
kill -CONT $pid

# A core of the kernel's own.
if [ "$(cat /proc/sys/kernel/core_pattern)" = core ]; then
	(
		ulimit -c unlimited
		"$SONDE_TMP/planted" >said2 &
		echo $! >crash
		wait_until grep -q ready said2
		dies() { "$SONDE" stack --no-lines "$(cat crash)" | grep -q wait_inner; }
		wait_until dies
		kill -ABRT "$(cat crash)"
		wait
	) 2>/dev/null
	core=$(ls core core.* 2>/dev/null | head -1)
	exits 0 "stack of the kernel's core" "$SONDE" stack "${core:-none}"
	like "$out" "^thread $(cat crash) \\(planted\\)$" "the thread that died first"
	is "$(printf '%s\n' "$out" | grep -c '  wait_outer+0x')" 4 "the kernel's core: recursion"
else
	skip "cores go elsewhere: $(cat /proc/sys/kernel/core_pattern)" "stack of the kernel's core"
fi

exits 0 "a kernel thread" "$SONDE" stack 2
exits 1 "no such process" "$SONDE" stack 999999999
like "$err" 'no process 999999999' "says so"
exits 1 "no such file" "$SONDE" stack ./none
like "$err" "cannot open './none': No such file" "says so"
exits 1 "a file that is no core" "$SONDE" stack ./planted
like "$err" "'./planted' is not a core" "says so"
exits 129 "nothing to look at" "$SONDE" stack
exits 129 "two of them" "$SONDE" stack 1 2
if command -v setpriv >/dev/null; then
	chmod 755 "$SONDE_TMP"
	cp "$SONDE" other-sonde && chmod 755 other-sonde
	exits 1 "another user's process" setpriv --reuid 65534 --regid 65534 --clear-groups ./other-sonde stack $pid
	like "$err" "cannot look at process $pid: Permission denied" "says so"
	like "$err" 'hint: run as root' "and what helps"
else
	skip "setpriv is not installed" "another user's process"
fi
done_testing
