#!/usr/bin/env bash
# `sonde trace`: system calls and events of a command, of a process, of the system; what is counted is what the command did; perf's lines and
# tables of the same recording where perf is installed.
# where: host
# needs: root
# timeout: 120
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events
[ -e $tracefs/events/raw_syscalls/sys_enter ] || skip_all "kernel without raw_syscalls:sys_enter"
cd "$SONDE_TMP" || exit 1
mkdir bin && ln -s "$SONDE" bin/perf
line='^ +[0-9]+\.[0-9]{3} \( *[0-9]+\.[0-9]{3} ms\): '

# ---- a command
exits 1 "the status is the command's" "$SONDE" trace -- cat /nonexistent/file
like "$out" "${line}cat/[0-9]+ openat\(dfd: CWD, filename: \"/nonexistent/file\"(, flags: RDONLY[A-Z|]*)?\) += -1 ENOENT \(No such file or directory\)$" "a call that failed"
like "$out" "${line}cat/[0-9]+ execve\(filename: \"[^\"]*/cat\", argv: \[\"cat\", \"/nonexistent/file\"\], envp: 0x[0-9a-f]+\) += 0$" "the exec"
exits 1 "--no-strings" "$SONDE" trace --no-strings -- cat /nonexistent/file
like "$out" '^ +\? \( +\): cat/[0-9]+  \.\.\. \[continued\]: execve\(\) += 0$' "one whose beginning was not seen"
like "$out" '^ +[0-9.]+ \( +\): cat/[0-9]+ exit_group\(error_code: 1\) += \?$' "one that never ends"
is "$(grep -c '^cat:' <<<"$err")" 1 "the command's own message"
# Five hundred writes of a byte, and nothing else that writes.
exits 0 "-e NAME" "$SONDE" trace -e write -- dd if=/dev/zero of=/dev/null bs=1 count=500 status=none
is "$(grep -cE "${line}dd/[0-9]+ write\(fd: 1(<[^>]*>)?, buf: \"\\\\0\", count: 1\) += 1$" <<<"$out")" 500 "every call is there"
is "$(grep -c . <<<"$out")" 500 "and no other"
exits 0 "-e '!NAME'" "$SONDE" trace -e '!write,read' -- dd if=/dev/zero of=/dev/null bs=1 count=5 status=none
unlike "$out" ' (write|read)\(' "all but these"
like "$out" ' close\(fd: ' "the others"
exits 0 "a group" "$SONDE" trace -e %memory -- true
is "$(grep -oE ' [a-z0-9_]+\(' <<<"$out" | grep -vcE ' (mmap|munmap|mprotect|brk|madvise|mremap)\(' )" 0 "only calls of it"
like "$out" ' mmap\(.*prot: READ\|EXEC, flags: PRIVATE\|' "flags by name"
unlike "$(grep ANONYMOUS <<<"$out")" ' fd: ' "arguments that mean nothing are left out"
exits 0 "--failure" "$SONDE" trace --failure -e %file -- ls /
unlike "$out" '= [0-9]' "only failures"
exits 0 "--duration" "$SONDE" trace --duration 150 -- sleep 0.2
like "$out" '^ +[0-9.]+ \([0-9]{3,}\.[0-9]{3} ms\): sleep/[0-9]+ (clock_)?nanosleep\(' "the call that was slow"
exits 0 "-o" "$SONDE" trace -o lines -e write -- sh -c 'echo hello'
is "$out" hello "the command has standard output for itself"
like "$(cat lines)" ' write\(fd: 1(<[^>]*>)?, buf: "hello\\n", count: 6\) += 6$' "lines are in the file"
exits 0 "no match, no line" "$SONDE" trace -e reboot -- true
is "$out" "" "nothing"

# ---- tables
exits 0 "-s" "$SONDE" trace -s -- dd if=/dev/zero of=/dev/null bs=1 count=500 status=none
like "$out" '^   write +500      0 +[0-9]+\.[0-9]{3}( +[0-9]+\.[0-9]{3}){4} +[0-9.]+%$' "calls are counted, with p99"
unlike "$out" 'openat\(' "and no lines"
exits 1 "--errno-summary" "$SONDE" trace -s --errno-summary -- cat /nonexistent/file
like "$out" '^	+ENOENT: [0-9]+$' "errors by name"
exits 0 "--summary-mode total" "$SONDE" trace -s --summary-mode total -e write -- sh -c 'dd if=/dev/zero of=/dev/null bs=1 count=30 status=none; dd if=/dev/zero of=/dev/null bs=1 count=40 status=none'
is "$(grep -c 'Summary of events\| total, ' <<<"$out")" 2 "one table"
like "$out" '^   write +70 ' "of all processes"

# ---- JSON
if command -v python3 >/dev/null; then
	"$SONDE" trace --json -S -e openat,write,sched:sched_process_exit -- dd if=/dev/zero of=/dev/null bs=1 count=50 status=none >json 2>json.err
	python3 - >got 2>&1 <<'END'
import json
lines = [json.loads(l) for l in open("json")]
calls = [l for l in lines if l.get("syscall") == "write"]
print("writes", len(calls), {c["ret"] for c in calls}, {c["args"]["count"] for c in calls})
print("times", all(c["time_ns"] <= c["end_ns"] for c in calls), sorted(c["time_ns"] for c in calls) == [c["time_ns"] for c in calls])
opened = [l for l in lines if l.get("syscall") == "openat" and l["args"]["filename"]]
print("flags", any("RDONLY" in o["args"]["flags"] for o in opened), {o["args"]["dfd"] for o in opened})
print("exits", len([l for l in lines if l.get("event") == "sched:sched_process_exit"]))
last = lines[-1]
row = [r for t in last["summary"] for r in t["syscalls"] if r["syscall"] == "write"][0]
print("last", last["lost"], row["calls"], row["errors"], row["min_ns"] <= row["p99_ns"] <= row["max_ns"])
END
	is "$(cat got)" "writes 50 {1} {1}
times True True
flags True {'CWD'}
exits 1
last 0 50 0 True" "JSON: calls, events, and a last line" || diag "$(cat json.err)"
else
	skip "no python3" "JSON: calls, events, and a last line"
fi

# ---- events and processes
exits 0 "-e EVENT" "$SONDE" trace -e sched:sched_process_exec -- true
like "$out" '^     0\.000 true/([0-9]+) sched:sched_process_exec\(filename: "[^"]*true", pid: [0-9]+, old_pid: [0-9]+\)$' "an event has no duration"
exits 0 "events and calls" "$SONDE" trace -e sched:sched_process_exec,brk -- true
like "$out" '^ +[0-9.]+ \( +\): true/[0-9]+ sched:sched_process_exec\(' "beside calls it has an empty one"
like "$out" "${line}true/[0-9]+ brk\(\) += 0x" "and the calls"
sh -c 'while :; do :; done' & spin=$!
trap 'kill -9 $spin 2>/dev/null; rm -rf "$SONDE_TMP"' EXIT
exits 0 "--max-events of the whole system" "$SONDE" trace -e cpu-clock --max-events 3
is "$(grep -cE '^ +[0-9]+\.[0-9]{3} [^/]+.*/[0-9]+ cpu-clock\(\)$' <<<"$out")" 3 "three lines, with names"
{ kill -9 $spin; wait $spin; } 2>/dev/null
# A shell that asks for its parent again and again: known before the trace began, and named.
mkfifo pipe
bash -c 'while read -r line; do echo "$line" >/dev/null; done <pipe' & loop=$!
exec 3>pipe
"$SONDE" trace -p $loop -e read,write -o attached 2>attached.err & tracer=$!
wait_until counts_events $tracer
fed() { echo word >&3; grep -q "bash/$loop read(.*= 1$" attached; }
wait_until fed
ok $? "-p: lines come while the process runs, by its name" || diag "$(head -3 attached) $(cat attached.err)"
kill -INT $tracer
wait $tracer
is $? 130 "Ctrl-C ends it"
unlike "$(cat attached.err)" 'damaged' "records about what was there before are understood"
unlike "$(cat attached)" " :$loop/" "the name is known from the beginning"
exec 3>&-
wait $loop
exits 0 "call chains" "$SONDE" trace -e openat --call-graph fp --max-events 1 -- cat /etc/passwd
like "$out" '^ {39}[^ ].* \(.*\)$' "frames below the line"

# ---- recordings
exits 1 "trace record" "$SONDE" trace record -q -o calls.data -- cat /nonexistent/file
exits 0 "trace -i" "$SONDE" trace -i calls.data
like "$out" "${line}cat/[0-9]+ openat\(.* = -1 ENOENT" "lines of a recording"
exits 0 "trace -i, chosen" "$SONDE" trace -i calls.data -e close
like "$out" ' close\(fd: ' "-e chooses here, too"
is "$(grep -v ' close(' <<<"$out")" "" "and leaves out the others"
# perf 6.1 writes half of a pointer, flags and modes in another order or not at all, a bracket twice; on one machine the rest is the same.
plain() {
	grep -vE 'getppid|fcntl|ioctl|statx|rt_sigreturn|poll|uname|sysinfo|prlimit|clone|wait4|getpid|futex' "$1" |
		sed -E 's/\[continued\]: ([a-z0-9_]+)\(\)\)/[continued]: \1()/; s/name: 0x[0-9a-f]+/name: P/g; s/, (flags?|mode|mask): [A-Za-z_|0-9]*//g; s/ +=/ =/'
}
needs_or_skip "perf's lines and tables of the same recording" perf || {
	perf trace -i calls.data >theirs 2>&1
	bin/perf trace -i calls.data >ours.out 2>ours
	is "$(cat ours.out)" "" "called as perf, lines are on standard error"
	is "$(plain ours)" "$(plain theirs)" "lines as perf has them"
	[ "$(plain ours | wc -l)" -gt 10 ]
	ok $? "and more than ten of them"
	perf trace -s -i calls.data >theirs.table 2>&1
	bin/perf trace -s -i calls.data >ours.table 2>&1
	# perf sorts by milliseconds with a fraction: of two that took as long, either may come first.
	is "$(sort ours.table)" "$(sort theirs.table)" "the table as perf has it"
}

# ---- losses: rings of a page, and nobody who reads them meanwhile
"$SONDE" trace -m 1 -e write -o lossy -- sh -c 'kill -STOP $PPID; dd if=/dev/zero of=/dev/null bs=1 count=20000 status=none; kill -CONT $PPID' 2>lossy.err
like "$(cat lossy.err)" '[0-9]+ records were lost' "losses are counted and reported"
like "$(cat lossy.err)" 'larger -m' "with what helps"

# ---- wrong usage
exits 129 "an unknown group" "$SONDE" trace -e %nothing -- true
like "$err" "unknown group of system calls '%nothing'" "is named"
like "$err" 'groups: %file' "with those there are"
exits 129 "'!' and an event" "$SONDE" trace -e '!sched:sched_switch' -- true
exits 129 "-i and a command" "$SONDE" trace -i calls.data true
exits 129 "--duration takes a number" "$SONDE" trace --duration soon -- true
exits 1 "an unknown event" "$SONDE" trace -e nosuch:event -- true
done_testing
