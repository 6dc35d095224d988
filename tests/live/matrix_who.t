#!/usr/bin/env bash
# Rows of the acceptance matrix about top, iotop and the files of /proc/PID: each field of top's list as a column, with the kernel's own
# number beside it; threads, the fields screen and its keys, the summary, and what a user without privileges is told.
#
# where: host
# needs: root
# timeout: 120
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root python3 gcc

cd "$SONDE_TMP" || exit 1
export HOME=$SONDE_TMP XDG_CONFIG_HOME=$SONDE_TMP/config
unset TMUX

# A process to look at: two threads that sleep, another user in each place, an environment, pages that were touched.
cat >planted.c <<'END'
#include <grp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>
static void *rest(void *arg) { prctl(PR_SET_NAME, arg); for (;;) pause(); return arg; }
int main(void)
{
	pthread_t t;
	gid_t groups[] = { 1, 12 };
	char *room = malloc(8 << 20);
	memset(room, 1, 8 << 20);
	setpriority(PRIO_PROCESS, 0, 7);
	pthread_create(&t, NULL, rest, "second (x) R 1");
	setgroups(2, groups);
	setresgid(1, 2, 3);
	setresuid(1, 2, 3);
	prctl(PR_SET_DUMPABLE, 1);
	rest("plan) S (ted");
}
END
gcc -O1 -pthread -o planted planted.c 2>/dev/null
ok $? "a program is built" || { done_testing; exit; }
env -i PLANTED=yes ./planted &
pid=$!
trap 'kill -9 $pid $spin 2>/dev/null; rm -rf "$SONDE_TMP"' EXIT
wait_until grep -q "^Name:.*plan) S (ted" /proc/$pid/status
ok $? "it runs"
# Its second thread sleeps too when both have been looked at.
sleeps() { ! grep -L '^State:[[:space:]]*S' /proc/$pid/task/*/status | grep -q .; }
wait_until sleeps

stat_field() { sed 's/.*) //' /proc/$pid/stat | awk -v n="$1" '{ print $(n - 2) }'; } # proc(5)'s number
status_field() { awk -v name="$1:" -v n="$2" '$1 == name { print $(n + 1) }' /proc/$pid/status; }
pages_kb() { echo $(($1 * $(getconf PAGESIZE) / 1024)); }
statm_kb() { pages_kb "$(awk -v n="$1" '{ print $n }' /proc/$pid/statm)"; }
ns() { readlink /proc/$pid/ns/"$1" | tr -dc 0-9; }
column() { "$SONDE" who -b -n 1 -d 0.01 -p $pid -o "$1" | tail -1 | sed 's/^ *//; s/ *$//'; }
# field ROW NAME EXPECTED: the column can be chosen, is called as in top, and holds what the kernel says
field() {
	local got
	got=$("$SONDE" who -b -n 1 -d 0.01 -p $pid -o "$2" 2>&1)
	is "$(printf '%s\n' "$got" | tail -2 | head -1 | tr -d ' ')" "$2" "$1: $2 is a column"
	is "$(printf '%s\n' "$got" | tail -1 | sed 's/^ *//; s/ *$//')" "$3" "$1: $2 is what the kernel says"
}
name() { getent "$1" "$2" | cut -d: -f1; }

field S4-022 PID $pid
field S4-023 USER "$(name passwd 2)"
field S4-024 PR "$(stat_field 18)"
field S4-025 NI 7
field S4-026 VIRT "$(statm_kb 1)"
field S4-027 RES "$(statm_kb 2)"
field S4-028 SHR "$(statm_kb 3)"
field S4-029 S S
field S4-030 %CPU 0.0
field S4-031 %MEM "$(awk -v kb="$(statm_kb 2)" '/^MemTotal/ { printf "%.1f", 100 * kb / $2 }' /proc/meminfo)"
ticks=$(($(stat_field 14) + $(stat_field 15))) hz=$(getconf CLK_TCK)
field S4-032 TIME+ "$(printf '%d:%02d.%02d' $((ticks / hz / 60)) $((ticks / hz % 60)) $((ticks * 100 / hz % 100)))"
field S4-033 COMMAND "plan) S (ted"
field S4-034 PPID $$
field S4-035 UID 2
field S4-036 RUID 1
field S4-037 RUSER "$(name passwd 1)"
field S4-038 SUID 3
field S4-039 SUSER "$(name passwd 3)"
field S4-040 GID 2
field S4-041 GROUP "$(name group 2)"
field S4-042 PGRP "$(stat_field 5)"
field S4-043 TTY "$(ps -o tty= -p $pid | tr -d ' ')"
field S4-044 TPGID "$(stat_field 8)"
field S4-045 SID "$(stat_field 6)"
field S4-046 nTH 2
field S4-047 P "$(stat_field 39)"
field S4-048 TIME "$(printf '%d:%02d' $((ticks / hz / 60)) $((ticks / hz % 60)))"
field S4-049 SWAP "$(status_field VmSwap 1)"
field S4-050 CODE "$(statm_kb 4)"
field S4-051 DATA "$(statm_kb 6)"
field S4-052 nMaj "$(stat_field 12)"
field S4-053 nMin "$(stat_field 10)"
field S4-054 nDRT 0
wchan=$(cat /proc/$pid/wchan)
field S4-055 WCHAN "${wchan/#0/-}"
field S4-056 Flags "$(printf '0x%x' "$(stat_field 9)")"
field S4-057 CGROUPS "$(paste -sd, /proc/$pid/cgroup)"
field S4-058 SUPGIDS 1,12
field S4-059 SUPGRPS "$(name group 1),$(name group 12)"
field S4-060 TGID $pid
field S4-061 ENVIRON PLANTED=yes
field S4-062 vMj 0
field S4-063 vMn 0
field S4-064 USED $(($(statm_kb 2) + $(status_field VmSwap 1)))
field S4-065 nsIPC "$(ns ipc)"
field S4-066 nsMNT "$(ns mnt)"
field S4-067 nsNET "$(ns net)"
field S4-068 nsPID "$(ns pid)"
field S4-069 nsUSER "$(ns user)"
field S4-070 nsUTS "$(ns uts)"

# top's own names are all there.
if command -v top >/dev/null && top -O >fields 2>/dev/null; then
	is "$(while read -r name; do "$SONDE" who -O | grep -q "^$name " || echo "$name"; done <fields)" "" \
		"S4-016: every field of this machine's top is a column"
else
	skip "top has no list of fields here" "S4-016: every field of this machine's top is a column"
fi

# ---- the kernel's files
python3 - $pid >got 2>&1 <<'END'
import json, os, subprocess, sys
pid = sys.argv[1]
out = subprocess.run([os.environ["SONDE"], "who", "-b", "-n", "1", "-d", "0.01", "-p", pid, "--json", "-o",
                      "VIRT,RES,SHR,CODE,DATA,nDRT,COMMAND,PPID,nMin,PR,nTH,STARTED,P,UID,GID,SWAP,nCSW,RSan"], stdout=subprocess.PIPE, check=True).stdout
row, = json.loads(out)["tasks"]
page = os.sysconf("SC_PAGESIZE") // 1024
statm = [int(v) for v in open(f"/proc/{pid}/statm").read().split()]
print("statm", len(statm) == 7 and [row[k] for k in ("virtual_kib", "resident_kib", "shared_kib", "code_kib", "data_kib")] ==
      [statm[i] * page for i in (0, 1, 2, 3, 5)] and row["dirty_pages"] == statm[6])
text = open(f"/proc/{pid}/stat").read()
stat = text[text.rindex(")") + 2:].split()
print("stat", len(stat) == 50 and [row[k] for k in ("ppid", "minor_faults", "priority", "threads", "last_cpu")] ==
      [int(stat[i]) for i in (1, 7, 15, 17, 36)] and row["started_ns"] == int(stat[19]) * 10000000 and row["command"] == text[text.index("(") + 1:text.rindex(")")])
status = dict(line.rstrip("\n").split(":\t", 1) for line in open(f"/proc/{pid}/status") if ":\t" in line)
print("status", [row["uid"], row["gid"]] == [int(status[k].split()[1]) for k in ("Uid", "Gid")] and
      row["swap_kib"] == int(status["VmSwap"].split()[0]) and row["voluntary_switches"] == int(status["voluntary_ctxt_switches"]) and
      row["resident_anon_kib"] == int(status["RssAnon"].split()[0]))
END
like "$(cat got)" '^statm True' "the page counts of /proc/PID/statm"
like "$(cat got)" '^stat True' "the fields of /proc/PID/stat, after a name with parentheses"
like "$(cat got)" '^status True' "lines of /proc/PID/status" || diag "$(cat got)"

# ---- a busy process is on top, with the share it has
"$SONDE" workload leaf 300 >/dev/null 2>&1 &
spin=$!
wait_until [ -e /proc/$spin/stat ]
burn 50 $spin
python3 - $spin >got 2>&1 <<'END'
import json, os, subprocess, sys
pid = int(sys.argv[1])
hz = os.sysconf("SC_CLK_TCK")
def ticks():
    f = open(f"/proc/{pid}/stat").read().rsplit(") ", 1)[1].split()
    return int(f[11]) + int(f[12])
# Two readings lie inside what is read here before and after them.
for attempt in range(5):
    before = ticks()
    p = subprocess.Popen([os.environ["SONDE"], "who", "-b", "-n", "2", "-d", "0.5", "--json"], stdout=subprocess.PIPE)
    tables = [json.loads(line) for line in p.stdout]
    after = ticks()
    used = sum(next(r["cpu_percent"] for r in t["tasks"] if r["pid"] == pid) * t["interval_ns"] / 1e9 / 100 for t in tables)
    if used > 0:
        break
print("bracket", 0 < used <= (after - before + 1) / hz)
shares = [r["cpu_percent"] for r in tables[1]["tasks"]]
print("order", shares == sorted(shares, reverse=True))
print("rounds", len(tables) == 2)
END
like "$(cat got)" '^bracket True' "S0-002: a planted load has its CPU time between two readings" || diag "$(cat got)"
like "$(cat got)" '^order True' "S0-002: ordered by %CPU"
like "$(cat got)" '^rounds True' "S4-013: a table every interval"
"$SONDE" who -b -d 0.1 -p $spin >live 2>&1 &
who=$!
tables() { [ "$(grep -c "^ *PID USER" live)" -ge 3 ]; }
wait_until tables
ok $? "S4-013: new tables come until somebody ends it"
kill -INT $who
wait $who
is $? 0 "S4-013: Ctrl-C ends it well"

exits 0 "S4-015: -H" "$SONDE" who -b -n 1 -d 0.01 -H -p $pid -o PID,TGID,COMMAND -s PID
is "$(printf '%s\n' "$out" | tail -2 | awk '{ print $2 }' | sort -u)" $pid "S4-015: two rows of one process"
like "$out" '^ *[0-9]+ +[0-9]+ second \(x\) R 1$' "S4-015: one for each thread"
like "$out" '^Threads: 2 total' "S4-015: threads are counted"

# ---- disks
exits 0 "S4-018: --io" "$SONDE" who -b -n 1 -d 0.05 --io
like "$out" '^Total DISK READ : .*KiB/s \| Total DISK WRITE : ' "S4-018: what tasks have read and written"
like "$out" '^Actual DISK READ: .*KiB/s \| Actual DISK WRITE: ' "S4-018: what disks have"
like "$out" '^ +TID +PR USER +READ/s +WRITE/s SWAPIN +IO COMMAND' "S4-018: iotop's columns, a row for each thread"
if [ "$(cat /proc/sys/kernel/task_delayacct 2>/dev/null)" = 0 ]; then
	like "$err" 'SWAPIN and IO stay 0: kernel.task_delayacct is 0' "S4-018: says when delays are not counted"
else
	unlike "$err" 'task_delayacct' "S4-018: delays are counted, nothing to say"
fi
cat >writer.c <<'END'
#include <fcntl.h>
#include <unistd.h>
static char block[1 << 20];
int main(int argc, char **argv)
{
	int fd = open(argv[1], O_CREAT | O_WRONLY | O_TRUNC, 0600);
	for (;;) {
		if (pwrite(fd, block, sizeof(block), 0) < 0 || fdatasync(fd))
			return 1;
		usleep(10000);
	}
}
END
gcc -O1 -o writer writer.c && { ./writer written & }
writer=$!
wait_until grep -qE '^write_bytes: [1-9][0-9]{6}' /proc/$writer/io
"$SONDE" who -b -n 1 -d 0.5 --io --json -s WRITE/s >io.json 2>/dev/null
kill -9 $writer
is "$(python3 -c 'import json; r = json.load(open("io.json"))["tasks"]; print(next(t["write_kib_per_s"] > 0 for t in r if t["command"] == "writer"))')" True \
	"S4-018: who writes is seen writing"

# ---- without privileges
if command -v setpriv >/dev/null; then
	chmod 755 "$SONDE_TMP"
	cp "$SONDE" unprivileged-sonde && chmod 755 unprivileged-sonde
	exits 0 "S4-019: without root" setpriv --reuid 65534 --regid 65534 --clear-groups ./unprivileged-sonde who -b -n 1 -d 0.01 --io
	like "$err" 'disk I/O of [0-9]+ tasks? cannot be read: permission denied' "S4-019: says what is missing"
	like "$err" 'hint: run as root' "S4-019: and what helps"
	like "$err" 'SWAPIN and IO are not known: delay accounting needs CAP_NET_ADMIN' "S4-019: also of delays"
	exits 0 "S4-019: the plain table needs nothing" setpriv --reuid 65534 --regid 65534 --clear-groups ./unprivileged-sonde who -b -n 1 -d 0.01
	like "$err" 'processes that begin and end between two tables are not seen: that needs CAP_NET_ADMIN' "S4-019: says what it cannot see"
	is "$(printf '%s\n' "$err" | grep -c note:)" 1 "S4-019: in one line"
else
	skip "setpriv is not installed" "S4-019: without root"
fi

# ---- the screen
if ! command -v tmux >/dev/null; then
	skip "tmux is not installed" "S4-016 S4-017 S4-020 S4-021 S4-071: the screen"
	done_testing
	exit
fi
export TMUX_TMPDIR=$SONDE_TMP
term() { tmux -f /dev/null -L "sonde-who-$$" "$@"; }
trap 'term kill-server 2>/dev/null; kill -9 $pid $spin 2>/dev/null; rm -rf "$SONDE_TMP"' EXIT
screen_has() { wait_for=$1; wait_until shows; }
shows() { term capture-pane -p 2>/dev/null | grep -Eq -- "$wait_for"; }
lacks() { ! shows; }
term new-session -d -x 120 -y 40 "env TERM=screen HOME=$HOME XDG_CONFIG_HOME=$XDG_CONFIG_HOME $SONDE who -d 0.3 -u 2"
screen_has 'plan\) S \(ted'
ok $? "S0-002: the live screen shows the process" || diag "$(term capture-pane -p)"
like "$(term capture-pane -p)" '^ +PID USER +PR +NI +VIRT +RES +SHR S +%CPU +%MEM +TIME\+ COMMAND' "S0-002: with top's columns"
like "$(term capture-pane -p)" '^%Cpu\(s\): .* us, .* sy, .* ni, .* id,' "S4-017: one line for all CPUs"
term send-keys 1
screen_has '^%Cpu0 +: '
ok $? "S4-017: 1 shows a line for each"
is "$(term capture-pane -p | grep -c '^%Cpu[0-9]')" "$(grep -c '^cpu[0-9]' /proc/stat)" "S4-017: as many as there are"
term send-keys 1
screen_has '^%Cpu\(s\):'
ok $? "S4-017: and again one for all"
term send-keys f
screen_has '^Fields Management for window 1:Def, whose current sort field is %CPU$'
ok $? "S4-020: f opens the fields screen, which names window and sort field" || diag "$(term capture-pane -p)"
text=$(term capture-pane -p)
like "$text" 'Navigate with Up/Dn, Right selects for move then <Enter> or Left commits' "S4-021: it explains its keys"
like "$text" "'d' or <Space> toggles display, 's' sets sort" "S4-021: all of them"
like "$text" '^\* PID +=' "S4-071: a star before what is shown"
like "$text" '^  PPID +=' "S4-071: none before what is not"
term send-keys Down Down d
screen_has '^  PR +='
ok $? "S4-021: d hides a field"
term send-keys Space
screen_has '^\* PR +='
ok $? "S4-021: Space shows it again"
term send-keys s
screen_has 'sort field is PR$'
ok $? "S4-021: s sets the sort field"
term send-keys Right Up Up Enter
first_line() { term capture-pane -p | sed -n 5p | grep -q '^\* *PR '; }
wait_until first_line
ok $? "S4-021: Right, Up and Enter move it" || diag "$(term capture-pane -p)"
# The page faults and the CPU, wherever they are.
for name in nMaj nMin P; do
	term send-keys Home
	at=$("$SONDE" who -O | awk -v n="$name" '{ print $1 } $1 == n { exit }' | grep -c .)
	# Those that are shown come first: count the others up to it.
	shown=$("$SONDE" who -O | awk -v n="$name" '$1 == n { exit } { print $1 }' | grep -cxE 'PID|USER|PR|NI|VIRT|RES|SHR|S|%CPU|%MEM|TIME\+|COMMAND')
	keys=()
	for ((i = 0; i < 12 + at - 1 - shown; i++)); do keys+=(Down); done
	term send-keys "${keys[@]}" d
	screen_has "^\\* $name +="
	ok $? "S4-016: $name is chosen" || diag "$(term capture-pane -p)"
done
term send-keys q
screen_has '^ *PR +PID USER .* nMaj +nMin +P|^ *PR +PID USER .*COMMAND .*P +nMaj +nMin'
ok $? "S4-016: page faults and the last CPU are columns, moved and sorted as chosen" || diag "$(term capture-pane -p)"
term send-keys q
# Esc ends the fields screen too.
term kill-server 2>/dev/null
term new-session -d -x 120 -y 40 "env TERM=screen HOME=$HOME XDG_CONFIG_HOME=$XDG_CONFIG_HOME $SONDE who -d 0.3 -u 2"
screen_has 'plan\) S \(ted'
term send-keys f
screen_has '^Fields Management'
term send-keys Escape
wait_for='^Fields Management'
wait_until lacks
ok $? "S4-021: Esc ends it"
term send-keys q
done_testing
