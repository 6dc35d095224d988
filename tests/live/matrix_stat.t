#!/usr/bin/env bash
# where: host
# needs: root
# timeout: 300
# Rows of the acceptance matrix: `stat` and the event language where no hardware counters are needed.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events tracefs
cd "$SONDE_TMP" || exit 1
mkdir bin && ln -s "$SONDE" bin/sonde && ln -s "$SONDE" bin/perf
export PATH=$PWD/bin:$PATH
trap 'remove_probes; rm -rf "$SONDE_TMP"' EXIT
between() { # VALUE LOW HIGH NAME
	awk -v v="$1" -v a="$2" -v b="$3" 'BEGIN { exit !(v != "" && v + 0 >= a && v + 0 <= b) }'
	ok $? "$4" || diag "got '$1', want $2 to $3"
}
field() { awk -v e="$2" '$0 ~ e { print $1; exit }' <<<"$1"; }

# ---- what is counted, and where it is printed
exits 0 "S4-121 S4-294: stat COMMAND" sonde stat ls /
like "$out" 'usr' "S4-121 S4-294: the command's own output"
unlike "$out" 'Performance counter' "S4-121 S4-294: and nothing else"
like "$err" "Performance counter stats for 'ls /':" "S4-121 S4-294: counts on standard error"
for event in task-clock context-switches cpu-migrations page-faults cycles instructions branches branch-misses; do
	like "$err" " $event( |\$)" "S4-121 S4-294: $event"
done
exits 0 "S4-219: stat -e minor-faults -- ls" perf stat -e minor-faults -- ls /
like "$out" 'usr' "S4-219: the output of ls is untouched"
faults=$(field "$err" minor-faults)
between "$faults" 20 5000 "S4-219 S4-218: a program has page faults"
mapfile -t lines <<<"$err"
is "${lines[0]}" "" "S4-220: a blank line"
is "${lines[1]}" " Performance counter stats for 'ls /':" "S4-220: the heading"
is "${lines[2]}" "" "S4-220: a blank line"
like "${lines[3]}" '^ {0,18}[0-9]+      minor-faults +$' "S4-220: count and event"
is "${lines[4]}" "" "S4-220: a blank line"
like "${lines[5]}" '^ +[0-9]+\.[0-9]{9} seconds time elapsed$' "S4-220: the time, with nine decimals"
like "$err" '[0-9]+\.[0-9]{9} seconds user' "S4-220: user seconds, as newer ones have"

exits 0 "S4-218: all software events" sonde stat -x, -e cpu-clock,task-clock,page-faults,context-switches,cpu-migrations,minor-faults,major-faults,alignment-faults,emulation-faults,dummy -- sonde workload faults 1000
is "$(cut -d, -f3 <<<"$err" | xargs)" "cpu-clock task-clock page-faults context-switches cpu-migrations minor-faults major-faults alignment-faults emulation-faults dummy" "S4-218: a row for each"
unlike "$err" 'not supported|not counted' "S4-218: all are counted without a PMU"

# ---- every software event by its names: listed, counted
list=$(sonde list sw)
listed() { like "$list" "^  $2 +\[Software event\]\$" "$1: listed"; }
counts() { # ROW EVENT COMMAND...: sets $n
	local row=$1 event=$2
	shift 2
	n=$(sonde stat -x, -e "$event" -- "$@" 2>&1 >/dev/null | cut -d, -f1)
	like "$n" '^[0-9.]+$' "$row: $event is counted"
}
listed S4-134 cpu-clock
fifth() { # ROW EVENT; a machine that stands still counts that too: once more then
	local i
	for i in 1 2 3 4 5 6 7 8; do
		counts "$1" "$2" sonde workload noploop 0.2
		[ "${n%.*}" -gt 400 ] || break
	done
	between "$n" 195 400 "$1: a fifth of a second of a busy loop"
}
fifth S4-134 cpu-clock
listed S4-135 task-clock
fifth S4-135 task-clock
listed S4-136 'page-faults OR faults'
for e in page-faults faults; do
	counts S4-136 $e sonde workload faults 3000
	between "$n" 3000 9000 "S4-136: 3000 pages are at least 3000 faults"
done
listed S4-137 'context-switches OR cs'
for e in context-switches cs; do
	counts S4-137 $e sonde workload switches 500
	between "$n" 999 9000 "S4-137: 500 round trips are 1000 switches"
done
counts S4-137 cs:u sonde workload switches 500
is "$n" 0 "S4-137: of user space there are none"
listed S4-138 'cpu-migrations OR migrations'
for e in cpu-migrations migrations; do
	counts S4-138 $e true
done
if [ "$(nproc)" -gt 1 ] && command -v taskset >/dev/null; then
	first=$(sed 's/[-,].*//' /sys/devices/system/cpu/online) last=$(sed 's/.*[-,]//' /sys/devices/system/cpu/online)
	counts S4-138 migrations sh -c "for i in 1 2 3 4 5; do taskset -p -c $first \$\$; taskset -p -c $last \$\$; done"
	between "$n" 5 500 "S4-138: a task that is sent back and forth"
fi
listed S4-139 minor-faults
counts S4-139 minor-faults sonde workload faults 3000
between "$n" 3000 9000 "S4-139: 3000 pages"
listed S4-140 major-faults
counts S4-140 major-faults true
for row in S4-141:alignment-faults S4-142:emulation-faults S4-143:dummy; do
	listed "${row%%:*}" "${row##*:}"
	counts "${row%%:*}" "${row##*:}" true
	is "$n" 0 "${row%%:*}: none here"
done

# ---- modifiers
exits 0 "S4-235: stat -e minor-faults:u -e minor-faults:k -- ls" sonde stat -e minor-faults:u -e minor-faults:k -- ls /
u=$(field "$err" minor-faults:u) k=$(field "$err" minor-faults:k)
is "$(grep -oE 'minor-faults:[uk]' <<<"$err" | xargs)" "minor-faults:u minor-faults:k" "S4-236: names are printed as typed"
between "$u" 20 5000 "S4-227 S4-226: :u counts user space"
between "$k" 0 500 "S4-228 S4-226: :k counts the kernel"
n=$(sonde stat -x, -e minor-faults -- ls / 2>&1 >/dev/null | cut -d, -f1)
between $((u + k)) $((n * 9 / 10 - 10)) $((n * 11 / 10 + 10)) "S4-235: together they are what is counted without"
u=$(sonde stat -x, -e syscalls:sys_enter_getppid,faults:u -- sonde workload faults 2000 2>&1 >/dev/null | awk -F, '/faults:u/ { print $1 }')
between "$u" 2000 9000 "S4-227: pages touched by a program are its own faults"
for m in u k uk h G H ukh; do
	exits 0 "S4-226: modifier :$m" sonde stat -x, -e "faults:$m" -- true
	like "$err" "^[0-9]+,,faults:$m," "S4-226: faults:$m is counted and keeps its name"
done

# ---- CPUs
cpu=$(sed 's/.*[-,]//' /sys/devices/system/cpu/online)
calm 1400 exits 0 "S0-024: stat -C $cpu -- sleep 1" sonde stat -C "$cpu" -- sleep 1
like "$err" "Performance counter stats for 'CPU\(s\) $cpu':" "S0-024: says which CPU"
like "$err" "^ +[0-9.]+ msec cpu-clock +# +[0-9.]+ CPUs utilized" "S0-024: cpu-clock is the first of the default events"
between "$(field "$err" cpu-clock)" 900 1500 "S0-024: one CPU for a second"
between "$(field "$err" 'seconds time elapsed')" 1 1.5 "S0-024 S4-223: sleep says how long"
exits 0 "S0-024: a CPU that is not there" sonde stat -C 4000 -- true
like "$err" 'CPU 4000: missing or offline' "S0-024: is said"
exits 0 "S0-024: lists and ranges" sonde stat -C 0-0 -e cs -- true
exits 0 "S4-221: stat -e minor-faults -a -A -- ls" sonde stat -e minor-faults -a -A -- ls /
is "$(grep -cE '^CPU[0-9]+ +[0-9]+ +minor-faults' <<<"$err")" "$(nproc --all)" "S4-221 S4-222 S4-225: a row for each CPU"
like "$err" "stats for 'system wide':" "S4-222: -a is the whole system"
exits 129 "S4-221: minor-faults-a, as typed, is no event" sonde stat -e minor-faults-a -A -- ls
like "$err" "minor-faults-a" "S4-221: and is named"
exits 0 "S4-225: zero rows, too" sonde stat -a -A -e emulation-faults -- true
is "$(grep -E '^CPU' <<<"$err" | sed -E 's/^(CPU[0-9]+) +0 +emulation-faults.*/\1/' | xargs)" \
	"$(for i in $(seq 0 $(($(nproc --all) - 1))); do echo CPU$i; done | xargs)" "S4-225: CPUn, count, event"

# ---- CSV
exits 0 "S4-224: -x, glued" sonde stat -x, -e minor-faults -- true
like "$err" '^[0-9]+,,minor-faults,[0-9]+,100\.00,,$' "S4-224: value, unit, event, run time, percentage, ratio, its unit"
exits 0 "S4-224: -x , apart" sonde stat -x , -e minor-faults -- true
like "$err" '^[0-9]+,,minor-faults,' "S4-224: is the same"
exits 0 "S4-224: another separator" sonde stat -x ';' -e minor-faults -- true
like "$err" '^[0-9]+;;minor-faults;' "S4-224: is taken"
exits 0 "S4-224: with -A" sonde stat -x, -a -A -e minor-faults -- true
like "$err" '^CPU0,[0-9]+,,minor-faults,' "S4-224: the CPU stands first"
exits 0 "S4-224: with -I" sonde stat -x, -a -I 100 --interval-count 1 -e minor-faults
like "$err" '^ +[0-9]+\.[0-9]{9},[0-9]+,,minor-faults,' "S4-224: the time stands first"

# ---- layout of a raw event; without a PMU it is not supported, which is said in its place
calm 1900 exits 0 "S4-211: stat -e r13c -a sleep 1: options end at the first word" sonde stat -e r13c -a sleep 1
mapfile -t lines <<<"$err"
is "${lines[1]}" " Performance counter stats for 'system wide':" "S4-211: the heading"
like "${lines[3]}" '^ *([0-9,]+|<not supported>)      r13c +$' "S4-211: flush right, then the event"
like "$err" '^ +1\.[0-9]{9} seconds time elapsed$' "S4-211: the time, with nine decimals"
exits 0 "S4-211: thousands follow the locale" env LC_ALL=C sonde stat -a -e cpu-clock:u -- true
if locale -a 2>/dev/null | grep -qi '^en_US\.utf-\?8$'; then
	exits 0 "S4-211: in en_US" env LC_ALL=en_US.UTF-8 sonde stat -e faults -- sonde workload faults 5000
	like "$err" '^ +[0-9],[0-9]{3} +faults' "S4-211: a comma between thousands"
fi

# ---- over time
exits 0 "S0-007: a count every interval" sonde stat -a -e context-switches -I 200 --interval-count 3
is "$(grep -cE '^ +[0-9]+\.[0-9]{9} +[0-9]+ +context-switches' <<<"$err")" 3 "S0-007: each with its time"
is "$(awk '/context-switches/ { if ($1 <= last) bad = 1; last = $1 } END { print bad + 0 }' <<<"$err")" 0 "S0-007: which goes on"
calm 2900 exits 0 "S0-038: stat -a -e kmem:kmalloc -I 1000" sonde stat -a -e kmem:kmalloc -I 1000 -- sleep 2.5
is "$(head -1 <<<"$err")" "#           time             counts unit events" "S0-038: the column heads"
is "$(grep -cE '^ +[0-9]+\.[0-9]{9} +[0-9]+ +kmem:kmalloc' <<<"$err")" 3 "S0-038: a row a second, and the rest at the end"
between "$(awk '/kmem/ { print $1; exit }' <<<"$err")" 1 1.4 "S0-038: the first after a second"
exits 0 "S0-038: differences, not sums" sonde stat -x, -e syscalls:sys_enter_getppid -I 700 -- sh -c 'sonde workload syscalls 5000; sleep 1'
is "$(awk -F, '/getppid/ { s += $2; n++ } END { print (n >= 2), (s >= 5000 && s < 5100) }' <<<"$err")" "1 1" "S0-038: what was counted is counted once, whatever rows it falls into"

# ---- tracepoints
exits 0 "S0-034: hits of a tracepoint" sonde stat -x, -e syscalls:sys_enter_getppid,syscalls:sys_exit_getppid -- sonde workload syscalls 4321
n=$(cut -d, -f1 <<<"$err" | head -1)
between "$n" 4321 4400 "S0-034: as many as there were calls"
between "$(cut -d, -f1 <<<"$err" | tail -1)" "$n" "$n" "S0-034: and as many returns"

# ---- a probe on malloc, system-wide, every ten seconds
if add_probe_libc_malloc; then
	exits 0 "S0-061: stat -a -e probe_libc:malloc -I 10000" sonde stat -a -e probe_libc:malloc -I 10000 -- sh -c 'ls / >/dev/null; ls / >/dev/null; sleep 10.3'
	is "$(grep -cE '^ +[0-9]+\.[0-9]{9} +[0-9]+ +probe_libc:malloc' <<<"$err")" 2 "S0-061: a row after ten seconds, and the rest"
	# How late a row comes after that, is the machine's affair; it is before the command has ended.
	between "$(awk '/probe_libc/ { print $1; exit }' <<<"$err")" 10 "$(awk '/probe_libc/ { last = $1 } END { print last }' <<<"$err")" "S0-061: ten seconds"
	between "$(awk '/probe_libc/ { print $2; exit }' <<<"$err")" 10 100000000 "S0-061: calls of malloc of all programs"
	remove_probes
else
	skip "$reason" "S0-061: stat -a -e probe_libc:malloc -I 10000"
fi

# ---- breakpoints
if sonde stat -x, -e mem:0x1000:w -- true 2>&1 | grep -q '^[0-9]'; then
	exits 0 "S4-167: mem:ADDR:w" sonde stat -x, -e mem:0x1000:w,mem:0x1000/8:rw,mem:0x1000:x -- true
	is "$(cut -d, -f1,3 <<<"$err" | xargs)" "0,mem:0x1000:w 0,mem:0x1000/8:rw 0,mem:0x1000:x" "S4-167: nobody is there"
	cat >touch.c <<-'EOC'
		#include <stdio.h>
		volatile int hits;
		int main(void) { for (int i = 0; i < 1234; i++) hits++; return 0; }
	EOC
	if gcc -O0 -no-pie -o touch touch.c 2>/dev/null; then
		address=$(nm touch | awk '$3 == "hits" { print "0x" $1 }')
		exits 0 "S4-167: of a variable" sonde stat -x, -e "mem:$address/4:w:u" -- ./touch
		is "$(cut -d, -f1 <<<"$err")" 1234 "S4-167: each write is counted"
		exits 0 "S4-167: of code" sonde stat -x, -e "mem:0x$(nm touch | awk '$3 == "main" { print $1 }'):x" -- ./touch
		is "$(cut -d, -f1 <<<"$err")" 1 "S4-167: main runs once"
	else
		skip "gcc is not installed" "S4-167: of a variable"
	fi
else
	skip "no hardware breakpoints here" "S4-167: mem:ADDR:w"
fi

# ---- codes of events
exits 0 "S4-209 S4-202: rUUEE" env PERF_TEST_ATTR="$PWD" sonde stat -v -e r13c -- true
like "$err" 'r13c' "S4-209 S4-202: is an event"
code() { sonde list "$1" --details --all | awk -v u="\[$2\]" '/^Code/ { c = $3 } $0 ~ "^Umask.*" u { print c, $3; exit }'; }
if ! sonde list pfm 2>&1 | grep -q 'built without'; then
	is "$(code snb::CPU_CLK_UNHALTED REF_P)" "0x3c 0x01" "S4-202 S4-209: umask 01H and event 3CH"
	out=$(sonde list 'snb::L2_*' --details --all)
	for word in 'PMU name' 'Name' 'Equiv' 'Desc' 'Code' 'Umask-00'; do
		like "$out" "^$word[[:space:]]*:" "S4-174: $word"
	done
	is "$(code snb::L2_STORE_LOCK_RQSTS MISS)" "0x27 0x01" "S4-174: event and umask of a row"
	out=$(sonde list 'hswep_unc_cbo0::*' --details --all)
	like "$out" '^PMU name : hswep_unc_cbo0' "S4-185: uncore events have such a table, too"
	like "$out" '^Umask-.* : 0x' "S4-185: with their umasks"
else
	skip "built without libpfm4" "S4-174 S4-185 S4-202: tables"
fi

# ---- perf's other faces
exits 0 "S4-113: version --build-options" perf version --build-options
like "$out" 'libpfm4: \[ (on |OFF) *\]' "S4-113: says build options"
like "$out" 'zstd: \[ on' "S4-113: and what is there"
exits 0 "S4-295: test -w" perf test -w noploop 0.1
exits 0 "S4-295: workloads by name" sonde workload --list
like "$out" 'noploop' "S4-295: are listed"
exits 1 "S4-300: perf alone" perf
like "$out$err" 'The most commonly used perf commands are:' "S4-300: the heading"
like "$out$err" '^ +stat +[a-z]' "S4-300: commands with what they do"
like "$out$err" "See 'perf help COMMAND'" "S4-300: and where to read on"
done_testing
