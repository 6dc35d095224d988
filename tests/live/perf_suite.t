#!/usr/bin/env bash
# where: host
# needs: root
# timeout: 600
# perf's own shell tests, where its package has them, run on our program called as perf: real programs that parse what we print. 0 is passed,
# 2 skipped; what perf itself cannot do on this machine, we need not. Left out: tests of `probe`, `daemon` and other machines' hardware.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events perf
suite=
for dir in /usr/lib/perf-core /usr/libexec/perf-core /usr/lib64/perf-core; do
	[ ! -e $dir/tests/shell/stat.sh ] || suite=$dir/tests/shell
done
if [ -z "$suite" ]; then
	echo "1..0 # SKIP perf's tests are not installed"
	exit 0
fi
cd "$SONDE_TMP" || exit 1
export HOME=$SONDE_TMP
mkdir bin && ln -s "$SONDE" bin/perf

for test in buildid pipe_test record record+zstd_comp_decomp record_offcpu stat stat+csv_output stat+csv_summary stat+json_output stat+shadow_stat \
	stat_all_metricgroups stat_all_metrics stat_all_pmu stat_bpf_counters lock_contention test_brstack test_data_symbol; do
	if [ ! -e "$suite/$test.sh" ]; then
		skip "this perf does not have it" "$test"
		continue
	fi
	PATH=$PWD/bin:$PATH bash "$suite/$test.sh" >ours.out 2>&1
	ours=$?
	# One that we do not pass is tried with perf itself; once more, since perf's tests count and time things on a machine that may be busy.
	if [ $ours != 0 ]; then
		bash "$suite/$test.sh" >theirs.out 2>&1
		theirs=$?
		[ $theirs != 0 ] || { PATH=$PWD/bin:$PATH bash "$suite/$test.sh" >ours.out 2>&1; ours=$?; }
		[ $ours = 0 ] || [ $ours = $theirs ]
	fi
	ok $? "$test" || diag "$(tail -5 ours.out)"
done
exits 0 "stat record into a pipe" bash -c "PATH=$PWD/bin:\$PATH; perf stat record -o - -- true >counts"
is "$err" "" "prints nothing: the reader does"
like "$("$PWD/bin/perf" stat report -i - <counts 2>&1)" "Performance counter stats for 'pipe':" "which calls it a pipe, as perf"
like "$("$SONDE" stat report -i - <counts 2>&1)" "stats for '.*stat record -o - -- true'" "under our own name: what ran"
done_testing
