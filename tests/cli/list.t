#!/usr/bin/env bash
# `sonde list`: kinds, globs, details, JSON, what is not there; on machines of tests/data/sysroot.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde python3
roots=$SONDE_SRC/tests/data/sysroot

exits 0 "list hw on a machine without PMU" "$SONDE" list hw --sysroot "$roots/vm-no-pmu"
is "$out" "" "nothing to show"
exits 0 "list hw --all there" "$SONDE" list hw --all --sysroot "$roots/vm-no-pmu"
like "$out" '^  cpu-cycles OR cycles +\[Hardware event\] \(no CPU PMU\)$' "shown with the reason"
exits 0 "list hw on a server" "$SONDE" list hw --sysroot "$roots/intel-server"
is "$(printf '%s\n' "$out" | wc -l)" 10 "ten generic events"

exits 0 "list pmu" "$SONDE" list pmu --sysroot "$roots/intel-server"
like "$out" '^  cpu-cycles OR cpu/cpu-cycles/ +\[Kernel PMU event\]$' "the core PMU's events have names of their own"
like "$out" '^  uncore_imc_10/cas_count_read/ +\[Kernel PMU event\]$' "uncore"
exits 0 "list pmu --details" "$SONDE" list pmu --details --sysroot "$roots/intel-server"
like "$out" '^        uncore_imc_10/event=0x04,umask=0x0f/  6.10352e-05 MiB$' "encoding, scale and unit"
exits 0 "list -v pmu --unit" "$SONDE" list -v pmu --unit msr --sysroot "$roots/intel-server"
like "$out" '^       event=  config:0-63$' "terms of a PMU"
unlike "$out" uncore "only that unit"
exits 0 "list pmu on hybrid cores" "$SONDE" list pmu --sysroot "$roots/intel-hybrid"
like "$out" '^  cpu_atom/mem-loads/ +\[Kernel PMU event\]$' "each kind of core"

exits 0 "list tracepoint" "$SONDE" list tracepoint --sysroot "$roots/vm-no-pmu"
is "$(printf '%s\n' "$out" | grep -c 'Tracepoint event')" 9 "nine tracepoints"
exits 0 "list SYSTEM:GLOB" "$SONDE" list 'sched:sched_wake*' --sysroot "$roots/vm-no-pmu"
is "$(printf '%s\n' "$out" | awk '{print $1}' | xargs)" "sched:sched_wakeup sched:sched_wakeup_new" "by pattern"
exits 0 "list -v tracepoint" "$SONDE" list -v sched:sched_switch --sysroot "$roots/vm-no-pmu"
like "$out" '^       pid_t next_pid$' "its fields"
unlike "$out" common_pid "without the common ones"
exits 0 "list without tracefs" "$SONDE" list tracepoint --sysroot "$roots/amd"
like "$out" '^  \[ Tracepoints not available: tracefs is not mounted \]$' "is said"

exits 0 "list WORD" "$SONDE" list faults --sysroot "$roots/amd"
like "$out" '^  page-faults OR faults +\[Software event\]$' "part of a name"
exits 1 "list of nothing" "$SONDE" list nosuchthing --sysroot "$roots/amd"
is "$out" "" "prints nothing"
like "$err" "no event matches 'nosuchthing'" "and says so"

exits 0 "list metric --details" "$SONDE" list metric --details
like "$out" '^       value / cpu.-cycles   \(value: instructions\)$' "the formula"
printf 'ipc = instructions / cycles ; insn/cycle ; mine\n' >"$SONDE_TMP/m"
exits 0 "list metric --metrics FILE" "$SONDE" list metric --metrics "$SONDE_TMP/m"
like "$out" '^  ipc$' "metrics of a file"
printf 'ipc = instructions /\n' >"$SONDE_TMP/m"
exits 1 "a bad metrics file" "$SONDE" list metric --metrics "$SONDE_TMP/m"
like "$err" "/m:1: " "names file and line"
exits 1 "a metrics file that is not there" "$SONDE" list metric --metrics "$SONDE_TMP/nope"
like "$err" "cannot read .*nope: No such file" "says so"

for root in intel-hybrid intel-server amd arm64-biglittle arm64-qemu vm-no-pmu; do
	"$SONDE" list --json --all --sysroot "$roots/$root" | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert len(d) > 50 and all("EventType" in e and "Available" in e for e in d)
assert all(e["Available"] or e["WhyNot"] for e in d)'
	ok $? "$root: --json parses, and says why what is not there is not"
done

exits 0 "list pfm --details --all" "$SONDE" list 'hsw::CPU_CLK_THREAD_UNHALTED' --details --all
if printf '%s' "$out" | grep -q 'built without'; then
	skip "built without libpfm4" "libpfm's names"
else
	like "$out" '^Code     : 0x3c$' "code of Haswell's CPU_CLK_THREAD_UNHALTED"
	like "$out" '^Umask-00 : 0x01 : PMU : \[REF_XCLK\]' "its umasks: 3CH 01H"
	like "$out" '^Modif-00 : 0x00 : PMU : \[k\] : monitor at priv level 0 \(boolean\)$' "its modifiers"
fi

ln -s "$SONDE" "$SONDE_TMP/perf"
exits 0 "as perf: list" "$SONDE_TMP/perf" list --sysroot "$roots/vm-no-pmu"
unlike "$out" 'Tracer|kprobe:' "nothing that perf has not"
exits 0 "as perf: list --raw-dump" "$SONDE_TMP/perf" list --raw-dump sw
like "$out" '^alignment-faults bpf-output .*system_time $' "names for completion"
done_testing
