#!/usr/bin/env bash
# `sonde script` prints the same bytes as `perf script --no-inline` 6.1 on recordings made by perf.
# where: host
# needs: root
# timeout: 300
. "${SONDE_SRC:-.}/tests/lib.sh"

need perf
cd "$SONDE_TMP" || exit 1
gcc -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls -pthread "$SONDE_SRC/bench/deep.c" -o deep
export PERF_BUILDID_DIR=$SONDE_TMP/debug

# perf 6.1 sometimes aborts on a busy machine: a recording that it finished is what counts.
perf_record() {
	local i
	for i in 1 2 3 4 5; do
		perf record -q "$@" >/dev/null 2>&1 && return 0
	done
	return 1
}

# What perf gets wrong, written as it would be right. Stubs of the procedure linkage table: perf 6.1 numbers them wrongly where
# there are .plt.sec or .plt.got sections and indirect functions, and then names none or another one.
faults() { sed -E 's/ ([^ ]*@plt|\.plt[.a-z]*)\+0x[0-9a-f]+ / PLT /; s/ _init\+0x[0-9a-f]+ / PLT /'; }

same() {
	local name=$1
	shift
	perf script --no-inline -i "$name.data" "$@" 2>/dev/null | faults >"$name.perf"
	"$SONDE" script --no-inline -i "$name.data" "$@" 2>"$name.err" | faults >"$name.ours"
	[ -s "$name.perf" ] && cmp -s "$name.perf" "$name.ours"
	ok $? "same bytes: $name $* ($(grep -c . "$name.perf") lines)" || diag "$(diff "$name.perf" "$name.ours" | head -10)"
}

perf_record -F 5000 -e cpu-clock -g -o deep.data ./deep 1 3 20 10
same deep
same deep -F comm,tid,time,event
same deep -F ip,sym
same deep -F +pid
same deep --max-stack 3
same deep --ns
perf_record -F 2000 -e cpu-clock -o flat.data ./deep 0.5 2 5 0
same flat
perf_record -e page-faults -c 1 -g -o faults.data "$SONDE" workload faults 2000
same faults
perf_record -e context-switches -c 1 -g -o switches.data -- "$SONDE" workload switches 500
same switches
perf_record -e cpu-clock,page-faults,task-clock -F 999 -g -o several.data "$SONDE" workload forks 30
same several
perf_record -z -F 5000 -e cpu-clock -g -o packed.data ./deep 0.5 2 20 10
same packed
perf_stream pipe.data -F 999 -e cpu-clock -g ./deep 0.3 2 10 5
same pipe

perf_record -a -e sched:sched_switch -e 'syscalls:*_openat' -e irq:softirq_entry -o events.data -- "$SONDE" workload switches 300
same events
perf_record -e raw_syscalls:sys_enter,kmem:kmalloc -g -o eventchains.data "$SONDE" workload io 50
same eventchains
perf_stream eventpipe.data -a -e 'sched:*' -- "$SONDE" workload forks 5
same eventpipe

# The comparison notices a planted error.
sed '0,/step_/s/step_/stop_/' deep.ours | cmp -s - deep.perf
ok $((! $?)) "one wrong letter is noticed"

exits 129 "an unknown field" "$SONDE" script -F comm,foo -i deep.data
like "$err" "unknown field 'foo'" "names it"
done_testing
