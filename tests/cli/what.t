#!/usr/bin/env bash
# What `sonde what` refuses, and how.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde
exits 129 "a delay that is none" "$SONDE" what soon
like "$err" "^sonde what: invalid delay 'soon'" "is named"
exits 129 "no time at all" "$SONDE" what 0
exits 129 "a count that is none" "$SONDE" what 1 many
like "$err" "invalid count 'many'" "is named"
exits 129 "a count of 0" "$SONDE" what 1 0
exits 129 "too many words" "$SONDE" what 1 2 3
like "$err" "unexpected argument '3'" "the first that is too many is named"
exits 129 "an unknown preset" "$SONDE" what --preset nstat
like "$err" "unknown preset 'nstat'" "is named"
exits 129 "two formats" "$SONDE" what --csv --json 1 1
like "$err" "mutually exclusive" "exclude each other"
exits 1 "a file that is not there" "$SONDE" what --raw /proc/no-such-file
like "$err" "cannot read counters from '/proc/no-such-file': No such file" "is named"
exits 129 "a file elsewhere" "$SONDE" what --raw /etc/passwd
like "$err" "'/etc/passwd' is not below /proc or /sys" "is refused"
exits 1 "a file without numbers" "$SONDE" what --raw /proc/filesystems
like "$err" "it has no numbers" "is refused"
exits 0 "--raw without a file is dstat's group" "$SONDE" what --raw 0.1 1
like "$out" '^raw ' "raw sockets"
exits 0 "--list" "$SONDE" what --list
for group in cpu disk net page sys load proc mem swap io int vm aio fs ipc lock socket tcp udp unix psi sched; do
	like "$out" "^$group: " "--list has $group"
done
exits 0 "a delay with its unit" "$SONDE" what -y 50.5ms 2
exits 0 "what is asked for twice is shown once" "$SONDE" what -c -c -C 0,0 50ms 1
is "$(head -1 <<<"$out")" "-----cpu0-usage----" "one title"
exits 1 "a recording that is not there" "$SONDE" what ./nowhere.data
like "$err" "nowhere.data" "is named"
"$SONDE" what 0.05 | head -3 >"$SONDE_TMP/lines"
is "$(wc -l <"$SONDE_TMP/lines")" 3 "a reader that leaves ends it"
done_testing
