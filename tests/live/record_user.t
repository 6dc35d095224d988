#!/usr/bin/env bash
# where: host 6.1 6.12 arm64
# user: nobody
# timeout: 300
# `sonde record` for an ordinary user: at perf_event_paranoid 2 it records user space, and says so.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde perf_events
paranoid=$(cat /proc/sys/kernel/perf_event_paranoid)
[ "$paranoid" -le 2 ] || skip_all "perf_event_paranoid is $paranoid: nothing is allowed"
cd "$SONDE_TMP" || exit 1

isnt "$(id -u)" 0 "not root"
exits 0 "records a command" "$SONDE" record -F 499 -g -o u.data -- "$SONDE" workload leaf 1
if [ "$paranoid" = 2 ]; then
	like "$err" 'user space only \(:u\), because perf_event_paranoid is 2' "says that the kernel is left out"
	exits 1 "the whole system is refused" "$SONDE" record -a -o a.data -- true
	like "$err" 'not permitted to measure .* on a whole CPU \(perf_event_paranoid is 2\)' "says why"
	like "$err" 'sysctl kernel.perf_event_paranoid=0' "says what would help"
fi
exits 1 "init is refused" "$SONDE" record -p 1 -o a.data
like "$err" 'as another user' "says why"
[ ! -e a.data ]
ok $? "no file is left behind"
if ! needs_or_skip "perf reads it" perf; then
	out=$(perf report -i u.data --stdio --no-children 2>err)
	is "$(cat err)" "" "perf report says nothing on stderr"
	like "$out" '\[\.\] workload_leaf' "the hot function is there"
	[ "$paranoid" != 2 ] || like "$(perf evlist -i u.data)" ':u$' "the event's name has the :u"
fi
done_testing
