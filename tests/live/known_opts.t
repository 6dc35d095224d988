#!/usr/bin/env bash
# Every option of perf's commands for recordings is known to ours: it works, or it is refused with what to use instead. Those whose value
# changes nothing a test could see are only tried.
# where: host
# needs:
# timeout: 300
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde perf
gen=$(dirname "$SONDE")/tests
cd "$SONDE_TMP" || exit 1
export HOME=$SONDE_TMP PERF_BUILDID_DIR=$SONDE_TMP/debug
for verb in report script evlist diff buildid-list buildid-cache inject archive "data convert"; do
	unknown=
	for option in $(command perf $verb -h 2>&1 | grep -oE '^ +(-[A-Za-z], )?--[A-Za-z0-9-]+' | grep -oE -- '--[A-Za-z0-9-]+' | sort -u); do
		"$SONDE" $verb $option=1 /nowhere </dev/null 2>&1 | grep -q 'unknown option' && unknown+=" $option"
	done
	is "$unknown" "" "every option of perf $verb is known"
	unknown=
	for option in $(command perf $verb -h 2>&1 | grep -oE '^ +-[A-Za-z]\b' | sort -u); do
		"$SONDE" $verb $option 1 /nowhere </dev/null 2>&1 | grep -q "unknown option '$option'" && unknown+=" $option"
	done
	is "$unknown" "" "every letter of perf $verb is known"
done

[ -x "$gen/perf_large" ] || { skip "tests/perf_large is not built" "options that work"; done_testing; exit; }
"$gen/perf_large" maps 2000 rec.data
for option in -m --modules --skip-empty --disable-order "--samples 3" --demangle --demangle-kernel --stdio-color=never --ignore-vmlinux -f; do
	# shellcheck disable=SC2086
	is "$("$SONDE" report --stdio -i rec.data $option 2>&1)" "$("$SONDE" report --stdio -i rec.data 2>&1)" "report $option changes nothing here"
done
is "$("$SONDE" report --stdio -i rec.data --show-cpu-utilization 2>&1)" "$("$SONDE" report --stdio -i rec.data --showcpuutilization 2>&1)" \
	"--show-cpu-utilization by both names"
for option in --itrace -M --source; do
	exits 129 "report $option" "$SONDE" report --stdio -i rec.data $option
	like "$err" "is not supported" "is refused"
	like "$err" "hint: [A-Z-].{12}" "with what to use instead"
done
for option in -f --force -d --demangle-kernel; do
	is "$("$SONDE" script -i rec.data $option 2>&1 | md5sum)" "$("$SONDE" script -i rec.data 2>&1 | md5sum)" "script $option changes nothing here"
done
for option in -a -L --insn-trace --xed --dlfilter=x --guest-code; do
	exits 129 "script $option" "$SONDE" script -i rec.data $option
	like "$err" "is not supported" "is refused"
done
done_testing
