#!/usr/bin/env bash
# where: 6.1
# needs: root
# timeout: 300
# Rows of the acceptance matrix that change settings of the kernel, or need kernel probes: in a guest only.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root guest perf_events
cd "$SONDE_TMP" || exit 1
mkdir bin && ln -s "$SONDE" bin/sonde
export PATH=$PWD/bin:$PATH
chmod 777 .
paranoid=/proc/sys/kernel/perf_event_paranoid
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
event() { sonde report -i "$1" | sed -n "s/^# Samples: .* of event '\(.*\)'/\1/p"; }

# ---- perf_event_paranoid
echo 2 >$paranoid
exits 0 "S4-120: level 2: an own command" as_nobody sonde record -e minor-faults -c 1 -o two.data -- sonde workload faults 1000
is "$(event two.data)" minor-faults:u "S4-120: its user space only, and the name says so"
like "$(sonde report -i two.data)" ' \[\.\] ' "S4-120: user space is in the report"
unlike "$(sonde report -i two.data)" '\[k\]' "S4-120: nothing of the kernel"
exits 1 "S4-115 S4-116: level 2: the whole system is refused" as_nobody sonde record -a -o no.data -- true
like "$err" 'perf_event_paranoid is 2\)' "S4-115 S4-116: the reason is the setting, with its value"
like "$err" 'hint: .*sysctl kernel.perf_event_paranoid=0' "S4-115: and what would help"
echo 1 >$paranoid
exits 0 "S4-119: level 1: an own command" as_nobody sonde record -F 499 -o one.data -- sonde workload syscalls 300000
is "$(event one.data)" cpu-clock "S4-119: with the kernel"
like "$(sonde report -i one.data --sort sym)" '\[k\]' "S4-119: samples of the kernel"
exits 1 "S4-119: the whole system is refused" as_nobody sonde record -a -o no.data -- true
like "$err" 'perf_event_paranoid is 1\)' "S4-119 S4-116: says why"
echo 0 >$paranoid
exits 0 "S4-118: level 0: the whole system" as_nobody sonde record -F 99 -a -o zero.data -- sleep 1
mount -o remount,mode=750,gid=65534 $tracefs # so that tracefs is not what refuses
exits 1 "S4-118: tracepoints with their data are refused" as_nobody sonde record -a -e sched:sched_switch -o no.data -- true
like "$err" 'perf_event_paranoid is 0\)' "S4-118 S4-116: says why"
# ---- level -1: what is for nobody else, the function tracepoint
if [ -e $tracefs/events/ftrace/function ] && [ -e $tracefs/available_filter_functions ]; then
	exits 1 "S4-117: level 0: record -e ftrace:function for an ordinary user is refused" \
		as_nobody sonde record -a -e ftrace:function --filter 'ip == vfs_read' -o no.data -- true
	echo -1 >$paranoid
	is "$(cat $paranoid)" -1 "S4-117: the level is -1"
	exits 0 "S4-117: level -1: it is allowed" as_nobody sonde record -a -e ftrace:function --filter 'ip == vfs_read' -o function.data -- cat /etc/hostname
	like "$(sonde script -i function.data 2>&1)" 'cat +[0-9]+ .* ftrace:function: +.*vfs_read' "S4-117: calls of the function, by whom"
	exits 0 "S4-117: tracepoints with their data" as_nobody sonde record -a -e sched:sched_switch -o switch.data -- sleep 0.2
	exits 0 "S4-117: the whole system with the kernel" as_nobody sonde record -F 99 -a -o all.data -- sleep 0.5
	echo 0 >$paranoid
else
	skip "kernel without the function tracer" "S4-117: ftrace:function"
fi
mount -o remount,mode=700,gid=0 $tracefs
exits 1 "S4-169: tracepoints for an ordinary user" as_nobody sonde record -e sched:sched_switch -o no.data -- true
like "$err" 'hint: run it as root' "S4-169: root can"
[ ! -e no.data ]
ok $? "S4-115: no file is left of what was refused"

# ---- kptr_restrict
restrict=/proc/sys/kernel/kptr_restrict
echo 2 >$restrict
sonde record -F 1999 -o hidden.data -- sonde workload syscalls 300000 2>/dev/null
hidden=$(sonde report -i hidden.data --sort sym 2>/dev/null)
like "$hidden" '\[k\] 0x[0-9a-f]+' "S0-008: with kptr_restrict 2 the kernel's places are addresses"
unlike "$hidden" '\[k\] [a-z]' "S0-008: and its names are hidden"
exits 0 "S0-009: report while kptr_restrict is 2" sonde report -i hidden.data --sort sym
like "$err" 'kptr_restrict' "S0-009: says that kptr_restrict hides the kernel's names"
for value in 0 1 2; do
	echo $value >$restrict
	is "$(cat $restrict)" $value "S0-009: kptr_restrict $value is kept"
done
is "$(awk '$1 !~ /^0+$/' /proc/kallsyms | wc -l)" 0 "S0-009: with 2 even root sees zeroes"
echo 0 | tee $restrict >/dev/null
sonde record -F 1999 -o shown.data -- sonde workload syscalls 300000 2>/dev/null
exits 0 "S0-008: report after echo 0 | tee kptr_restrict" sonde report -i shown.data --sort sym
unlike "$err" 'kptr_restrict' "S0-008: nothing is hidden"
like "$out" '\[k\] [a-z_]+' "S0-008: kernel functions by name"

# ---- a probe that is there already, through a pipe, while it happens: PROBE's lines in live.txt, until one fits REGEX
mkdir as && ln -s "$SONDE" as/perf # it is perf by that name
streams() { # NAME EVENT REGEX SCRIPT... -- COMMAND
	local name=$1 event=$2 regex=$3 recorder i script=()
	shift 3
	while [ "$1" != -- ]; do
		script+=("$1")
		shift
	done
	shift
	rm -f stream live.txt && mkfifo stream
	as/perf record --no-buffering -e "$event" -a -o - >stream 2>record.err &
	recorder=$!
	PAGER="cat -v" "${script[@]}" as/perf script -i - <stream >live.txt 2>script.err &
	for ((i = 0; i < 300; i++)); do
		"$@" >/dev/null
		grep -aqE -- "$regex" live.txt && break
		sleep 0.2
	done
	grep -aqE -- "$regex" live.txt
	ok $? "$name: lines come while it is recorded" || diag "$(tail -3 live.txt; cat record.err script.err)"
	kill -0 $recorder
	ok $? "$name: the recorder is still at work"
	kill -INT $recorder
	wait
}
if add_probe probe:do_sys_open 'do_sys_open=do_sys_openat2 filename=+0(%si):ustring'; then
	streams S0-054 probe:do_sys_open '^ +cat +[0-9]+ \[0[0-9]+\] +[0-9.]+: +probe:do_sys_open: .*filename.*="?/etc/hostname' -- cat /etc/hostname
	remove_probes
else
	skip "$reason" "S0-054: a kernel probe"
fi
if add_probe probe:do_execve 'do_execve=__x64_sys_execve filename=+0(+112(%di)):ustring arg=+0(+8(+104(%di))):ustring'; then
	streams S0-057 probe:do_execve 'probe:do_execve: .*filename.*="?/bin/echo"? .*arg="?a[^ ]*b' stdbuf -oL -- sh -c "/bin/echo \"\$(printf 'a\\001b')\""
	# ---- what 2010 called perf trace: script today; today's perf trace prints a recording with -i
	exits 0 "S1-093: a probe is recorded" as/perf record -e probe:do_execve -a -o perf.data -- /bin/echo hello
	exits 0 "S1-093: perf trace" timeout 60 as/perf trace -i perf.data
	like "$out$err" 'probe:do_execve\(' "S1-093: prints the event in its own way"
	exits 0 "S1-093: perf script" as/perf script
	like "$out" '^ *[^ ]+ +[0-9]+ \[0[0-9]+\] +[0-9]+\.[0-9]{6}: +probe:do_execve: .*filename.*echo.*arg="?hello' "S1-093: comm, pid, cpu, time, event, arguments"
	remove_probes
else
	skip "$reason" "S0-057 S1-093: a kernel probe"
fi

# ---- kernel probes
if add_probe probe:vfs_read vfs_read; then
	exits 0 "S1-092: record -e probe:vfs_read -aRf ls -l" sonde record -e probe:vfs_read -aRf ls -l /
	like "$out" ' usr$' "S1-092: the command ran"
	is "$(event perf.data)" probe:vfs_read "S1-092: the event"
	like "$(sonde report --sort comm,sym)" 'ls +\[k\] vfs_read' "S1-092: calls of ls"
	remove_probes
else
	skip "$reason" "S1-092: a kernel probe"
fi
if add_probe probe:schedule schedule && add_probe probe:schedule_1 schedule_1=schedule_timeout; then
	exits 0 "S1-139: record -e 'probe:schedule*' -a" sonde record -e 'probe:schedule*' -a -o glob.data -- sleep 1
	is "$(event glob.data | sort | xargs)" "probe:schedule probe:schedule_1" "S1-139: all events that match"
	remove_probes
else
	skip "$reason" "S1-139: kernel probes"
fi
done_testing
