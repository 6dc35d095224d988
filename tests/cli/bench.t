#!/usr/bin/env bash
# `sonde bench`: what it refuses, and how.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde
exits 129 "no suite" "$SONDE" bench
exits 129 "an unknown suite" "$SONDE" bench prob
like "$err" "did you mean .*probe" "names the closest"
exits 0 "help" "$SONDE" bench probe --help
like "$out" '^Examples:' "begins with examples"
exits 0 "the list" "$SONDE" bench probe --list
like "$out" '^kretprobe +return of a kernel function' "kinds with what they are"
exits 129 "an unknown kind" "$SONDE" bench probe uprob
like "$err" "unknown kind of probe 'uprob'" "is named"
like "$err" "did you mean 'uprobe'" "with the closest"
for t in 0 -1 61 x; do
	exits 129 "an invalid time: $t" "$SONDE" bench probe "--time=$t"
	like "$err" "invalid time in seconds '$t'" "is named: $t"
done
exits 129 "the list of something" "$SONDE" bench probe --list uprobe
exits 129 "an unknown option" "$SONDE" bench probe --nonsense
if [ "$(id -u)" = 0 ] && [ -e /proc/sys/kernel/unprivileged_bpf_disabled ] && type -P setpriv >/dev/null; then
	# Not at its own path: others may not reach that.
	cp "$SONDE" "$SONDE_TMP/prog" && chmod 755 "$SONDE_TMP" "$SONDE_TMP/prog"
	exits 1 "without rights" setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set -all "$SONDE_TMP/prog" bench probe uprobe
	like "$err" 'cannot measure probes: .*CAP_BPF' "what is missing"
	like "$err" 'hint: run it as root' "and what helps"
else
	skip "not root, or no setpriv" "without rights"
fi
done_testing
