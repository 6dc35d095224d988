#!/usr/bin/env bash
# where: arm64
# needs: root
# timeout: 300
# Rows of the acceptance matrix: `stat` with hardware counters, on those that QEMU plays for arm64 (cycles, instructions and a few
# more; instructions are exact).
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events pmu tracefs
cd "$SONDE_TMP" || exit 1
[ "$SONDE_GUEST" = host ] || WAIT_SECONDS=30
mkdir bin && ln -s "$SONDE" bin/sonde
export PATH=$PWD/bin:$PATH
ln -s "$SONDE" noploop
between() { # VALUE LOW HIGH NAME
	awk -v v="$1" -v a="$2" -v b="$3" 'BEGIN { exit !(v != "" && v + 0 >= a && v + 0 <= b) }'
	ok $? "$4" || diag "got '$1', want $2 to $3"
}
count() { # EVENT CMD...
	local event=$1
	shift
	sonde stat -x, -e "$event" -- "$@" 2>&1 >/dev/null | cut -d, -f1
}

# ---- until Ctrl-C
sonde stat -a -d 2>until.err &
pid=$!
wait_until catches $pid INT
wait_until counts_events $pid
sleep 2
kill -INT $pid
wait $pid
is $? 130 "S0-005: stat -a -d runs until Ctrl-C, and dies of it"
err=$(cat until.err)
like "$err" "stats for 'system wide':" "S0-005: then it prints"
for event in cpu-clock context-switches cpu-migrations page-faults cycles instructions branches branch-misses L1-dcache-loads L1-dcache-load-misses LLC-loads LLC-load-misses; do
	like "$err" " $event( |\$)" "S0-005: $event"
done
between "$(awk '/seconds time elapsed/ { print $1 }' <<<"$err")" 1 6 "S0-005: for as long as it ran"
between "$(awk '$2 == "cycles" { print $1 }' <<<"$err")" 1000 1000000000000 "S0-005 S0-023 S1-006: cycles have real counts"

# ---- detailed
exits 0 "S0-025: stat -ddd ./noploop" sonde stat -ddd ./noploop workload noploop 0.3
is "$(awk 'NF && /task-clock/,/^$/ { print ($2 == "supported>" || $2 == "counted>" || $2 == "msec") ? $3 : $2 }' <<<"$err" | sed '/^$/d' | xargs)" \
	"task-clock context-switches cpu-migrations page-faults cycles instructions branches branch-misses L1-dcache-loads L1-dcache-load-misses LLC-loads LLC-load-misses L1-icache-loads L1-icache-load-misses dTLB-loads dTLB-load-misses iTLB-loads iTLB-load-misses L1-dcache-prefetches L1-dcache-prefetch-misses" \
	"S0-025: twenty rows in perf's order" || diag "$err"
like "$err" 'instructions +# +[0-9.]+ +insn per cycle' "S0-025: ratios"
like "$err" 'cycles +# +[0-9.]+ GHz' "S0-025: and the clock"
like "$err" '[0-9]+\.[0-9]{9} seconds user' "S0-025: user seconds"

# ---- names
list=$(sonde list hw)
alias_of() { # ROW NAMES...
	local row=$1 joined
	shift
	joined=$(printf '%s OR ' "$@")
	like "$list" "^  ${joined% OR } +\[Hardware event\]\$" "$row: listed"
}
alias_of S4-124 cpu-cycles cycles
for e in cpu-cycles cycles; do
	between "$(count $e:u sonde workload syscalls 1000)" 1000 100000000000 "S4-124: $e is counted"
done
alias_of S4-125 instructions
a=$(count instructions:u sonde workload syscalls 1000)
is "$(count instructions:u sonde workload syscalls 1000)" "$a" "S4-125 S0-023 S1-006: instructions are counted, to the digit"
all=$(sonde list hw --all)
for pair in "S4-131 stalled-cycles-frontend idle-cycles-frontend" "S4-132 stalled-cycles-backend idle-cycles-backend"; do
	read -r row one two <<<"$pair"
	like "$all" "^  $one OR $two +\[Hardware event\]" "$row: listed"
	for e in $one $two; do
		exits 0 "$row: stat -e $e" sonde stat -x, -e $e -- true
		like "$err" "^([0-9]+|<not supported>),,$e," "$row: $e is an event; QEMU may have none of it"
	done
done
like "$(sonde list raw)" '^  rNNN +\[Raw hardware event descriptor\]$' "S4-165: rNNN is listed"
for code in r11 r8 r1b r0; do
	exits 0 "S4-165: $code" sonde stat -x, -e $code -- true
	like "$err" "^([0-9]+|<not supported>),,$code," "S4-165: is an event"
done
between "$(count r11:u sonde workload syscalls 1000)" 1000 100000000000 "S4-165 S4-171: r11 counts cycles"
is "$(count r8:u sonde workload syscalls 1000)" "$(count instructions:u sonde workload syscalls 1000)" "S4-170 S4-171: instructions and r8 are the same"
pmu=$(cd /sys/bus/event_source/devices && ls -d armv8*)
is "$(count $pmu/event=0x8/u sonde workload syscalls 1000)" "$(count instructions:u sonde workload syscalls 1000)" "S4-166 S4-170: $pmu/event=0x8/u, too"
like "$(count $pmu/cpu_cycles/ true)" '^[0-9]+$' "S4-166: a name of the kernel's"
like "$(count $pmu/config=0x11,name=mine/ true)" '^[0-9]+$' "S4-166: general terms"
exits 129 "S4-166: a term that the PMU has not" sonde stat -e "$pmu/evnt=1/" -- true
like "$err" 'did you mean event' "S4-166: is said with what is close"
exits 0 "S4-171: record of a raw event" sonde record -e r11:u -c 1000000 -o raw.data -- sonde workload leaf 1
like "$(sonde report -i raw.data 2>&1)" "of event 'r11:u'" "S4-171: is sampled"

# ---- modifiers of libpfm's kind and ours
u=$(count cycles:u sonde workload syscalls 3000) k=$(count cycles:k sonde workload syscalls 3000) both=$(count cycles sonde workload syscalls 3000)
between "$u" 1000 "$both" "S4-204: u is user space"
between "$k" 1000 $((both * 2)) "S4-203: k is the kernel"
between $((u + k)) $((both / 2)) $((both * 2)) "S4-203 S4-204: both are the whole"
exits 0 "S4-203 S4-204: libpfm's spelling" sonde stat -x, -e 'arm_n1::CPU_CYCLES:u,arm_n1::CPU_CYCLES:k' -- true
if grep -q '^[0-9].*CPU_CYCLES:u' <<<"$err"; then
	is "$(grep -c '^[0-9]' <<<"$err")" 2 "S4-203 S4-204: is counted"
else
	diag "$err"
	skip "libpfm does not know this CPU" "S4-203 S4-204: is counted"
fi
exits 0 "S4-234: D pins an event" sonde stat -x, -e cycles:D -- true
like "$err" '^[0-9]+,,cycles:D,[0-9]+,100\.00,' "S4-234: it always has the hardware"
eight=r11:D,r11:D,r11:D,r11:D,r11:D,r11:D,r11:D,r11:D,r11:D,r11:D,r11:D,r11:D
exits 0 "S4-234: more pinned events than counters" sonde stat -x, -e $eight -- sonde workload noploop 0.3
like "$err" '^<not counted>' "S4-234: what did not fit says so"

# ---- more events than counters
twelve=r11,r11,r11,r11,r11,r11,r11,r11,r11,r11,r11,r11
exits 0 "S4-212: twelve events on seven counters" sonde stat -e $twelve -- sonde workload noploop 2
is "$(grep -cE '^ +[0-9]+ +r11' <<<"$err")" 12 "S4-212: all are counted"
is "$(grep -cE '\([0-9.]+%\)$' <<<"$err")" 12 "S4-213: the kernel shares the hardware among them, and each row says how much it had"
low=$(awk '/r11/ { print $1 }' <<<"$err" | sort -n | head -1) high=$(awk '/r11/ { print $1 }' <<<"$err" | sort -n | tail -1)
between $(((high - low) * 100 / high)) 0 10 "S4-213: scaled to the whole time, they agree"
done_testing
