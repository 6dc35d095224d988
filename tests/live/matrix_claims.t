#!/usr/bin/env bash
# where: host
# needs: root
# timeout: 200
# Rows of the acceptance matrix that claim something about the whole: that one program answers who, what, why and how, that it reaches all of the
# kernel's facilities, that they can be used by name, and that a mistake is explained.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events tracefs python3
cd "$SONDE_TMP" || exit 1

# ---- who, what, why, how: a program that does nothing but compute -------------------------------------------------------------------
"$SONDE" workload leaf 1000 &
busy=$!
trap 'kill -9 $busy 2>/dev/null; rm -rf "$SONDE_TMP"' EXIT
burn 50 $busy
# Its interval is as long as it takes the program to get a tenth of a second.
"$SONDE" who -b -n 2 -d 1 -p $busy -o PID,%CPU,COMMAND >who.txt
row=$(grep -E "^ *$busy " who.txt | tail -1)
awk -v "share=$(awk '{ print $2 }' <<<"$row")" 'BEGIN { exit !(share > 1) }'
ok $? "S0-001: who: the process that uses the CPU" || diag "$(cat who.txt)"
"$SONDE" what --csv -c 1 2 >what.csv 2>err
is "$(awk -F, 'END { print NR }' what.csv)" 3 "S0-001: what: counters of the system, a line per interval" || diag "$(cat what.csv err)"
exits 0 "S0-001: why: a profile of it" "$SONDE" record -q -e cpu-clock -F 999 -p $busy -o why.data -- bash -c "burn 100 $busy"
exits 0 "S0-001: why: which function" "$SONDE" report --stdio -g none -s sym -i why.data
like "$(grep -m1 '^ *[0-9]' <<<"$out")" 'workload_leaf' "S0-001: why: the function that it spends its time in"
exits 0 "S0-001: how: counts over time" "$SONDE" stat -x, -I 50 --interval-count 3 -e task-clock -p $busy
is "$(grep -c ',task-clock,' <<<"$err")" 3 "S0-001: how: one line per interval" || diag "$err"
exits 0 "S0-001: how: kept for later" "$SONDE" what --record how.data 0.1 3
exits 0 "S0-001: how: and shown again" "$SONDE" how how.data
like "$out" '[0-9]' "S0-001: how: with what changed"

# ---- a part of a program and each subsystem ----------------------------------------------------------------------------------------
like "$("$SONDE" report --stdio -g none -s sym -i why.data)" 'workload_leaf' "S0-006: CPU: by function"
exits 0 "S0-006: memory: page faults" "$SONDE" record -q -e minor-faults -c 1 -o faults.data -- "$SONDE" workload faults 5000
exits 0 "S0-006: memory: by function" "$SONDE" report --stdio -g none -s sym -i faults.data
like "$(grep -m1 '^ *[0-9]' <<<"$out")" 'workload_touch' "S0-006: memory: the function that touches it"
cat >send.py <<'END2'
import socket
a, b = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
a.bind(("127.0.0.1", 0))
for _ in range(100):
    b.sendto(b"x" * 700, a.getsockname())
    a.recv(1000)
END2
exits 0 "S0-006: network: a trace of what is sent" "$SONDE" record -q -e net:net_dev_xmit --filter 'len > 700' -o net.data -- python3 send.py
"$SONDE" script -i net.data -F comm,trace >net.txt
is "$(grep -c '^ *python3 .*dev=lo .*len=742' net.txt)" 100 "S0-006: network: every packet, and whose it was" || diag "$(head -3 net.txt)"

# ---- perf_event, ftrace and tracepoints, from one program and at once -----------------------------------------------------------------
calls=300
event=syscalls:sys_enter_getppid
exits 0 "S0-069: perf_event counts" "$SONDE" stat -x, -e $event -- "$SONDE" workload syscalls $calls
is "$(awk -F, '/getppid/ { print $1 }' <<<"$err")" $calls "S0-069: all of them"
exits 0 "S0-069: ftrace traces" "$SONDE" ftrace record -q -e $event -o trace.dat -F "$SONDE" workload syscalls $calls
is "$("$SONDE" ftrace report -i trace.dat | grep -c sys_enter_getppid)" $calls "S0-069: the same number"
# One command is counted and sampled by perf_event while it is traced by ftrace.
exits 0 "S1-001: tracepoints, perf_event and ftrace at once" "$SONDE" stat -x, -e $event,task-clock -- \
	"$SONDE" ftrace record -q -e $event -o both.dat -F "$SONDE" workload syscalls $calls
is "$(awk -F, '/getppid/ { print $1 }' <<<"$err")" $calls "S1-001: perf_event sees the tracepoint"
like "$err" '^[0-9.]+,msec,task-clock' "S1-001: and an event of its own"
is "$("$SONDE" ftrace report -i both.dat | grep -c sys_enter_getppid)" $calls "S1-001: so does ftrace"
like "$(head -1 what.csv)" '[a-z]' "S4-001: system counters"
is "$("$SONDE" stat -x, -e $event -- "$SONDE" workload syscalls 7 2>&1 >/dev/null | awk -F, '{ print $1 }')" 7 "S4-001: perf's counts"
"$SONDE" ftrace record -q -e $event -o seven.dat -F "$SONDE" workload syscalls 7
is "$("$SONDE" ftrace report -i seven.dat | grep -c sys_enter_getppid)" 7 "S4-001: ftrace's events"
# Statistics first: each of these says something about the running system without a recording.
for words in "who -b -n 1" "what 1 1" "stat -a -e context-switches -- true"; do
	# shellcheck disable=SC2086 # the words are words
	"$SONDE" $words >stats.txt 2>&1
	is "$?" 0 "S4-002: $words"
	like "$(cat stats.txt)" '[1-9]' "S4-002: $words: has numbers"
done

# ---- names, permissions, mistakes ----------------------------------------------------------------------------------------------------
# What the hardware calls 0x3c is called cycles; and without hardware the name still works, and says what it became.
exits 0 "S4-103: an event by its name" "$SONDE" stat -x, -e cycles,task-clock -- true
like "$err" '^([0-9]+|<not supported>),+cycles' "S4-103: is counted, or said to be missing"
exits 129 "S4-103: a misspelt one" "$SONDE" stat -e cycels -- true
like "$err" "did you mean cycles" "S4-103: is recognised"
paranoid=$(cat /proc/sys/kernel/perf_event_paranoid)
if [ "$paranoid" -gt 0 ] && command -v setpriv >/dev/null; then
	chmod 755 "$SONDE_TMP"
	exits 1 "S4-103: without the right to" setpriv --reuid=65534 --clear-groups "$SONDE" stat -a -e context-switches -- true
	like "$err" 'perf_event_paranoid' "S4-103: the setting is named"
	like "$err" 'hint: ' "S4-103: with what helps"
else
	skip "perf_event_paranoid is $paranoid here" "S4-103: without the right to"
fi
# mistake STATUS ERROR HINT COMMAND...: what failed on what, and what to do about it
mistake() {
	local status=$1 error=$2 hint=$3
	shift 3
	exits "$status" "S4-108: $*" "$SONDE" "$@"
	like "$err" "$error" "S4-108: $*: says what is wrong"
	like "$err" "hint: .*$hint" "S4-108: $*: and the remedy"
}
mistake 129 "unknown command 'recrod'" "did you mean 'record'" recrod
mistake 129 "unknown option '--frequancy'" "--help" record --frequancy 99
mistake 1 'nosuch.data' 'sonde record' report -i nosuch.data
mistake 129 "unknown event 'page-fautls'" 'did you mean page-faults' stat -e page-fautls -- true
mistake 129 "unknown column" 'who -O' who -b -n 1 -o nosuch

# ---- the pictures of the documents ------------------------------------------------------------------------------------------------
# ARCHITECTURE.md draws the same three paths. Each folder and module in them must exist.
path_of() { grep -E "^ $1 .*─►" "$SONDE_SRC/ARCHITECTURE.md"; }
parts_exist() { # LINE
	local part found=0
	for part in $(grep -oE '[a-z]+/(\{[a-z_,]+\}|[a-z_]+)' <<<"$1"); do
		for part in $(eval "echo $part"); do
			found=$((found + 1))
			[ -e "$SONDE_SRC/src/$part.c" ] || [ -e "$SONDE_SRC/src/$part.h" ] || [ -d "$SONDE_SRC/src/$part" ] || { diag "no $part"; return 1; }
		done
	done
	[ $found -gt 0 ]
}
for row in S0-033:perf_event:perf_event S0-083:ftrace:tracefs S0-103:BPF:bpf_sys; do
	IFS=: read -r id name interface <<<"$row"
	line=$(path_of "$name")
	like "$line" "$interface" "$id: the path of $name, with the kernel's interface"
	parts_exist "$line"
	ok $? "$id: its parts are in the tree"
done
done_testing
