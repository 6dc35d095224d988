# shellcheck shell=bash
# TAP for test scripts. A test begins with
#	. "${SONDE_SRC:-.}/tests/lib.sh"
# and ends with done_testing; without that line there is no plan and the runner calls it a failure.
#
#   ok STATUS NAME                 passes if STATUS is 0:  cmp a b; ok $? "same"
#   is GOT WANT NAME               equal as text
#   isnt GOT OTHER NAME            not equal as text
#   like TEXT REGEX NAME           extended regular expression somewhere in TEXT
#   unlike TEXT REGEX NAME
#   exits STATUS NAME CMD...       runs CMD; its output is in $out, its messages in $err
#   skip REASON NAME               one case that cannot run, and why
#   need THING...                  the rest of the file needs these, else all of it is skipped
#   needs_or_skip NAME THING...    the same for one case: needs_or_skip "counts cycles" pmu || { ... }
#   todo and "cannot fail" cases do not exist: a case that is not ready is not written.
#
# A test waits for what it needs, not for a time that would do on one machine:
#   wait_until CMD...              until CMD succeeds; status 1 after two minutes (WAIT_SECONDS)
#   has_samples FILE [N]           a condition: the recording, which may still grow, has N samples (1)
#   catches PID SIGNAL             a condition: our program runs there and handles that signal
#   counts_events PID              a condition: it has events open
#   is_gone PID                    a condition: it has ended. Its parent, or init, may take seconds to collect it: that is not waited for
#   burn MS PID...                 until each of these has had so much CPU time more; also as a recorded command: bash -c "burn 100 $pid"
#   calm MS CMD...                 runs CMD until one run took no longer than that: a machine that stood still meanwhile says nothing about us
#
# $SONDE is the program, $SONDE_SRC the checkout, $SONDE_TMP a scratch directory, $SONDE_GUEST the
# guest we are in, or `host`. Messages go to stderr; stdout is TAP only.
# Sourced, so it leaves the shell's options alone.

: "${SONDE_SRC:=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}"
: "${SONDE:=$SONDE_SRC/build/sonde}"
: "${SONDE_GUEST:=host}"
export SONDE SONDE_SRC SONDE_GUEST LC_ALL=C.UTF-8

if [ -z "${SONDE_TMP:-}" ]; then
	SONDE_TMP=$(mktemp -d "${TMPDIR:-/tmp}/sonde-test.XXXXXX")
	export SONDE_TMP
	trap 'rm -rf "$SONDE_TMP"' EXIT
fi

# What we keep from one run for the next (names, unwind tables) must not reach another test.
export XDG_CACHE_HOME=$SONDE_TMP/.cache PERF_BUILDID_DIR=$SONDE_TMP/.debug
unset SONDE_CACHE

tap_count=0
tap_failed=0
tracefs=/sys/kernel/tracing

# A description must not contain what TAP reads as a directive, nor a line end.
tap_name() {
	local name=${1//$'\n'/ }
	printf '%s' "${name//#/\\#}"
}

diag() { printf '%s\n' "$*" | sed 's/^/# /'; }

ok() {
	tap_count=$((tap_count + 1))
	if [ "$1" = 0 ]; then
		printf 'ok %d - %s\n' "$tap_count" "$(tap_name "$2")"
		return 0
	fi
	tap_failed=$((tap_failed + 1))
	printf 'not ok %d - %s\n' "$tap_count" "$(tap_name "$2")"
	return 1
}

is() {
	[ "$1" = "$2" ]
	ok $? "$3" || { diag "got:  $1"; diag "want: $2"; return 1; }
}

isnt() {
	[ "$1" != "$2" ]
	ok $? "$3" || { diag "got what must differ: $1"; return 1; }
}

like() {
	printf '%s\n' "$1" | grep -Eq -- "$2"
	ok $? "$3" || { diag "no match for: $2"; diag "in: $1"; return 1; }
}

unlike() {
	! printf '%s\n' "$1" | grep -Eq -- "$2"
	ok $? "$3" || { diag "must not match: $2"; diag "in: $1"; return 1; }
}

wait_until() {
	local end=$((SECONDS + ${WAIT_SECONDS:-120}))
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.1
	done
}

# Runs this test on a CPU whose idle task has events, if one is found in 30 s. Kernel 6.18 was seen recording none at all of one CPU's idle
# task, with perf and with ftrace, for an hour: who sleeps there is never seen waking up. That is told, but leaves nothing to measure.
try_cpu_with_idle_events() {
	local cpu=
	find_it() {
		"$SONDE" record -q -a -e sched:sched_switch -c 1 -o idle.data -- sleep 0.5
		cpu=$("$SONDE" script -i idle.data 2>/dev/null | sed -n 's/^ *swapper .*\[0*\([0-9]*[0-9]\)\].*/\1/p' | sort | uniq -c | sort -rn | awk 'NR == 1 { print $2 }')
		[ -n "$cpu" ]
	}
	WAIT_SECONDS=30 wait_until find_it && taskset -pc "$cpu" $$ >/dev/null
}
on_cpu_with_idle_events() {
	try_cpu_with_idle_events || skip_all "in 30 s no CPU had an event of its idle task"
}

has_samples() { [ "$("$SONDE" script -F event -i "$1" 2>/dev/null | grep -c .)" -ge "${2:-1}" ]; }

catches() {
	local mask
	[ "/proc/$1/exe" -ef "$SONDE" ] || return
	# By a handler, or blocked and read from a descriptor.
	for mask in $(sed -n 's/^Sig\(Cgt\|Blk\):[[:space:]]*//p' "/proc/$1/status" 2>/dev/null); do
		[ $((0x$mask >> ($(kill -l "$2") - 1) & 1)) = 0 ] || return 0
	done
	return 1
}

is_gone() { ! grep -q '^State:[[:space:]]*[RSDtT]' "/proc/$1/status" 2>/dev/null; }

counts_events() { find "/proc/$1/fd" -lname '*perf_event*' 2>/dev/null | grep -q .; }

# CPU time of a process, in ms.
cpu_ms() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | awk -v tick="$(getconf CLK_TCK)" '{ print ($12 + $13) * 1000 / tick }'; }

burn() {
	local ms=$1 pid until=()
	shift
	for pid; do until[pid]=$(($(cpu_ms "$pid") + ms)); done
	for pid; do
		while [ -e "/proc/$pid" ] && [ "$(cpu_ms "$pid")" -lt "${until[pid]}" ]; do sleep 0.05; done
	done
}
export -f burn cpu_ms

calm() {
	local limit=$1 i began status
	shift
	for i in 1 2 3 4 5 6 7 8; do
		began=$(date +%s%N)
		"$@"
		status=$?
		[ $((($(date +%s%N) - began) / 1000000)) -gt "$limit" ] || break
	done
	return $status
}

# add_probe GROUP:EVENT ARGS...: `sonde probe ARGS` defines this event; status 1 and $reason where that cannot be. remove_probes takes away what
# was defined here, and nothing else.
added_probes=()
add_probe() {
	local event=$1
	shift
	# What a test left that was killed, in use by nobody: ours again.
	if "$SONDE" probe -l "$event" 2>/dev/null | grep -q .; then "$SONDE" probe -q -d "$event" >/dev/null 2>&1; fi
	[[ " $* " == *" -x "* ]] || [ -e $tracefs/kprobe_events ] || { reason="kernel without kprobes"; return 1; }
	if ! reason=$("$SONDE" probe -q "$@" 2>&1 >/dev/null); then
		reason=${reason%%$'\n'*}
		# Another kernel may lack the function; anything else is a fault of ours.
		[[ $reason == *"has no function"* ]] || ok 1 "probe $*: $reason"
		return 1
	fi
	added_probes+=("$event")
}
remove_probes() {
	local event
	for event in "${added_probes[@]}"; do "$SONDE" probe -q -d "$event"; done
	added_probes=()
}
# probe_libc:malloc
add_probe_libc_malloc() {
	reason="kernel without uprobes"
	[ -e $tracefs/uprobe_events ] && add_probe probe_libc:malloc -x "$(ldd "$SONDE" | awk '$1 ~ /^libc\.so/ { print $3 }')" malloc
}

# perf 6.1 aborts now and then while another recorder is at work (the kernel then leaks a bit into its records): once more.
perf() {
	local i status=0
	if [ "${1:-}" != record ] || [[ " $* " == *" -o - "* ]]; then
		command perf "$@"
		return
	fi
	for i in 1 2 3 4 5 6; do
		command perf "$@"
		status=$?
		[ $status -lt 128 ] && break
	done
	return $status
}

# perf_stream FILE OPTION...: perf record into a pipe; once more when it aborts, or cannot read what it wrote.
perf_stream() {
	local file=$1 i
	shift
	for i in 1 2 3 4 5 6; do
		command perf record -q -o - "$@" 2>/dev/null >"$file" && command perf script -i "$file" >/dev/null 2>&1 && return 0
	done
	return 1
}

# hits_stubs FILE [OPTION...]: perf 6.1 calls all stubs of libc "@plt", or nothing at all, and the head of any table "_init": where its text or graphs are compared, a recording in which
# one was hit, one of ten, is made again.
hits_stubs() {
	local file=$1
	shift
	"$SONDE" script --no-inline "$@" -F ip,sym,dso -i "$file" 2>/dev/null | grep -qE ' [^ ]*@plt \([^ ]*/libc\.so| \.plt[.a-z]* \('
}

exits() {
	local want=$1 name=$2 status
	shift 2
	# Not through a pipe: record takes one for the place to write to.
	"$@" >"$SONDE_TMP/stdout" 2>"$SONDE_TMP/stderr"
	status=$?
	out=$(tr -d '\0' <"$SONDE_TMP/stdout")
	err=$(cat "$SONDE_TMP/stderr")
	[ "$status" = "$want" ]
	ok $? "$name" || { diag "exit status $status, want $want: $*"; diag "stdout: $out"; diag "stderr: $err"; return 1; }
}

skip() {
	tap_count=$((tap_count + 1))
	printf 'ok %d - %s # SKIP %s\n' "$tap_count" "$(tap_name "$2")" "$1"
}

skip_all() {
	[ "$tap_count" = 0 ] || { skip "$1" "the rest of the file"; done_testing; }
	printf '1..0 # SKIP %s\n' "$1"
	exit 0
}

# lacks THING: prints why it is not here (status 0), or status 1 if it is here.
lacks() {
	case $1 in
	root)
		[ "$(id -u)" = 0 ] && return 1
		echo "not root" ;;
	tracefs)
		[ -e $tracefs/trace ] && [ -r $tracefs/events/header_page ] && return 1
		echo "no readable tracefs" ;;
	perf_events)
		[ -e /proc/sys/kernel/perf_event_paranoid ] && return 1
		echo "kernel without perf events" ;;
	pmu)
		local d
		for d in /sys/bus/event_source/devices/{cpu,cpu_core,armv8_*}; do
			[ ! -e "$d" ] || return 1
		done
		echo "no hardware counters here" ;;
	kprobes)
		[ -e $tracefs/kprobe_events ] && return 1
		echo "kernel without kprobes" ;;
	uprobes)
		[ -e $tracefs/uprobe_events ] && return 1
		echo "kernel without uprobes" ;;
	tracer:*)
		grep -qw "${1#tracer:}" $tracefs/available_tracers 2>/dev/null || { echo "no tracer ${1#tracer:}"; return 0; }
		# Listed is not enough: the host's lockdown refuses to open the filter.
		[ "$1" = tracer:nop ] || cat $tracefs/set_ftrace_filter >/dev/null 2>&1 || { echo "kernel functions may not be traced here"; return 0; }
		return 1 ;;
	hist)
		grep -qs . $tracefs/events/sched/sched_switch/hist && return 1
		echo "kernel without histogram triggers" ;;
	bpf)
		[ -e /sys/fs/bpf ] && [ -e /sys/kernel/btf/vmlinux ] && return 1
		echo "no BPF with BTF" ;;
	guest)
		[ "$SONDE_GUEST" != host ] && return 1
		echo "not in a guest" ;;
	guest:*)
		[ "$SONDE_GUEST" = "${1#guest:}" ] && return 1
		echo "not in guest ${1#guest:}" ;;
	cpus:*)
		[ "$(nproc)" -ge "${1#cpus:}" ] && return 1
		echo "fewer than ${1#cpus:} CPUs" ;;
	module)
		[ -n "${SONDE_TEST_MODULE:-}" ] && return 1
		echo "no test module: ${SONDE_NO_MODULE:-not in a guest}" ;;
	debuginfo)
		[ -n "${SONDE_DEBUGINFO:-}" ] && return 1
		echo "no debug information of the kernel: ${SONDE_NO_DEBUGINFO:-not in a guest}" ;;
	sonde)
		[ -x "$SONDE" ] && return 1
		echo "no program at $SONDE" ;;
	*)
		type -P "$1" >/dev/null && return 1
		echo "$1 is not installed" ;;
	esac
	return 0
}

need() {
	local thing reason
	for thing; do
		if reason=$(lacks "$thing"); then skip_all "$reason"; fi
	done
}

# Status 0: skipped.
needs_or_skip() {
	local name=$1 thing reason
	shift
	for thing; do
		if reason=$(lacks "$thing"); then skip "$reason" "$name"; return 0; fi
	done
	return 1
}

done_testing() {
	printf '1..%d\n' "$tap_count"
	[ "$tap_failed" = 0 ] && exit 0
	exit 1
}
