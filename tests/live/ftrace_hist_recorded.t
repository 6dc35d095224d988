#!/usr/bin/env bash
# where: host
# needs: root tracefs
# timeout: 300
# `ftrace hist -k` and `ftrace sqlhist` on a kernel that makes no histograms: events are recorded and counted here.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root tracefs
if [ -e $tracefs/events/sched/sched_switch/hist ]; then
	echo "1..0 # SKIP this kernel makes histograms itself: tests/live/ftrace_hist.t"
	exit 0
fi
cd "$SONDE_TMP" || exit 1
export TMPDIR=$SONDE_TMP/none # nothing is written on the way
f() { timeout 100 "$SONDE" ftrace "$@"; }
work=("$SONDE" workload syscalls 500)

exits 0 "a histogram by a field" f hist -k id -f 'id == 110 || id == 231' raw_syscalls:sys_enter "${work[@]}"
like "$err" 'note: this kernel does not support histograms: counting from a recording instead' "the way is told"
n=$(sed -n 's/^{ id: *110 } hitcount: *\([0-9]*\)$/\1/p' <<<"$out")
[ "${n:-0}" -ge 500 ]
ok $? "counts every event ($n)"
like "$out" '^    Hits: [0-9]+$' "with totals"
is "$(awk '/^{/ { n += $NF } END { print n }' <<<"$out")" "$(sed -n 's/^    Hits: //p' <<<"$out")" "which are the sum of the rows"
exits 0 "names of tasks, values added up, most first" f hist -k common_pid.execname -w id -s id.descending -f 'id == 110' raw_syscalls:sys_enter "${work[@]}"
like "$out" '^\{ common_pid: sonde +\[ *[0-9]+\] \} hitcount: +500  id: +55000$' "500 times 110"
exits 0 "powers of two" f hist -k id.log2,cpu -s id -f 'id == 110 || id == 39' raw_syscalls:sys_enter sh -c '"$SONDE" workload syscalls 100'
like "$out" '^\{ id: ~ 2\^7 , cpu: +[0-9]+ \} hitcount: +[0-9]+$' "rounded up, as the kernel does"
exits 0 "buckets" f hist -k id.buckets=50 -f 'id == 110' raw_syscalls:sys_enter "${work[@]}"
like "$out" '^\{ id: ~ 100-149 \} hitcount: +[0-9]+$' "of 50"
exits 0 "JSON" f --json hist -k id -f 'id == 110' raw_syscalls:sys_enter "${work[@]}"
like "$out" '"hitcount": [0-9]+' "has rows"
exits 3 "the command's status" f hist -k id raw_syscalls:sys_enter sh -c 'exit 3'
exits 1 "a field that is not there" f hist -k nosuch raw_syscalls:sys_enter true
like "$err" "sys_enter has no field 'nosuch'" "is named"
exits 1 "a modifier that needs the kernel" f hist -k id.nonsense raw_syscalls:sys_enter true
exits 1 "stacks need the kernel" f hist -k stacktrace raw_syscalls:sys_enter true

# The example of sqlhist's own help, without its duration.
exits 0 "sqlhist of one event" f sqlhist -e 'SELECT next_comm, next_prio FROM sched_switch' sh -c 'for i in 1 2 3 4 5; do sleep 0.01; done'
like "$out" '^\{ next_comm: sleep +, next_prio: +[0-9]+ \} hitcount: +[1-9]' "counts"
exits 0 "values" f sqlhist -e 'SELECT common_pid, CAST(id AS _COUNTER_) FROM raw_syscalls.sys_enter WHERE id = 110' "${work[@]}"
like "$out" 'hitcount: +500  id: +55000$' "are added up"
exits 0 "sqlhist of two" f sqlhist -e 'SELECT TIMESTAMP_DELTA_USECS AS lat FROM raw_syscalls.sys_enter AS a JOIN raw_syscalls.sys_exit AS b ON a.common_pid = b.common_pid WHERE a.id >= 0' \
	sh -c 'for i in 1 2 3; do sleep 0.05; done; "$SONDE" workload syscalls 100'
powers=$(sed -n 's/.*~ 2^\([0-9]*\).*/\1/p' <<<"$out")
is "$powers" "$(sort -n <<<"$powers")" "buckets are sorted by value"
like "$out" '^lat: p50 [0-9.]+ [num]?s, p90 [0-9.]+ [num]?s, p99 [0-9.]+ [num]?s, max [0-9.]+ [num]?s$' "percentiles below"
exits 0 "hist --latency" f hist --latency raw_syscalls:sys_enter,raw_syscalls:sys_exit sh -c '"$SONDE" workload syscalls 100; sleep 0.05'
like "$out" '^latency: p50 [0-9.]+ [num]?s, p90 [0-9.]+ [num]?s, p99 [0-9.]+ [num]?s, max [0-9.]+ m?s$' "percentiles below"
exits 0 "as JSON" f --json hist --latency raw_syscalls:sys_enter,raw_syscalls:sys_exit "${work[@]}"
like "$out" '"p99_ns": [0-9]+' "has them too"
done_testing
