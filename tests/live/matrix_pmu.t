#!/usr/bin/env bash
# where: arm64
# needs: root
# timeout: 300
# Rows of the acceptance matrix that need hardware counters: on those that QEMU plays for arm64.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events pmu tracefs
cd "$SONDE_TMP" || exit 1
mkdir bin && ln -s "$SONDE" bin/sonde
export PATH=$PWD/bin:$PATH
headers() { sonde report -i "$1" | sed -n "s/^# Samples: [^ ]* *of event '\(.*\)'/\1/p"; }

exits 0 "S0-032: a hardware event, a software event and a tracepoint in one -e" \
	sonde record -e cycles,page-faults,syscalls:sys_enter_getppid -o mixed.data -- sonde workload syscalls 500
is "$(headers mixed.data | xargs)" "cycles page-faults syscalls:sys_enter_getppid" "S0-032: all three are what they were asked to be"
unlike "$err" 'no hardware counter' "S0-032: nothing stands in for the hardware"
like "$(sonde report -i mixed.data)" "^# Samples: 500 +of event 'syscalls:sys_enter_getppid'" "S0-032: the tracepoint has every call"

# A sample whenever the counter has run over, by interrupt: as many as cycles / period.
exits 0 "S4-102: record -e cycles -c 1000000" sonde record -e cycles:u -c 1000000 -o cycles.data -- sonde workload leaf 1
samples=$(sed -n 's/.*, \([0-9]*\) samples, .*/\1/p' <<<"$err")
report=$(sonde report -i cycles.data --sort sym)
like "$report" "^# Event count \(approx\.\): ${samples}000000\$" "S4-102: each sample stands for a period"
[ "$samples" -ge 10 ]
ok $? "S4-102: there are some" || diag "$samples"
like "$(grep -m1 % <<<"$report")" '\[\.\] workload_leaf' "S4-102: where the cycles were spent"
done_testing
