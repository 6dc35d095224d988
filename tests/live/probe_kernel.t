#!/usr/bin/env bash
# where: 6.1 6.12
# needs: root tracefs
# timeout: 300
# smp: 1
# Probes in the kernel by address, of many functions at once, of kinds that a kernel may not have; places that it refuses, in words. In a guest.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root tracefs guest kprobes
cd "$SONDE_TMP" || exit 1
events=$tracefs/kprobe_events
probe() { "$SONDE" probe "$@"; }
hits() { # GROUP/EVENT: with it on, seven reads of 1234 bytes
	local inst=$tracefs/instances/k
	mkdir "$inst"
	echo 1 >"$inst/events/$1/enable"
	dd if=/dev/zero of=/dev/null bs=1234 count=7 2>/dev/null
	echo 0 >"$inst/events/$1/enable"
	grep -v '^#' "$inst/trace" >traced
	rmdir "$inst"
}

# ---- by address: kept as symbol and distance, which also hold after the next boot ----------------------------------------------------
start=$(awk '$3 == "vfs_read" { print $1; exit }' /proc/kallsyms)
second=$(probe --offsets vfs_read | awk 'NR == 2 { print substr($1, 2) }')
exits 0 "an address" probe -q -a "k:start=0x$start" -a "k:second=$(printf 0x%x $((0x$start + second)))"
is "$(sed 's/ .*vfs_read/ vfs_read/' $events | tr '\n' ';')" "p:k/start vfs_read;p:k/second vfs_read+$second;" "is written as function and offset"
hits k/second
[ "$(wc -l <traced)" -ge 7 ]
ok $? "and hit" || diag "$(cat traced)"
exits 0 "without a name" probe -D "0x$start"
like "$out" "^p:probe/abs_$start vfs_read\\+0\$" "it is named after the address, as perf does"
middle=$(probe --offsets vfs_read | awk '{ n = substr($1, 2) + 0; if (NR > 1 && n > last + 1) { print last + 1; exit } last = n }')
exits 1 "an address inside of an instruction" probe "k:inside=$(printf 0x%x $((0x$start + middle)))"
like "$err" 'vfs_read\+[0-9]+, in the middle of an instruction' "is refused before the kernel is asked"

# ---- several places of one event ------------------------------------------------------------------------------------------------------
exits 0 "another place for an event that is there" probe -q 'p:k/start vfs_write'
is "$(probe -l k:start | wc -l)" 2 "is listed beside the first"
exits 0 "the kernel's words remove, too" probe '-:k/start'
is "$err" "Removed event: k:start" "the event is named, once"
is "$(grep -c 'k/start' $events)" 0 "with all its places"
exits 0 "a pattern for the list that nothing matches" probe -l k:nothing
like "$err" "no probe matches 'k:nothing'" "is answered"

# ---- many at once ------------------------------------------------------------------------------------------------------------------------
awk '{ print $1 }' $tracefs/available_filter_functions | grep '^vfs_\|^tcp_\|^udp_' | sort -u | head -100 >names
many=()
while read -r name; do many+=(-a "many:e${#many[@]}=$name"); done <names
grep . $events >before
exits 0 "a hundred functions" probe -q "${many[@]}"
is "$(grep -c ':many/' $events)" "$(wc -l <names)" "all are there"
exits 0 "are removed" probe -q -d 'many:*'
for wait in 0.02 0.1 0.3 0.5; do
	"$SONDE" probe -q "${many[@]}" >/dev/null 2>&1 &
	pid=$!
	sleep $wait
	kill -KILL $pid 2>/dev/null
	wait $pid 2>/dev/null
	gone() { ! compgen -G "/run/sonde/ftrace/$pid-*.journal" >/dev/null; }
	wait_until gone
	n=$(grep -c ':many/' $events)
	[ "$n" = 0 ] || [ "$n" = "$(wc -l <names)" ]
	ok $? "killed after $wait s: all of them or none ($n)"
	[ "$n" = 0 ] || probe -q -d 'many:*'
done
grep . $events >after
is "$(diff before after)" "" "those of others are as they were"

# ---- kinds of probes --------------------------------------------------------------------------------------------------------------------
if grep -q '^[[:space:]]*f\[:\[' $tracefs/README; then
	exits 0 "an fprobe" probe -q 'f:k/entry vfs_read count'
	hits k/entry
	is "$(grep -c ' count=1234' traced)" 7 "has the parameter that BTF knows"
	exits 0 "a tracepoint without an event of its own" probe -q 'k:switch=t:sched_switch next->pid'
	hits k/switch
	like "$(head -1 traced)" ' switch: .* pid=[0-9]+$' "has a member of its argument"
	exits 0 "one that is not there" probe -n 'k:no=t:sched_swtich'
	like "$err" "warning: no tracepoint 'sched_swtich'" "is announced: the kernel would wait for a module"
	like "$err" "did you mean 'sched_switch'" "with what was meant"
	exits 1 "a parameter that it has not" probe 'k:no=t:sched_switch nxt'
	like "$err" 'hint: its parameters are: .*prev, next' "is answered with those that it has"
else
	exits 1 "an fprobe on a kernel without" probe 'f:k/entry vfs_read'
	like "$err" 'this kernel has no fprobe events' "is refused in words"
	exits 1 "a probe on a tracepoint" probe 'k:switch=t:sched_switch'
	like "$err" 'no probes on tracepoints \(t:\)' "is refused in words, too"
	like "$err" 'hint: .*sonde list' "and what there is instead is named"
fi

# ---- what the kernel refuses --------------------------------------------------------------------------------------------------------------
if grep -q ' sched_clock$' /proc/kallsyms && ! grep -qx sched_clock $tracefs/available_filter_functions; then
	exits 1 "a function that cannot be traced" probe sched_clock
	like "$err" 'sched_clock is marked notrace|does not allow probes on sched_clock' "the reason is given"
else
	skip "sched_clock can be traced here" "a function that cannot be traced"
fi
exits 1 "run inside of an instruction" "$SONDE" run -e "kprobe:vfs_read+$middle { @ = count(); }"
like "$err" "kprobe:vfs_read\\+$middle: it is in the middle of an instruction" "is refused in words"
unlike "$err" 'multibyte' "not those of libc"
exits 0 "run at an instruction" "$SONDE" run -c 'cat /proc/version' -e "kprobe:vfs_read+$second { @ = count(); }"
like "$out" '^@: [1-9]' "counts"
probe -q -d 'k:*'
is "$(cat $events)" "" "nothing of ours stays"
done_testing
