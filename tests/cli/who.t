#!/usr/bin/env bash
# `sonde who` on a fake /proc: text, CSV, JSON, filters, order, trees, sums; what it refuses; terminals that cannot draw.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde python3
root=$SONDE_TMP/root
cd "$SONDE_TMP" || exit 1

# task PID PPID NAME TICKS UID
task() {
	mkdir -p "$root/proc/$1"
	printf '%d (%b) S %d %d %d 0 -1 0 0 0 0 0 %d 0 0 0 20 0 1 0 %d 4096000 100 0\n' "$1" "$3" "$2" "$1" "$1" "$4" "$1" >"$root/proc/$1/stat"
	printf '1000 100 50 2 0 30 0\n' >"$root/proc/$1/statm"
	printf 'Name:\tx\nUid:\t%d\t%d\t%d\t%d\nGid:\t0\t0\t0\t0\nGroups:\t\n' "$5" "$5" "$5" "$5" >"$root/proc/$1/status"
}
task 1 0 init 100 0
task 20 1 shell 10 1001
task 30 20 'odd\n\033[31m) R (name' 300 1001
mkdir -p "$root/etc"
printf 'root:x:0:0::/:/bin/sh\nada:x:1001:1001::/:/bin/sh\n' >"$root/etc/passwd"
printf 'cpu  1 2 3 4 5 6 7 8\ncpu0 1 2 3 4 5 6 7 8\n' >"$root/proc/stat"
printf 'MemTotal: 100000 kB\nMemFree: 50000 kB\nMemAvailable: 60000 kB\n' >"$root/proc/meminfo"
who() { "$SONDE" who -b -n 1 -d 0.01 --sysroot "$root" "$@"; }
export -f who
export root

exits 0 "a table" who -s PID
like "$out" '^Tasks: 3 total, 0 running, 3 sleeping, 0 stopped, 0 zombie$' "counts"
like "$out" '^ +20 ada +20 +0 +4000 +400 +200 S +0\.0 +0\.4 +0:00\.10 shell$' "a row"
is "$err" "" "no messages"
exits 0 "CSV" who --csv -o PID,USER,COMMAND -s PID
like "$out" '^time,pid,user,command$' "names"
like "$out" '^[0-9]+\.[0-9]{9},20,ada,shell$' "values"
exits 0 "JSON" who --json -o PID,COMMAND -s TIME+
is "$(printf '%s\n' "$out" | python3 -c 'import json, sys; print(json.load(sys.stdin)["tasks"][0])')" \
	"{'pid': 30, 'command': 'odd\\n\\x1b[31m) R (name'}" "a name with everything in it"
exits 0 "filters" who -o PID -f USER=ad -f 'PID>20'
is "$(printf '%s\n' "$out" | tail -1 | tr -d ' ')" 30 "both hold"
exits 0 "-u" who -o PID -u ada
is "$(printf '%s\n' "$out" | grep -cE '^ +[0-9]+$')" 2 "a user's tasks"
exits 0 "-p" who -o PID -p 1,20
is "$(printf '%s\n' "$out" | grep -cE '^ +[0-9]+$')" 2 "some tasks"
exits 0 "-V" who -o PID,COMMAND -V
like "$out" '^ +20  `- shell$' "a child"
exits 0 "--by" who --by USER
like "$out" '^ada +2 +8000 +800 ' "two tasks of one user"
exits 0 "-o +" who -o +nMin,-USER --max-rows 1
like "$out" '^ +PID +PR .* COMMAND +nMin$' "added and removed"
exits 0 "-O" "$SONDE" who -O
like "$out" '^nMaj +major_faults +Major Page Faults$' "the columns"

exits 129 "an unknown column" who -o PID,NOSUCH
like "$err" "unknown column 'NOSUCH'" "names it"
exits 129 "a misspelt one" who -o COMAND
like "$err" "did you mean 'COMMAND'" "and what is close"
exits 129 "to sort by" who -s NOSUCH
exits 129 "to add up by" who --by PID
like "$err" 'takes a column that is a text' "says why"
exits 129 "a bad filter" who -f PID
like "$err" "invalid filter 'PID'" "names it"
exits 129 "a bad delay" "$SONDE" who -b -d abc
like "$err" "invalid delay 'abc'" "names it"
exits 129 "no delay at all" "$SONDE" who -b -d 0
exits 129 "a bad process ID" who -p 12x
like "$err" "invalid process ID '12x'" "names it"
exits 129 "an unknown user" who -u nobody-of-that-name
exits 129 "a word too much" "$SONDE" who -b 1
like "$err" "unexpected argument '1'" "names it"
exits 1 "no such root" "$SONDE" who -b -n 1 --sysroot "$SONDE_TMP/none"
mkdir "$SONDE_TMP/empty"
exits 1 "no /proc" "$SONDE" who -b -n 1 --sysroot "$SONDE_TMP/empty"
like "$err" 'cannot read /proc: No such file' "says so"
like "$err" 'hint: mount -t proc' "and what helps"

# On a terminal: names that it would obey, and terminals that cannot draw.
tty() { python3 "$SONDE_SRC/tests/cli/terminal.py" run "$@" </dev/null; }
export HOME=$SONDE_TMP
TERM=xterm tty got "$SONDE" who -b -n 1 -d 0.01 --sysroot "$root"
is "$(python3 "$SONDE_SRC/tests/cli/terminal.py" strict got)" "" "nothing that a terminal obeys"
TERM=dumb tty got "$SONDE" who -n 1 -d 0.01 --sysroot "$root"
like "$(tr -d '\r' <got)" '^ +20 ada .* shell$' "TERM=dumb: plain text"
"$SONDE" who -n 1 -d 0.01 --sysroot "$root" >piped 2>&1 </dev/null
like "$(cat piped)" '^ +20 ada .* shell$' "no terminal: plain text"
done_testing
