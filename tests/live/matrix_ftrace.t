#!/usr/bin/env bash
# where: host
# needs: root tracefs
# timeout: 300
# Rows of the acceptance matrix: events, buffers, clocks and control files of ftrace that any kernel has. Everything happens in
# an instance of our own; the top-level buffer belongs to all.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root tracefs
cd "$SONDE_TMP" || exit 1
mkdir bin && ln -s "$SONDE" bin/sonde && ln -s "$SONDE" bin/trace-cmd
export PATH=$PWD/bin:$PATH
b=sonde-m-$$
i=$tracefs/instances/$b
trap 'if [ -d "$i" ]; then echo 0 >"$i/events/enable"; rmdir "$i"; fi; rm -rf "$SONDE_TMP"' EXIT
f() { sonde ftrace "$@"; }

# ---- where it is
for place in /sys/kernel/tracing /sys/kernel/debug/tracing; do
	[ ! -e $place/events ] || found="$found${found:+|}$place"
done
isnt "$found" "" "S0-094 S2-107 S3-002 S4-316: a tracing directory is mounted"
exits 0 "S0-094 S2-107 S3-002 S4-316: ftrace status finds it" f status
like "$out" "^Buffers \\(($found)\\):" "S0-094 S2-107 S3-002 S4-316: and says where"
like "$(f show -f -c 0 | head -1)" '^/sys/kernel/(debug/)?tracing/per_cpu/cpu0/trace$' "S0-094 S2-107 S3-002 S4-316: show -f prints the path"

# ---- tracers
exits 0 "S0-074 S2-111 S3-010: list -t" f list -t
is "$out" "$(cat $tracefs/available_tracers)" "S0-074 S2-111 S3-010: the tracers, blank-separated, as the kernel lists them"
like "$out" '\bnop\b' "S0-074 S2-111 S3-010: nop at least"

# ---- events
# Others may define probes meanwhile: until nothing has changed before and after.
for _ in 1 2 3 4 5; do
	all=$(cat $tracefs/available_events)
	exits 0 "S0-084 S2-109 S3-008 S3-032: list -e" f list -e
	[ "$all" = "$(cat $tracefs/available_events)" ] && break
done
is "$out" "$all" "S0-084 S2-109 S3-008 S3-032: system:event a line, all of them"
events=$out
is "$(cd $tracefs/events && printf '%s\n' */*/enable | sed 's,/enable$,,; s,/,:,' | grep -v '^ftrace:' | sort)" \
	"$(sort <<<"$events" | grep -v '^ftrace:')" "S2-117 S4-318: the tree of events/ has the same"
for file in enable filter format id trigger; do
	[ -e $tracefs/events/sched/sched_switch/$file ]
	ok $? "S4-318: events/SYSTEM/EVENT/$file"
done
is "$(f list -e '^sched:' | sort)" "$(grep '^sched:' $tracefs/available_events | sort)" "S3-033: list -e ^sched:, the scheduler's events"
exits 0 "S0-085: trace-cmd list" trace-cmd list
for head in 'event systems:' 'events:' 'tracers:' 'options:'; do
	like "$out" "^$head\$" "S0-085: section $head"
done
is "$(sed -n '/^events:$/,/^$/p' <<<"$out" | sed '1d;$d')" "$events" "S0-085: with all events"

# Events of the scheduler: listed, can be recorded and printed. Those that must be forced have a file of their own, matrix_sched.t.
exits 0 "all of them at once" f record -q -o sched.dat -e 'sched:*' -- sh -c 'sleep 0.05 & wait; taskset -c 0 true; /bin/true'
report=$(f report sched.dat)
while read -r id name; do
	like "$events" "^sched:$name\$" "$id: sched:$name is listed"
	exits 0 "$id: can be recorded" f record -q -o one.dat -e "sched:$name" -- /bin/true
	like "$(f dump --events one.dat)" "^name: $name\$" "$id: its format is in the file"
	case $name in
	sched_switch | sched_wakeup* | sched_waking | sched_process_exec | sched_process_fork | sched_process_exit | sched_process_wait | sched_stat_runtime)
		like "$report" " $name: +[^ ]" "$id: is printed" ;;
	esac
done <<END
S3-040 sched_stat_runtime
S3-045 sched_process_exec
S3-046 sched_process_fork
S3-047 sched_process_wait
S3-049 sched_process_exit
S3-051 sched_migrate_task
S3-052 sched_switch
S3-053 sched_wakeup_new
S3-054 sched_wakeup
S3-055 sched_waking
END
like "$(f report one.dat)" '^cpus=' "S3-031: events are recorded where no function can be traced"

# ---- start, show, stop, clear: the buffer by hand and by us, both see the same
exits 0 "S0-082 S2-114 S2-174: start with tracer nop" f start -B "$b" -p nop -e irq -e sched:sched_process_exec
is "$(cat "$i/current_tracer") $(f show -B "$b" --current_tracer)" "nop nop" "S0-082 S2-114 S2-174: current_tracer reads nop"
is "$(cat "$i/events/irq/enable")" 1 "S4-319: a whole subsystem is on"
is "$(cat "$i/set_event" | sort)" "$(f show -B "$b" --events | sort)" "S2-130: set_event lists what is on"
like "$(cat "$i/set_event")" '^sched:sched_process_exec$' "S2-130: the event that was named"
for _ in 1 2 3; do /bin/true; sleep 0.05; done
exits 0 "S2-197 S2-199 S4-352: stop" f stop -B "$b"
is "$(cat "$i/tracing_on")" 0 "S2-197 S2-199 S4-352 S2-147: tracing_on reads 0"
n=$(f show -B "$b" | grep -c sched_process_exec)
/bin/true
is "$(f show -B "$b" | grep -c sched_process_exec)" "$n" "S2-197 S2-199 S4-352: nothing more comes"
exits 0 "S0-065 S1-068 S2-105 S2-139 S4-309 S4-322: show" f show -B "$b"
is "$out" "$(cat "$i/trace")" "S0-065 S1-068 S2-105 S2-139 S4-309 S4-322: what cat of the trace file prints"
is "$(f show -B "$b")" "$out" "S1-068 S2-139 S4-322: once more: reading takes nothing away"
like "$out" ': sched_process_exec: ' "S2-139: the events are in it"
is "$(f show -B "$b" | head -5)" "$(head -5 <<<"$out")" "S2-198: the first lines"
like "$out" '^# tracer: nop$' "S4-324: the header: the tracer"
like "$out" '^# entries-in-buffer/entries-written: [0-9]+/[0-9]+ +#P:[0-9]+$' "S4-324: counts and CPUs"
like "$out" '^# +TASK-PID +CPU# .* TIMESTAMP +FUNCTION$' "S4-324: columns"
like "$out" '^ +[^ ].*-[0-9]+ +\[[0-9]+\] [^ ]{4,5} +[0-9]+\.[0-9]{6}: softirq_raise: vec=[0-9]+ \[action=[A-Z_]+\]$' "S4-325: lines of the irq events"
echo >"$i/trace"
is "$(f show -B "$b" | grep -vc '^#')" 0 "S2-139: writing to it clears it"
exits 0 "S2-200 S4-320 S4-358: restart" f restart -B "$b"
is "$(cat "$i/tracing_on")" 1 "S2-200 S4-320 S4-358: tracing_on reads 1"
exits 0 "S2-141 S4-360 S4-361: a marker" f mark -B "$b" hello world
like "$(f show -B "$b")" 'tracing_mark_write: hello world$' "S2-141 S4-360 S4-361: between the events"
exits 0 "S4-321 S4-351: clear" f clear -B "$b"
unlike "$(cat "$i/trace")" 'hello world' "S4-321 S4-351: the buffer is empty"
# A program that switches tracing on for its critical section only.
f stop -B "$b"; f clear -B "$b"
cat >section.c <<'END'
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int on = open(argv[1], O_WRONLY), mark = open(argv[2], O_WRONLY);
	(void)!write(mark, "before", 6);
	(void)!write(on, "1", 1);
	(void)!write(mark, "inside", 6);
	(void)!write(on, "0", 1);
	(void)!write(mark, "after", 5);
	return argc != 3 || on < 0 || mark < 0;
}
END
if ! needs_or_skip "S4-358 S4-359: a program's critical section" gcc; then
	gcc -o section section.c && ./section "$i/tracing_on" "$i/trace_marker"
	is "$(f show -B "$b" | grep -o 'before\|inside\|after' | xargs)" inside "S4-358 S4-359: a program's critical section, and nothing else"
fi
f restart -B "$b"
sonde ftrace show -B "$b" -p >pipe &
f mark -B "$b" consumed
wait_until grep -q consumed pipe
kill $!
wait
like "$(cat pipe)" 'tracing_mark_write: consumed' "S2-143 S4-323: trace_pipe gives what comes"
unlike "$(f show -B "$b")" 'consumed' "S2-143 S4-323: and takes it out of the buffer"

# ---- control files
is "$(f show -B "$b" --buffer_size) $(f show -B "$b" --buffer_total_size)" "$(cat "$i/buffer_size_kb") $(cat "$i/buffer_total_size_kb")" "S2-112 S2-113: sizes"
exits 0 "S4-368: another size" f set -B "$b" -b 256
size=$(f show -B "$b" --buffer_size)
[ "$size" -ge 256 ] && [ "$size" -lt 300 ]
ok $? "S2-112 S4-368: of each CPU"
is "$(f show -B "$b" --buffer_total_size)" "$((size * $(ls -d "$i"/per_cpu/cpu* | wc -l)))" "S2-113 S4-368: the total is the sum"
is "$(f show -B "$b" --options)" "$(cat "$i/trace_options")" "S2-142: trace_options"
is "$(f list -o | sed 's/^no//' | sort)" "$( (cd $tracefs/options && ls) | sed 's/^no//' | sort)" "S2-124: one file an option"
exits 0 "S2-124 S2-142: set one" f set -B "$b" -O sym-offset
is "$(cat "$i/options/sym-offset") $(f show -B "$b" --options | grep -x sym-offset)" "1 sym-offset" "S2-124 S2-142: it is on"
exits 0 "S2-145 S4-367: only CPU 0" f set -B "$b" -M 1
is "$(f show -B "$b" --cpumask)" "$(cat "$i/tracing_cpumask")" "S2-145 S4-367: tracing_cpumask"
exits 0 "S2-145 S4-367: record with a mask" f record -q -o mask.dat -M 1 -e sched -- sleep 0.1
is "$(f report mask.dat | grep -oE ' \[[0-9]{3}\] +[0-9]+\.[0-9]{6}: ' | cut -c2-6 | sort -u)" "[000]" "S2-145 S4-367: nothing of another CPU"
while read -r id clock; do
	exits 0 "$id: clock $clock" f set -B "$b" -C "$clock"
	like "$(f list -C -e -B "$b" --json 2>/dev/null; f show -B "$b" --clock)" "\\[$clock\\]" "$id S2-140: in brackets"
	f record -q -o clock.dat -C "$clock" -e sched:sched_process_exit -- true
	like "$(f report clock.dat | tail -1)" "$([ $clock = counter ] || [ $clock = x86-tsc ] && echo '\][ 0-9]*[0-9]: sched' || echo ' [0-9]+\.[0-9]{6}: sched')" "$id: times as this clock has them"
done <<END
S4-369 local
S4-370 global
S4-371 counter
S4-372 uptime
S4-373 perf
$(grep -q x86-tsc $tracefs/trace_clock && echo S4-374 x86-tsc)
END
[ -d "$i" ]
ok $? "S2-120: an instance is a buffer of its own"
is "$(cat $tracefs/instances/"$b"/current_tracer)" nop "S2-120: with files of its own"

# ---- per CPU
for cpu in "$i"/per_cpu/cpu*; do
	for file in trace trace_pipe trace_pipe_raw stats buffer_size_kb; do
		[ -e "$cpu/$file" ] || missing="$missing $cpu/$file"
	done
done
is "$missing" "" "S0-070 S2-125 S4-336: every CPU has its own files"
f set -B "$b" -C global -M -1 -e sched
f clear -B "$b"
sleep 0.2
f stop -B "$b"
lines() { grep -v '^#' | grep -v '^$' | grep -v 'LOST'; }
whole=$(f show -B "$b" | lines)
parts=$(for cpu in "$i"/per_cpu/cpu*; do f show -B "$b" -c "${cpu##*cpu}" | lines; done)
is "$(sort <<<"$parts" | md5sum)" "$(sort <<<"$whole" | md5sum)" "S0-070 S4-336 S4-337: the CPUs' traces together are the whole"
is "$(sed 's/.* \([0-9.]*\): .*/\1/' <<<"$whole" | sort -nc 2>&1)" "" "S4-337: which is in time order"
is "$(f show -B "$b" -c 0 | lines | grep -vc '\[000\]')" 0 "S4-336: a CPU's trace has only that CPU"
like "$(f show -B "$b" -c 0 --stats)" '^entries: [0-9]+' "S0-070: stats of a CPU"
is "$(f extract -B "$b" -o ex.dat 2>&1 >/dev/null | grep -c MB) $(f report ex.dat | grep -c ': sched_')" "1 $(grep -c ': sched_' <<<"$whole")" "S0-070: extract reads each CPU and merges by time"
# Events that were overwritten are told.
f start -B "$b" -b 8 -e raw_syscalls
dd if=/dev/zero of=/dev/null bs=1 count=20000 2>/dev/null
f stop -B "$b"
IFS=' /' read -r _ _ _ in written _ <<<"$(f show -B "$b" | grep entries-in-buffer)"
[ "$written" -gt "$in" ]
ok $? "S4-332: more were written than are in the buffer"
exits 0 "S4-332: a recording with too small a buffer" f record -o lost.dat -s 5000000 -b 8 -e raw_syscalls -- dd if=/dev/zero of=/dev/null bs=1 count=100000
like "$err" ' [1-9][0-9]* lost,' "S4-332: says how many events were lost"
like "$(f report lost.dat)" 'EVENTS DROPPED' "S4-332: and where"

# ---- the rest of the files, as a recording needs them
like "$(head -3 $tracefs/README)" 'tracing mini-HOWTO' "S2-127 S3-071 S4-376: README"
is "$(f dump --printk ex.dat | sed '1,2d; $d' | md5sum)" "$(md5sum <$tracefs/printk_formats)" "S2-126: printk_formats are in the file"
# Others come and go meanwhile: a task that the kernel knows before and after.
sort $tracefs/saved_cmdlines >known
f record -q -o names.dat -e sched:sched_process_exec -- true
sort $tracefs/saved_cmdlines | comm -12 known - >both
f dump --cmd-lines names.dat | awk '{ print $1 }' >in-file
# The list holds few: one that was there before and after may have been pushed out in between.
had=$(wc -l <both) has=$(cut -d' ' -f1 both | grep -cxFf in-file)
[ "$had" -gt 0 ] && [ $((has * 10)) -ge $((had * 9)) ]
ok $? "S2-128: saved_cmdlines are in the file ($has of $had)"
old=$(cat $tracefs/saved_cmdlines_size)
exits 0 "S2-129: the kernel remembers more names while we record" f record -q -o n.dat --cmdlines-size $((old + 100)) -e sched:sched_process_exit -- \
	sh -c "cat $tracefs/saved_cmdlines_size >during"
[ "$(cat during)" -gt "$old" ]
ok $? "S2-129: saved_cmdlines_size"
is "$(cat $tracefs/saved_cmdlines_size)" "$old" "S2-129: and is as before afterwards"
like "$(cat $tracefs/dyn_ftrace_total_info)" '^[0-9]+' "S2-115: dyn_ftrace_total_info counts the places that can be patched"

# ---- record
exits 0 "S3-058 S0-068: trace-cmd record" trace-cmd record -e sched:sched_switch -o r.dat -- sleep 0.1
like "$(trace-cmd report -i r.dat)" 'sched_switch:' "S3-058 S0-068: and report"
(trap - INT; exec "$SONDE" ftrace record -e 'sched:sched_switch' -o until.dat) 2>until.err &
pid=$!
traced() { cat "$tracefs"/instances/sonde-$pid-*/per_cpu/*/stats 2>/dev/null | awk '/^(entries|read events):/ { n += $NF } END { exit !n }'; }
wait_until traced
kill -INT $pid; wait $pid
like "$(sonde ftrace report until.dat)" 'sched_switch:' "S3-059: record -e until Ctrl-C"
exits 0 "S3-063 S3-064: patterns around a command" trace-cmd record -o g.dat -e 'sched_wakeup*' -e sched_switch -e 'sched_migrate*' ls
is "$(f dump --systems g.dat | grep -c sched)" 1 "S3-064: formats of the system"
exits 0 "S3-064: dry run" f record --dry-run -e 'sched_wakeup*' -e sched_switch -e 'sched_migrate*' ls
is "$(grep -o 'sched_[a-z_]*/enable' <<<"$out" | sort | xargs)" "sched_migrate_task/enable sched_switch/enable sched_wakeup/enable sched_wakeup_new/enable" "S3-064: exactly the events that match"
like "$(trace-cmd report -i g.dat)" 'sched_(switch|wakeup).*ls:[0-9]+ ' "S3-063: wake-ups and switches of ls"

# ---- free_buffer: who holds it open keeps the buffer
f set -B "$b" -O disable_on_free -b 2048
exec 9>"$i/free_buffer"
f restart -B "$b"
is "$(f show -B "$b" --tracing_on)" 1 "S2-118: free_buffer is open: tracing is on"
before=$(f show -B "$b" --buffer_size)
exec 9>&-
is "$(f show -B "$b" --tracing_on)" 0 "S2-118: closed, with disable_on_free: it is off"
[ "$(f show -B "$b" --buffer_size)" -lt "$before" ]
ok $? "S2-118: and the buffer is given back"

# ---- where tracefs is: in mounts of our own
exits 0 "S4-315: debugfs is mounted, tracing appears" unshare -m sh -c 'umount -l /sys/kernel/tracing 2>/dev/null; umount -l /sys/kernel/debug 2>/dev/null
	mount -t debugfs nodev /sys/kernel/debug && [ -d /sys/kernel/debug/tracing/events ] && exec sonde ftrace list -t'
is "$out" "$(cat $tracefs/available_tracers)" "S4-315: and is used"
exits 0 "S4-315: neither is mounted" unshare -m sh -c 'umount -l /sys/kernel/tracing 2>/dev/null; umount -l /sys/kernel/debug 2>/dev/null
	[ ! -d /sys/kernel/tracing/events ] && [ ! -d /sys/kernel/debug/tracing ] && exec sonde ftrace list -t'
is "$out" "$(cat $tracefs/available_tracers)" "S4-315: we mount it ourselves"

f reset -B "$b" -d --force
[ ! -d "$i" ]
ok $? "S2-120: and is removed"
for j in /run/sonde/ftrace/*.journal; do ! grep -qs -- "-B $b" "$j" || rm -f "$j"; done
done_testing
