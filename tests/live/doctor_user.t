#!/usr/bin/env bash
# where: host 6.1 6.12 rt arm64
# user: nobody
# timeout: 300
# `sonde doctor` for an ordinary user: what is refused is called by its cause.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde perf_events
paranoid=$(cat /proc/sys/kernel/perf_event_paranoid)

isnt "$(id -u)" 0 "not root"
exits 0 "doctor runs" "$SONDE" doctor
is "$err" "" "nothing on stderr"
like "$out" 'missing  capabilities +none' "no capabilities"
like "$out" 'setcap cap_perfmon' "and the command that lends them"
like "$out" 'missing +BPF programs +only with CAP_BPF and CAP_PERFMON' "BPF is refused"
like "$out" 'missing +uprobes +only with CAP_PERFMON' "uprobes are refused"
case $paranoid in
2)
	like "$out" 'limited  perf_event_paranoid +2: user space only' "user space only"
	like "$out" 'ok +software events' "software events of our own work"
	like "$out" 'ok +sampling' "sampling works"
	like "$out" 'missing  kernel side +refused at perf_event_paranoid 2' "kernel time is invisible"
	like "$out" 'sudo sysctl kernel.perf_event_paranoid=0' "what helps against a refused -a" ;;
3)
	like "$out" 'missing  perf_event_paranoid +3: nothing' "nothing at all"
	like "$out" 'missing  software events +refused at perf_event_paranoid 3' "not even software events" ;;
*)
	like "$out" 'ok +software events' "software events of our own work" ;;
esac
like "$out" 'kallsyms (hides|shows) addresses' "kernel addresses"
done_testing
