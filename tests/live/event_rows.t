#!/usr/bin/env bash
# where: host 6.1 6.12
# needs: root tracefs
# timeout: 600
# smp: 1
# Every kind of event (a row of the provider table, `help --json events`) in every verb that the row names: the event happens, and is
# counted, sampled or traced; and the verbs that it does not name refuse it with those that can.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root tracefs perf_events
cd "$SONDE_TMP" || exit 1
verbs=(stat record "ftrace record" "ftrace start" "ftrace hist")
# form, prefix (or -) and verbs of each row.
"$SONDE" help --json events | awk -F'"' '
	$2 == "form" { form = $4; prefix = "-"; takes = "" }
	$2 == "prefix" { prefix = $4 }
	$2 == "example" { example = $4 }
	$2 == "verbs" { inside = 1; next }
	inside && /\]/ { inside = 0 }
	inside { takes = takes (takes ? ";" : "") $2 }
	$2 == "needs" { print form "\t" prefix "\t" takes "\t" example }' >rows
[ "$(wc -l <rows)" -ge 20 ]
ok $? "there is a table"

# What each of them does at least once.
cat >work <<'EOF'
#!/bin/sh
cat /proc/version >/dev/null
"$SONDE" workload usdt 20
"$SONDE" workload leaf 0.05
EOF
chmod +x work
nm=$(awk '$3 == "jiffies" { print $1; exit }' /proc/kallsyms)

# event FORM VERB: one of this kind that happens when ./work runs. why: whatexpected .
event() {
	why=
	local kernel=kprobes functions=tracer:function graph=tracer:function_graph
	case $1 in
	'NAME[:MODIFIERS]') case $2 in ftrace*) event=sched_process_exec ;; *) event=page-faults:u ;; esac ;;
	cycles) event=instructions; why=$(lacks pmu) ;;
	page-faults) event=page-faults ;;
	L1-dcache-load-misses) event=L1-dcache-loads; why=$(lacks pmu) ;;
	duration_time) event=duration_time ;;
	rNNN) event=rc0; why=$(lacks pmu) ;;
	TYPE:CONFIG) event=1:0x2 ;;
	PMU/*) event=software/config=2/ ;;
	'[PMU::]EVENT'*) event=ix86arch::INSTRUCTION_RETIRED; why=$(lacks pmu) ;;
	SYSTEM:EVENT*) event=sched:sched_process_exec ;;
	mem:*) event=mem:0x$nm/8:w; [ -n "$nm" ] && [ "$nm" != 0000000000000000 ] || why="no address of jiffies" ;;
	kprobe:*) event=kprobe:vfs_read; why=$(lacks $kernel) ;;
	kretprobe:*) event=kretprobe:vfs_read; why=$(lacks $kernel) ;;
	fprobe:*) event=fprobe:vfs_read; grep -qsF '<func-name>[%return]' $tracefs/README || why="kernel without fprobe events" ;;
	fretprobe:*) event=fretprobe:vfs_read; grep -qsF '<func-name>[%return]' $tracefs/README || why="kernel without fprobe events" ;;
	call:*) event=call:vfs_read; why=$(lacks $kernel) ;;
	uprobe:*) event=uprobe:$SONDE:main; why=$(lacks uprobes) ;;
	uretprobe:*) event=uretprobe:$SONDE:workload_middle; why=$(lacks uprobes) ;;
	usdt:*) event=usdt:$SONDE:sonde:step; why=$(lacks uprobes) ;;
	# Not what reading the buffer calls: it would never end.
	function:*) event='function:do_sys_openat[2]'; why=$(lacks $functions) ;;
	graph:*) event=graph:vfs_read; why=$(lacks $graph) ;;
	profile:*) event=profile:999 ;;
	syscall:*) event=syscall:openat; [ -e $tracefs/events/syscalls/sys_enter_openat ] || why="kernel without events of system calls" ;;
	*) event=; why= ;;
	esac
}

# Another run may have the top-level buffer for a moment: that is the one refusal to wait for.
start() {
	"$SONDE" ftrace start -B "$inst" -e "$1" >out.log 2>&1 || ! grep -q "is in use by process" out.log
}

try() { # VERB EVENT
	rm -rf out.* e.data e.dat
	case $1 in
	stat) "$SONDE" stat -x, -a -e "$2" -o out.csv -- ./work >out.log 2>&1 && awk -F, '$1 + 0 > 0 { n++ } END { exit !n }' out.csv ;;
	record) "$SONDE" record -q -a -e "$2" -o e.data -- ./work >out.log 2>&1 && has_samples e.data ;;
	"ftrace record") "$SONDE" ftrace record -q -e "$2" -o e.dat -- ./work >out.log 2>&1 && [ "$("$SONDE" ftrace report e.dat 2>/dev/null | grep -c '] ')" -ge 1 ] ;;
	"ftrace start")
		wait_until start "$2" && ./work >>out.log 2>&1 && "$SONDE" ftrace show -B "$inst" >out.txt 2>>out.log
		local status=$?
		"$SONDE" ftrace reset -B "$inst" -d --force >>out.log 2>&1 || status=1
		[ $status = 0 ] && grep -q '^ .*: ' out.txt ;;
	"ftrace hist") "$SONDE" ftrace hist -k common_pid "$2" ./work >out.txt 2>out.log && grep -q hitcount: out.txt ;;
	esac
}

inst=sonde-rows-$$
while IFS=$'\t' read -r form prefix takes example; do
	event "$form" stat
	[ -n "$event" ]
	ok $? "this test knows $form"
	for verb in "${verbs[@]}"; do
		event "$form" "$verb"
		case ";$takes;" in
		*";$verb;"*)
			# Tracers that the kernel has only one of use the top-level buffer, which start leaves set up: record has shown them.
			[ "$verb:$prefix" != "ftrace start:graph" ] || why="the graph tracer exists once"
			if [ -n "$why" ]; then
				skip "$why" "$verb -e $event"
			else
				try "$verb" "$event"
				ok $? "$verb -e $event" || { sed 's/^/# /' out.log | head -5; }
			fi ;;
		*)
			# Refusals are the same on every kernel (and slow in a guest).
			[ "$prefix" != - ] && [ "$SONDE_GUEST" = host ] || continue
			case $verb in
			"ftrace hist") "$SONDE" ftrace hist -k common_pid "$example" true >out.txt 2>out.log ;;
			# shellcheck disable=SC2086
			*) "$SONDE" $verb -e "$example" -- true >out.txt 2>out.log ;;
			esac
			[ $? != 0 ] && grep -q "use it with: sonde ${takes%%;*}" out.log
			ok $? "$verb refuses $prefix:, and says what takes it" || { sed 's/^/# /' out.log | head -5; } ;;
		esac
	done
done <rows
[ ! -e "$tracefs/instances/$inst" ] && ! grep -qs sonde_ $tracefs/dynamic_events
ok $? "nothing is left in tracefs"
done_testing
