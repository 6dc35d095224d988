#!/usr/bin/env bash
# `sonde who` beside top and pidstat: a planted load between two readings; processes that live for a moment; keys of the screen that change
# something; settings.
# where: host
# needs: root
# timeout: 300
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root python3 gcc

cd "$SONDE_TMP" || exit 1
export HOME=$SONDE_TMP XDG_CONFIG_HOME=$SONDE_TMP/config
unset TMUX
cat >brief.c <<'END'
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
/* So many children, one after another, each with so many ms of CPU time. */
int main(int argc, char **argv)
{
	for (int i = atoi(argv[1]); i > 0; i--) {
		if (!fork()) {
			while (clock() < atoi(argv[2]) * (CLOCKS_PER_SEC / 1000))
				;
			_exit(0);
		}
		wait(NULL);
	}
}
END
gcc -O1 -o brief brief.c
ok $? "a program is built" || { done_testing; exit; }

# ---- processes that nobody could see in /proc
"$SONDE" who -b -d 0.5 --json -o PID,PPID,%CPU,TIME+,S,COMMAND >tables 2>err &
who=$!
has_table() { [ -s tables ]; }
wait_until has_table
if grep -q 'begin and end between two tables are not seen' err; then
	skip "$(grep -o 'are not seen: .*' err)" "short processes are seen with all their CPU time"
else
	./brief 20 5
	lines=$(wc -l <tables)
	two_more() { [ "$(wc -l <tables)" -ge $((lines + 2)) ]; }
	wait_until two_more
	python3 - >got 2>&1 <<'END'
import json
tables = [json.loads(line) for line in open("tables") if line.endswith("\n")]
rows = [(t, r) for t in tables for r in t["tasks"] if r["command"] == "brief" and r["state"] == "X"]
children = {r["pid"] for _, r in rows}
used = sum(r["cpu_percent"] * t["interval_ns"] / 100 for t, r in rows if r["pid"] in children)
print("all", len(rows) == len(children) == 21)
# Kernels without delay accounting count in ticks, of which a short process may have none.
print("time", sum(r["cpu_time_ns"] >= 4900000 for _, r in rows) >= 20 and used >= 98000000 or all(r["cpu_time_ns"] % 1000000 == 0 for _, r in rows), sorted(r["cpu_time_ns"] for _, r in rows), used)
print("counted", sum(t["counts"]["ended"] for t in tables) >= 21)
END
	like "$(cat got)" '^all True$' "twenty short processes and their parent, each once" || diag "$(cat got)"
	like "$(cat got)" '^time True' "with all their CPU time"
	like "$(cat got)" '^counted True$' "counted"
fi
kill -INT $who
wait $who
is $? 0 "ends well"

# ---- beside the peers: the same load, over intervals that lie within ours
nice "$SONDE" workload leaf 300 >/dev/null 2>&1 &
spin=$!
trap 'kill -9 $spin 2>/dev/null; rm -rf "$SONDE_TMP"' EXIT
burn 50 $spin
if command -v top >/dev/null; then
	python3 - $spin >got 2>&1 <<'END'
import json, os, subprocess, sys, time
pid = sys.argv[1]
hz = os.sysconf("SC_CLK_TCK")
ticks = lambda: sum(int(v) for v in open(f"/proc/{pid}/stat").read().rsplit(") ", 1)[1].split()[11:13])
who = subprocess.Popen([os.environ["SONDE"], "who", "-b", "-n", "2", "-d", "1", "-p", pid, "--json"], stdout=subprocess.PIPE)
top = subprocess.Popen(["top", "-b", "-n", "2", "-d", "1", "-p", pid], stdout=subprocess.PIPE, env={**os.environ, "LC_ALL": "C"})
before, began = ticks(), time.monotonic()
ours = [json.loads(line) for line in who.stdout]
theirs = [line.split() for line in top.stdout.read().decode().splitlines() if line.split()[:1] == [pid]]
after = ticks()
mine = [t["tasks"][0]["cpu_percent"] for t in ours]
peer = [float(r[8]) for r in theirs]
# Both must lie below what the kernel counted over all of it, and have the same total CPU time up to what was used meanwhile.
share = 100 * (after - before + 1) / hz / min(t["interval_ns"] / 1e9 for t in ours)
minutes, seconds = theirs[-1][10].split(":")
print("peer", all(0 < v <= share for v in mine) and 0 < peer[-1] <= 100.5 * os.cpu_count())
print("time", abs(ours[-1]["tasks"][0]["cpu_time_ns"] / 1e9 - (int(minutes) * 60 + float(seconds))) <= (after - before) / hz + 0.02)
END
	like "$(cat got)" '^peer True$' "a planted load beside top" || diag "$(cat got)"
	like "$(cat got)" '^time True$' "the same CPU time as top's" || diag "$(cat got)"
else
	skip "top is not installed" "a planted load beside top"
fi
if command -v pidstat >/dev/null; then
	LC_ALL=C pidstat -p $spin 1 1 >pidstat.txt &
	"$SONDE" who -b -n 1 -d 1 -p $spin -o PID,%CPU >ours.txt
	wait $!
	like "$(tail -1 ours.txt)" '^ +[0-9]+ +[0-9]*[1-9][0-9.]*$' "a share"
	like "$(cat pidstat.txt)" "^Average: .* $spin .*[1-9]" "pidstat has one, too"
else
	skip "pidstat is not installed" "pidstat has one, too"
fi

# ---- the screen
if ! command -v tmux >/dev/null; then
	skip "tmux is not installed" "the screen"
	done_testing
	exit
fi
export TMUX_TMPDIR=$SONDE_TMP
term() { tmux -f /dev/null -L "sonde-who-keys-$$" "$@"; }
sleep 1000 &
victim=$!
trap 'term kill-server 2>/dev/null; kill -9 $spin $victim 2>/dev/null; rm -rf "$SONDE_TMP"' EXIT
screen_has() { wait_for=$1; wait_until shows; }
shows() { term capture-pane -p 2>/dev/null | grep -Eq -- "$wait_for"; }
lacks() { ! shows; }
term new-session -d -x 110 -y 30 "env TERM=screen HOME=$HOME XDG_CONFIG_HOME=$XDG_CONFIG_HOME $SONDE who -d 0.3 -p $victim,$spin; echo ENDED; sleep 100"
screen_has "^ *$victim .* sleep"
ok $? "two processes" || diag "$(term capture-pane -p)"
term send-keys o
screen_has 'add filter'
term send-keys COMMAND=sleep Enter
wait_for="^ *$spin "
wait_until lacks
ok $? "o filters" || diag "$(term capture-pane -p)"
term send-keys c
screen_has 'sleep 1000'
ok $? "c shows command lines"
term send-keys e
screen_has "^ *$victim .* [0-9.]+m +[0-9.]+m .*sleep 1000"
ok $? "e changes the unit of tasks" || diag "$(term capture-pane -p)"
term send-keys E
screen_has '^GiB Mem : '
ok $? "E the machine's" || diag "$(term capture-pane -p)"
term send-keys E E E E
screen_has '^MiB Mem : '
ok $? "and comes round" || diag "$(term capture-pane -p)"
term send-keys E
screen_has '^GiB Mem : '
term send-keys Enter
screen_has 's  stacks of all threads'
ok $? "Enter opens a menu"
term send-keys s
screen_has 'nanosleep'
ok $? "s shows stacks" || diag "$(term capture-pane -p)"
term send-keys q
screen_has 'sleep 1000'
term send-keys Enter
screen_has 'open files and sockets'
term send-keys o
screen_has '^ *FD  FILE'
ok $? "o shows open files"
term send-keys q
screen_has 'sleep 1000'
term send-keys Enter
screen_has 'memory maps'
term send-keys m
screen_has 'r-xp .*/sleep'
ok $? "m shows maps"
term send-keys q
screen_has 'sleep 1000'
term resize-window -x 70 -y 12
screen_has "^ *$victim "
ok $? "a smaller terminal"
term send-keys W
screen_has 'saved in .*/config/sonde/config'
ok $? "W saves"
like "$(cat config/sonde/config)" 'command-lines = true' "what was changed"
like "$(cat config/sonde/config)" '^[[:space:]]*memory = MiB' "units, too"
like "$(cat config/sonde/config)" 'memory-total = GiB' "both of them"
is "$(stat -c %a config/sonde)" 700 "in a folder of our own"
term send-keys k
screen_has "signal for $victim"
term send-keys Enter
screen_has "send SIGTERM to $victim .*y/N"
term send-keys n Enter
screen_has 'no signal was sent'
ok $? "k asks twice"
kill -0 $victim
ok $? "and takes no for an answer"
term send-keys k
screen_has "signal for $victim"
term send-keys KILL Enter
screen_has "send SIGKILL to $victim"
term send-keys y Enter
wait_until is_gone $victim
ok $? "k sends a signal"
term send-keys q
screen_has ENDED
ok $? "q leaves"
term kill-server 2>/dev/null

# A profile of a row needs no file and no program beside us.
ls /tmp >before
term new-session -d -x 110 -y 30 "env TERM=screen HOME=$HOME XDG_CONFIG_HOME=$XDG_CONFIG_HOME $SONDE who -d 0.3 -p $spin; echo ENDED; sleep 100"
screen_has "^ *$spin "
term send-keys Enter
screen_has 'p  profile for 10 s'
term send-keys p
screen_has "sampling $spin for 10 s"
screen_has '[0-9]+ samples? '
ok $? "p profiles a process and shows a flame graph" || diag "$(term capture-pane -p)"
is "$(ls /tmp | diff before - | grep -c sonde-who)" 0 "no file is left"
term send-keys q
screen_has "^ *$spin "
ok $? "q goes back to the table" || diag "$(term capture-pane -p)"
term send-keys q
screen_has ENDED
term kill-server 2>/dev/null

# What a task waits for, and its system calls: w sleeps for a known reason, again and again.
python3 -c '
import os, time
while True:
    time.sleep(0.01)
    os.path.exists("/planted/by/who.t")
' &
waiter=$!
trap 'term kill-server 2>/dev/null; kill -9 $spin $waiter 2>/dev/null; rm -rf "$SONDE_TMP"' EXIT
term new-session -d -x 160 -y 30 "env TERM=screen HOME=$HOME XDG_CONFIG_HOME=$XDG_CONFIG_HOME $SONDE who -d 0.3 -p $waiter; echo ENDED; sleep 100"
screen_has "^ *$waiter .*python3"
term send-keys w
screen_has "watching $waiter for 3 s"
screen_has "where the time of $waiter .* went"
ok $? "w shows where the time went" || diag "$(term capture-pane -p)"
screen_has '[0-9.]+ % +[0-9.]+ ms +S [0-9]+x: .*nanosleep'
ok $? "asleep, by stack" || diag "$(term capture-pane -p)"
term send-keys q
screen_has "^ *$waiter .*python3"
term send-keys Enter
screen_has 't  trace its system calls'
term send-keys t
screen_has 'stat.*\('
ok $? "t traces system calls" || diag "$(term capture-pane -p)"
term send-keys C-c
screen_has "^ *$waiter .*python3"
ok $? "Ctrl-C goes back to the table" || diag "$(term capture-pane -p)"
kill -9 $waiter
wait $waiter 2>/dev/null
term send-keys q
screen_has ENDED
term kill-server 2>/dev/null

# Settings of somebody else are left alone.
chown 65534 config/sonde/config
term new-session -d -x 110 -y 30 "env TERM=screen HOME=$HOME XDG_CONFIG_HOME=$XDG_CONFIG_HOME $SONDE who -d 0.3 -p $spin; echo ENDED; sleep 100"
screen_has "^ *$spin "
term send-keys W
screen_has 'not saved: the settings belong to another user'
ok $? "another user's settings are not written to" || diag "$(term capture-pane -p)"
is "$(stat -c %u config/sonde/config)" 65534 "and stay theirs"
term send-keys q
screen_has 'belongs to another user'
ok $? "nor read, which is said" || diag "$(term capture-pane -p)"
done_testing
