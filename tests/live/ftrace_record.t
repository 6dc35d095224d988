#!/usr/bin/env bash
# where: host 6.12
# needs: root tracefs
# timeout: 600
# `ftrace record`: exact counts, filters, order of options, buffers, versions, sizes, errors.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root tracefs
cd "$SONDE_TMP" || exit 1
rec() { "$SONDE" ftrace record -o t.dat "$@"; }
rep() { "$SONDE" ftrace report t.dat 2>&1; }
events() { rep | grep -c ": $1:"; }
# A condition: the run of this process has recorded something.
traced() { cat "$tracefs"/instances/sonde-"$1"-*/per_cpu/*/stats 2>/dev/null | awk '/^(entries|read events):/ { n += $NF } END { exit !n }'; }

# getppid is system call 110 on x86_64 and nobody else's business 3000 times.
nr=110
exits 0 "a system call that is made 3000 times" rec -F -e raw_syscalls:sys_enter -f "id == $nr" "$SONDE" workload syscalls 3000
is "$(events sys_enter)" 3000 "is recorded 3000 times"
like "$err" '^\[ t\.dat: 3[0-9]{3} events, 0 lost, .* s CPU \]$' "and told in the closing line"
is "$(rep | grep ': sys_enter:' | grep -cv "NR $nr ")" 0 "the filter holds for all"
exits 0 "with a buffer of one page each and a reader" rec -F -b 8 -e raw_syscalls:sys_enter -f "id == $nr" "$SONDE" workload syscalls 20000
lost=$(sed -n 's/.* \([0-9]*\) lost,.*/\1/p' <<<"$err")
is $(($(events sys_enter) + lost)) 20000 "what was lost is counted: recorded and lost make all"
exits 3 "the command's status is ours" rec -q -e sched:sched_process_exit sh -c 'exit 3'
is "$err" "" "-q: no closing line"
exits 127 "a command that is not there" rec -e sched no-such-command-here
exits 0 "JSON" rec --json -e sched:sched_switch true
like "$out" '"events": [0-9]+' "has the number of events"

# Order: -f and -R belong to the -e before; -v takes events out again.
exits 0 "one event with a filter, one without" rec -e sched:sched_process_exec -f 'pid == 0' -e sched:sched_process_exit true
is "$(events sched_process_exec)" 0 "the filter is of the first"
[ "$(events sched_process_exit)" -ge 1 ]
ok $? "and not of the second"
exits 0 "the same in one word" rec -e 'sched:sched_process_exec/pid == 0/' -e 'sched:sched_process_exit+stack' true
is "$(events sched_process_exec)" 0 "a filter in the word"
like "$(rep)" '<stack trace' "a trigger in the word"
exits 0 "a system without one event" rec -e sched -v -e sched:sched_switch sleep 0.05
is "$(events sched_switch)" 0 "is recorded without it"
[ "$(rep | grep -c ': sched_')" -gt 2 ]
ok $? "and the others are there"
exits 0 "a pattern over names" rec -e 'sched_process_*' true
like "$(rep)" ': sched_process_exec: ' "finds events of any system"
exits 0 "a trigger" rec -F -c -e sched:sched_process_exec -R 'traceoff:1' -- sh -c 'true; /bin/true; /bin/true'
is "$(events sched_process_exec)" 1 "traceoff ends it after the first"
exits 0 "stacks with every event" rec -T -e sched:sched_process_exec true
like "$(rep)" '<stack trace' "are there"

# Tasks: only the command, or a pid, with or without children.
exits 0 "-F" rec -F -e sched:sched_process_exec -- sh -c '/bin/true; /bin/true'
is "$(events sched_process_exec)" 1 "is the command without its children"
exits 0 "-F -c" rec -F -c -e sched:sched_process_exec -- sh -c '/bin/true; /bin/true; exit'
is "$(events sched_process_exec)" 3 "with its children"
mkfifo begin end
sh -c 'read x <begin; /bin/true; /bin/true; echo over >end' &
exits 0 "-P -c" rec -P $! -c -e sched:sched_process_exec -- sh -c 'echo now >begin; read x <end'
is "$(events sched_process_exec)" 2 "is another process and its children"
wait
exits 0 "names of tasks" rec -F -c -e sched:sched_process_exit -- sh -c 'cp /bin/true ./a_long_task_nm; ./a_long_task_nm'
like "$(rep)" 'a_long_task_nm-[0-9]+ .*sched_process_exit' "are in the file"
unlike "$(rep)" '<\.\.\.>-[1-9]' "all of them"

# Files: versions, packing, what trace-cmd makes of them.
for how in "6 none" "7 none" "7 zlib" "7 zstd"; do
	exits 0 "version ${how% *}, ${how#* }" rec --file-version "${how% *}" --compression "${how#* }" -F -e raw_syscalls:sys_enter -f "id == $nr" "$SONDE" workload syscalls 500
	is "$(events sys_enter)" 500 "has all events"
	if [ "$how" != "7 zlib" ] && ! needs_or_skip "trace-cmd reads it" trace-cmd; then
		is "$(trace-cmd report -i t.dat 2>/dev/null)" "$(rep)" "and trace-cmd prints the same"
	fi
done
exits 0 "the newest data of each CPU" rec -m 64 --compression none -F -e raw_syscalls "$SONDE" workload syscalls 60000
[ "$("$SONDE" ftrace report t.dat | wc -l)" -gt 100 ] && [ "$(stat -c %s t.dat)" -lt 8000000 ]
ok $? "is kept, and no more"
like "$(rep | tail -3)" 'exit' "the last events are there"
# The command never ends: however fast it is, the size is what ends the recording.
exits 0 "up to a size" rec --max-size 200K -F -e raw_syscalls sh -c 'echo $$ >pid; exec "$SONDE" workload syscalls 1000000000000'
like "$err" 'max-size' "stops there"
kill "$(cat pid)"
# Several files one after another: each is whole, together they have everything. (Under emulation it only takes long.)
if [ "$SONDE_GUEST" = host ]; then
	# Each burst is more than a file may have; the next one comes when the reader has seen that.
	burst='for i in 1 2 3; do had=$(ls t.dat.[0-9]* 2>/dev/null); "$SONDE" workload syscalls 20000
		while [ "$(ls t.dat.[0-9]* 2>/dev/null)" = "$had" ]; do sleep 0.1; done; done'
	exits 0 "a new file by size" rec --switch-output 200K -s 50000 -b 16M -F -c -e raw_syscalls:sys_enter -f "id == $nr" -- sh -c "$burst"
	files=$(ls t.dat.[0-9]* | wc -l)
	[ "$files" -ge 2 ] && [ ! -e t.dat.parts ]
	ok $? "there are several ($files)"
	sum=0
	for f in t.dat.[0-9]*; do
		like "$err" "^\\[ .*$f: [0-9.]+ MB \\]" "$f is told"
		n=$("$SONDE" ftrace report "$f" | grep -c ': sys_enter:')
		sum=$((sum + n))
		[ "$f" != t.dat.1 ] || needs_or_skip "trace-cmd reads it" trace-cmd || is "$(trace-cmd report -i "$f" 2>/dev/null | grep -c ': sys_enter:')" "$n" "trace-cmd reads it"
	done
	# The shell makes such a call too; what would be lost is a page at least.
	[ $sum -ge 60000 ] && [ $sum -le 60005 ]
	ok $? "and every event is in one of them ($sum)"
	rm -f t.dat.[0-9]*
	exits 0 "the last one only" rec --switch-output 100K --switch-max-files 1 -s 50000 -b 16M -F -c -e raw_syscalls:sys_enter -f "id == $nr" -- sh -c "$burst"
	is "$(ls t.dat.[0-9]* | wc -l)" 1 "is kept"
	rm -f t.dat.[0-9]*
fi
exits 129 "a size of what?" rec --switch-output 100 -e sched true
long=sonde-t-$$-$(printf 'x%.0s' {1..180})
exits 0 "a buffer with a long name" rec -B "$long" -e sched:sched_process_exec true
like "$(rep)" "^$long: .*sched_process_exec" "is made under all of it"
[ ! -e "$tracefs/instances/$long" ]
ok $? "and is gone at the end"
exits 0 "several buffers" rec -e sched:sched_process_exec -B "sonde-t-$$" -C mono -e sched:sched_process_exit true
like "$(rep)" "^sonde-t-$$: .*sched_process_exit" "the instance has its name before the line"
[ ! -e "$tracefs/instances/sonde-t-$$" ]
ok $? "and is gone, as we made it"
mkdir "$tracefs/instances/sonde-t-$$"
exits 0 "an instance of somebody else" rec -B "sonde-t-$$" -e sched:sched_process_exit true
[ -e "$tracefs/instances/sonde-t-$$" ]
ok $? "stays"
is "$(cat "$tracefs/instances/sonde-t-$$/events/enable")" 0 "as it was"
rmdir "$tracefs/instances/sonde-t-$$"
exits 0 "clock, size, CPU" rec -C mono_raw -b total:2M -M 1 -e sched:sched_switch sleep 0.1
is "$(rep | grep ': sched_switch:' | grep -c '\[000\]' | sed 's/[1-9][0-9]*/some/') $(rep | grep ': sched_switch:' | grep -vc '\[000\]')" "some 0" "only the CPU of the mask"
began=$(date +%s)
exits 0 "a date" rec --date -e sched:sched_process_exit true
when=$(rep | tail -1 | sed -n 's/.* \([0-9]*\)\.[0-9]\{6\}: .*/\1/p')
[ "${when:-0}" -ge $((began - 1)) ] && [ "$when" -le $(($(date +%s) + 1)) ]
ok $? "is the wall clock's time ($when)"

# Errors are said before anything is written.
exits 1 "an event that is not there" rec -e sched:sched_swich true
like "$err" 'did you mean sched:sched_switch' "names one that is"
exits 0 "-i: it is left out" rec -i -e no:such_event -e sched:sched_switch true
exits 1 "a filter with a wrong field" rec -e sched:sched_switch -f 'nex_pid == 1' true
like "$err" 'did you mean next_pid' "names the right one"
exits 1 "a clock" rec -C mno -e sched true
exits 129 "an event without a name is not all of them" rec -e '' true
exits 1 "a CPU that is not there" rec -M "$(printf '1%064d' 0)" -e sched true
like "$err" 'no CPU 256' "is named"
exits 1 "no CPU at all" rec -M 0 -e sched true
like "$err" 'nothing would be traced' "is refused"
exits 1 "a trigger that is none" rec -e sched:sched_switch -R nonsense true
like "$err" 'this kernel has:.* traceoff ' "tells which there are"
exits 129 "a priority beyond 99" rec -r 200 -e sched true
exits 0 "a process that is not there" rec -P 4999999 -e sched:sched_switch true
like "$err" 'warning: -P: no such process: 4999999' "is warned of"
mkdir folder
exits 1 "a folder as file" "$SONDE" ftrace record -o folder -e sched true
like "$err" 'folder' "is said before anything is recorded"
mknod device c 1 3
exits 0 "a device" "$SONDE" ftrace record -o device -e sched:sched_process_exec true
[ -c device ] && [ -z "$(ls -d -- *.parts 2>/dev/null)" ]
ok $? "stays one, and nothing lies beside"
exits 0 "--temp of a relative folder, a file elsewhere" "$SONDE" ftrace record -q --temp folder -o "$PWD/abs.dat" -e sched:sched_process_exec true
like "$("$SONDE" ftrace report abs.dat)" 'sched_process_exec' "is recorded"
mkdir small
if mount -t tmpfs -o size=48m t small 2>/dev/null; then
	# The disk is full as soon as some pages have reached it.
	cat >fill.sh <<'END'
"$SONDE" workload syscalls 30000
for _ in $(seq 600); do
	[ "$(cat small/t.dat.parts/0.*.0 | wc -c)" -gt 1000000 ] && break
	sleep 0.1
done
head -c 100M /dev/zero >small/filler 2>/dev/null
"$SONDE" workload syscalls 60000
END
	exits 1 "a full disk" "$SONDE" ftrace record -q -o small/t.dat -e raw_syscalls bash fill.sh
	like "$err" 'No space left' "is said"
	like "$err" "restore -o FILE .*small/t\\.dat\\.parts" "and how to save what there is"
	exits 0 "restore to another place" "$SONDE" ftrace restore -o saved.dat small/t.dat.parts
	[ "$("$SONDE" ftrace report saved.dat 2>/dev/null | grep -c ': sys_enter:')" -gt 1000 ]
	ok $? "saves it"
	umount small
fi
exits 129 "nothing to record" rec
exits 129 "-f without -e" rec -f 'a == 1' true
mkdir t.dat.parts
exits 1 "a recording that is running or was cut off" rec -e sched true
like "$err" 'ftrace restore' "is not overwritten"
rmdir t.dat.parts
exits 0 "a dry run" rec --dry-run -e sched:sched_switch -b 1M -C mono true
like "$out" "^echo 'mono' > .*/trace_clock$" "prints the writes"

# Ctrl-C: saved, and dead of the signal.
"$SONDE" ftrace record -o int.dat -e sched 2>int.err &
pid=$!
wait_until traced $pid
kill -INT $pid
wait $pid
is $? 130 "Ctrl-C ends it as shells expect"
[ "$("$SONDE" ftrace report int.dat | wc -l)" -gt 2 ]
ok $? "and the recording is saved"

ln -s "$SONDE" trace-cmd
./trace-cmd record -o int.dat -e sched >int.out 2>int.err &
pid=$!
wait_until traced $pid
kill -INT $pid
wait $pid
is $? 0 "called as trace-cmd, Ctrl-C is how a recording ends: status 0"

# stream: the reader is stopped, so that a buffer of a page must run over.
"$SONDE" ftrace stream -b 8 -e raw_syscalls:sys_enter -f "id == $nr" >stream.out 2>stream.err &
pid=$!
wait_until catches $pid INT
wait_until sh -c '"$SONDE" workload syscalls 100; grep -q sys_enter stream.out'
kill -STOP $pid
"$SONDE" workload syscalls 20000
kill -CONT $pid
kill -INT $pid
wait $pid
like "$(cat stream.err)" 'warning: [0-9]+ events were lost' "stream reports what was lost"

if reason=$(lacks tracer:function); then
	exits 1 "functions cannot be chosen here" rec -p function -l vfs_read true
	like "$err" 'lockdown|cannot filter' "and it says why"
fi
done_testing
