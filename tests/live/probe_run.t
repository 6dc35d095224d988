#!/usr/bin/env bash
# where: host 6.1 6.12 arm64
# needs: root tracefs
# timeout: 240
# smp: 1
# Probes for the time of a run: -e 'uprobe:FILE:FUNC ARG...' and its relatives in record, stat and ftrace. They have the right values, and are gone
# afterwards, also after SIGKILL; those of others stay.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root tracefs uprobes
cd "$SONDE_TMP" || exit 1
cp "$SONDE" prog
prog=$SONDE_TMP/prog
first=%di # where the first argument is
[ "$(uname -m)" != aarch64 ] || first=%x0
other=o$$
echo "p:$other/other $prog:0x1000" >>$tracefs/uprobe_events
trap 'echo "-:$other/other" >>$tracefs/uprobe_events; rm -rf "$SONDE_TMP"' EXIT
ours() { cat $tracefs/uprobe_events $tracefs/kprobe_events 2>/dev/null | grep -E "$prog| sonde_|:sonde_" | grep -v "$other/"; }

# ---- programs --------------------------------------------------------------------------------------------------------------------
exits 0 "record a function with an argument" "$SONDE" record -q -o u.data -e "uprobe:$prog:workload_usdt n=+0($first):u32" -- ./prog workload usdt 7
is "$("$SONDE" script -i u.data 2>/dev/null | grep -Ec 'uprobe:workload_usdt: \([0-9a-f]+\) n=7$')" 1 "its value is in the recording"
! needs_or_skip "perf reads it" perf && like "$(perf script -i u.data 2>/dev/null)" 'n=7$' "perf prints it too"
exits 0 "a static probe" "$SONDE" record -q -o s.data -e "usdt:./prog:sonde:step i=\$arg1 text=\$arg3:string /i > 2/" -- ./prog workload usdt 5
is "$("$SONDE" script -i s.data 2>/dev/null | sed -n 's/.* i=\([0-9]*\) text="\(.*\)"$/\1 \2/p' | tr '\n' ';')" "3 odd;4 even;" "with a filter on its arguments"
exits 0 "stat counts" "$SONDE" stat -x , -o counts -e "usdt:prog:step i=\$arg1 /i >= 10/" -e "uretprobe:./prog:workload_usdt \$retval:s32" -- ./prog workload usdt 25
is "$(grep -v '^#' counts | grep . | cut -d, -f1,3 | tr '\n' ';')" "15,usdt:step;1,uretprobe:workload_usdt__return;" "those that the filter lets pass"
exits 0 "ftrace records" "$SONDE" ftrace record -q -o t.dat -e "uprobe:./prog:workload_usdt n=+0($first):u32" -e "usdt:./prog:step i=\$arg1 /i == 1/" -- ./prog workload usdt 3
is "$("$SONDE" ftrace report t.dat 2>/dev/null | sed -n 's/.*\(workload_usdt\|step\): .* \([a-z]=[0-9]*\)$/\1 \2/p' | tr '\n' ';')" "workload_usdt n=3;step i=1;" "the same"
exits 129 "an argument that the kernel does not take" "$SONDE" record -q -o n.data -e "uprobe:./prog:workload_usdt x=%nosuch" -- true
like "$err" 'kernel reports|cannot write' "is refused with the kernel's reason"
exits 1 "a function that is not there" "$SONDE" record -q -o n.data -e "uprobe:./prog:workload_usdx n=$first" -- true
like "$err" "did you mean '?workload_usdt" "names one that is"
is "$(ours)" "" "nothing stays"

# ---- children --------------------------------------------------------------------------------------------------------------------
# The kernel reads the name of a probe again for every child, in the child's memory: where that is ours alone, fork() fails.
steps="usdt:$prog:step" enters="uprobe:$prog:workload_usdt" leaves="uretprobe:$prog:workload_usdt"
twice="'$prog' workload usdt 2 >/dev/null && ('$prog' workload usdt 3 >/dev/null; exit 7)"
exits 7 "programs that are observed can fork" "$SONDE" stat -x , -o counts -e "$enters" -e "$leaves" -e "$steps" -- bash -c "$twice"
is "$(grep -v '^#' counts | grep . | cut -d, -f1 | tr '\n' ' ')" "2 2 5 " "and their children are counted"
exits 7 "recorded programs as well" "$SONDE" record -q -o f.data -e "$enters" -e "$steps" -- bash -c "$twice"
is "$("$SONDE" script -F event -i f.data 2>/dev/null | sort | uniq -c | tr -s ' \n' ' ')" " 5 $steps: 2 $enters: " "with all samples"
exits 0 "with --no-inherit" "$SONDE" stat -i -x , -o counts -e "$enters" -- bash -c "'$prog' workload usdt 2; true"
is "$(grep -v '^#' counts | grep . | cut -d, -f1)" 0 "children are left out"
is "$(ours)" "" "nothing stays"

# ---- killed ----------------------------------------------------------------------------------------------------------------------
left=0
for verb in record stat; do
	how=()
	[ $verb = stat ] || how=(-q -o k.data)
	"$SONDE" $verb "${how[@]}" -e "usdt:./prog:step i=\$arg1" -- sleep 20 >/dev/null 2>&1 &
	pid=$!
	wait_until counts_events $pid
	[ -n "$(ours)" ] || left=$((left + 10))
	kill -KILL $pid
	wait $pid 2>/dev/null
	gone() { [ -z "$(ours)" ] && ! compgen -G "/run/sonde/ftrace/$pid-*.journal" >/dev/null; }
	wait_until gone || left=$((left + 1))
done
is $left 0 "runs that are killed leave nothing"
is "$(grep -c "^p:$other/other " $tracefs/uprobe_events)" 1 "the probe of somebody else is there"

# ---- the kernel ------------------------------------------------------------------------------------------------------------------
if [ -e $tracefs/kprobe_events ] && [ -e /sys/kernel/btf/vmlinux ]; then
	dd_reads() { dd if=/dev/zero of=/dev/null bs=1234 count=7 2>/dev/null; }
	export -f dd_reads
	exits 0 "record a kernel function with a parameter" "$SONDE" record -q -o k.data -e 'kprobe:vfs_read count /count == 1234/' -- bash -c dd_reads
	is "$("$SONDE" script -i k.data 2>/dev/null | grep -Ec 'kprobe:vfs_read: \([0-9a-f]+\) count=1234$')" 7 "its name and value come from BTF"
	exits 0 "its result" "$SONDE" record -q -o k.data -e 'kretprobe:vfs_read $retval /arg1 == 1234/' -- bash -c dd_reads
	is "$("$SONDE" script -i k.data 2>/dev/null | grep -Ec 'arg1=1234$')" 7 "is there"
	exits 1 "negative numbers" "$SONDE" record -q -o k.data -e 'kretprobe:do_sys_openat2 $retval' -- cat /nonexistent-$$
	like "$("$SONDE" script -i k.data 2>/dev/null)" 'arg1=-2$' "are negative"
	exits 0 "a member, a string in it, an element" "$SONDE" stat -x , -o counts -e 'kprobe:vfs_read file->f_path.dentry->d_iname:string /d_iname == "zero"/' -- bash -c dd_reads
	is "$(grep -v '^#' counts | grep . | cut -d, -f1)" 7 "through pointers"
	exits 0 "ftrace call: with arguments" "$SONDE" ftrace record -q -F -o t.dat -e 'call:vfs_read count' -- dd if=/dev/zero of=/dev/null bs=1234 count=7
	is "$("$SONDE" ftrace report t.dat 2>/dev/null | grep -Ec ': vfs_read: .* count=1234$')" 7 "enters"
	is "$("$SONDE" ftrace report t.dat 2>/dev/null | grep -Ec ': vfs_read__return: .* ret=1234$')" 7 "and returns"
	exits 0 "shells can fork under a probe of fork" "$SONDE" record -q -g -o c.data -e kprobe:kernel_clone -e kretprobe:kernel_clone -- bash -c '(true); (true)'
	is "$err" "" "without a complaint"
	is "$("$SONDE" script -F event -i c.data 2>/dev/null | sort | uniq -c | tr -s ' \n' ' ')" " 2 kprobe:kernel_clone: 2 kretprobe:kernel_clone: " "every time"
	exits 1 "a parameter that is not there" "$SONDE" record -q -o n.data -e 'kprobe:vfs_read cuont' -- true
	like "$err" 'its parameters are: file, buf, count, pos' "names those that are"
	exits 1 "a member that is not there" "$SONDE" record -q -o n.data -e 'kprobe:vfs_read file->f_flag' -- true
	like "$err" 'did you mean f_flags' "names the closest"
	is "$(ours)" "" "nothing stays in the kernel"

	# The kernel holds the returns of a few calls (10, or two for each CPU): of 40 that sleep at once, some are missed.
	sleepers='exec 2>/dev/null; for i in {1..40}; do sleep 1000 & done
		until [ "$(cat /proc/[0-9]*/syscall | grep -cE "^(230|115) ")" -ge 40 ]; do sleep 0.1; done
		kill $(jobs -p); wait; true'
	missed='warning: probes on returns missed [0-9]+ calls: too many were open at once'
	exits 0 "more calls at once than the kernel holds" "$SONDE" record -q -o m.data -e 'kretprobe:hrtimer_nanosleep' -- bash -c "$sleepers"
	like "$err" "$missed" "record reports what was missed"
	exits 0 "the same, counted" "$SONDE" stat -x , -o counts -e 'kretprobe:hrtimer_nanosleep' -- bash -c "$sleepers"
	like "$err" "$missed" "stat reports it"
	exits 0 "the same, traced" "$SONDE" ftrace record -q -o m.dat -e 'kretprobe:hrtimer_nanosleep' -- bash -c "$sleepers"
	like "$err" "$missed" "ftrace record reports it"
	exits 0 "one call after the other" "$SONDE" ftrace record -q -o m.dat -e 'kretprobe:hrtimer_nanosleep' -- sleep 0.01
	unlike "$err" 'missed' "is not missed"
fi
done_testing
