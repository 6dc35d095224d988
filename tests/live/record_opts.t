#!/usr/bin/env bash
# Options of perf 6.1's record: each is known here, and asks the kernel for the same.
# where: host
# needs: root
# timeout: 300
. "${SONDE_SRC:-.}/tests/lib.sh"
need perf perf_events
cd "$SONDE_TMP" || exit 1
ln -s "$SONDE" perf

unknown=
for option in $(command perf record -h 2>&1 | grep -oE '^ +(-[A-Za-z],)? +--[a-z-]+' | grep -oE '\-\-[a-z-]+' | sort -u); do
	"$SONDE" record "$option=1" -o /dev/null --dry-run true >/dev/null 2>one.err
	grep -q "unknown option '$option" one.err && unknown="$unknown $option"
done
is "$unknown" "" "every option of perf record is known"

# An event by half of its name.
needs_or_skip "names of tracepoints" tracefs || {
	exits 1 "a tracepoint without its system" "$SONDE" record -e sched_switch -o x.data -- true
	like "$err" 'there is sched:sched_switch' "says where it is"
	exits 1 "a system without a tracepoint" "$SONDE" record -e sched -o x.data -- true
	like "$err" "'sched:\*' are the tracepoints" "says how to have all"
}

# What differs on purpose: the CPU and build ids are always recorded.
attrs() { # FILE
	command perf evlist -v -i "$1" 2>/dev/null | sed 's/size: [0-9]*, //; s/|CPU//; s/, build_id: 1//; s/, inherit: 1//'
}
same() { # OPTION...
	perf record -q -o theirs.data "$@" -- true >/dev/null 2>theirs.err
	./perf record -q -o mine.data "$@" -- true >/dev/null 2>mine.err
	is "$(attrs mine.data)" "$(attrs theirs.data)" "the same request: $*" || diag "$(cat mine.err)"
}
same -e cpu-clock
same -e cpu-clock -F 99 -g
same -e cpu-clock -F max
same -e cpu-clock -c 100000
same -e cpu-clock -c 100000 -P
same -e page-faults -d
same -e page-faults --phys-data
same -e page-faults --data-page-size
same -e cpu-clock --code-page-size
same -e cpu-clock -s
same -e cpu-clock --running-time
same -e cpu-clock -W
same -e cpu-clock --transaction
same -e cpu-clock -g --user-callchains
same -e cpu-clock -g --kernel-callchains
same -e cpu-clock -k mono
same -e cpu-clock -k boot
same -e cpu-clock --no-inherit
same -e cpu-clock --all-user
same -e cpu-clock --all-kernel
same -e cpu-clock --namespaces

exits 1 "--strict-freq" "$SONDE" record --strict-freq -F 100000000 -e cpu-clock -o x.data -- true
like "$err" 'the system allows [0-9]+' "says what is allowed"
[ ! -e x.data ]
ok $? "and records nothing"
exits 0 "--dry-run" "$SONDE" record --dry-run -e cpu-clock -o x.data -- true
[ ! -e x.data ]
ok $? "records nothing"
exits 1 "-r of no priority" "$SONDE" record -r 100 -e cpu-clock -o x.data -- true
exits 0 "-r" "$SONDE" record -q -r 1 -e cpu-clock -o x.data -- sh -c 'cut -d" " -f41 /proc/$$/stat'
is "$out" 0 "is not for the command"
exits 0 "-m with pages for AUX" "$SONDE" record -q -m 16,16 -e cpu-clock -o x.data -- true
exits 0 "-aRf of old texts" "$SONDE" record -q -aRf -e cpu-clock -o x.data -- true
done_testing
