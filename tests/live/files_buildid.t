#!/usr/bin/env bash
# `sonde buildid-list` prints the same bytes as perf 6.1 on recordings made by perf and by sonde.
# where: host
# needs: root
# timeout: 300
. "${SONDE_SRC:-.}/tests/lib.sh"

need perf
cd "$SONDE_TMP" || exit 1
export PERF_BUILDID_DIR=$SONDE_TMP/debug

# Kernels leave the build id's bit in records of others while any recorder on the machine asks for ids; perf 6.1 aborts on those.
perf() {
	[ "$1" = record ] || { command perf "$@"; return; }
	local i file
	for i in 1 2 3 4 5 6 7 8; do
		command perf "$@"
		file=$(sed -n 's/.* -o \([^ ]*\) .*/\1/p' <<<"$*")
		[ "$file" = - ] && return
		[ -n "$(command perf buildid-list -H -i "$file" 2>/dev/null)" ] && [ -n "$(command perf buildid-list -i "$file" 2>/dev/null)" ] &&
			command perf report --tasks -i "$file" >/dev/null 2>&1 && return
	done
	rm -f "$file"
}

make_recordings() {
	perf record -q -F 999 -e cpu-clock -o plain.data -- sh -c 'ls -lR /usr/share/doc'
	perf record -q -F 999 -g -a -e cpu-clock,page-faults -o several.data -- sleep 0.2
	perf record -q -e sched:sched_switch -a -o tracepoints.data -- sleep 0.1
	perf record -q -B -F 999 -e cpu-clock -o without.data -- sh -c 'ls -lR /usr/share/doc'
	perf record -q -F 999 -g -e cpu-clock -o - -- sh -c 'ls -lR /usr/share/doc' 2>/dev/null >stream.data
	command perf buildid-list -H -i stream.data || rm stream.data
	perf record -q --buildid-mmap -F 999 -e cpu-clock -o ids.data -- sh -c 'ls -lR /usr/share/doc'
	perf record -q -F 999 -e cpu-clock -o jit.data -- "$SONDE" workload jit 0.2
	"$SONDE" record -F 999 -g -e cpu-clock -o ours.data -- sh -c 'ls -lR /usr/share/doc'
} >/dev/null 2>&1
make_recordings

# perf shows its own temporary copy of the vdso.
faults() { sed 's,/tmp/perf-vdso\.so-.*,[vdso],'; }
same() {
	perf buildid-list "$@" 2>/dev/null | faults >theirs
	"$SONDE" buildid-list "$@" >mine 2>mine.err
	[ -s theirs ] && cmp -s theirs mine
	ok $? "same bytes: buildid-list $* ($(wc -l <theirs) lines)" || diag "$(diff theirs mine | head -5)"
}
# Without a table perf lists binaries in the order in which the rings of the CPUs happened to be written; ours is that of time.
same_lines() {
	perf buildid-list "$@" 2>/dev/null | faults | sort >theirs
	"$SONDE" buildid-list "$@" 2>mine.err | sort >mine
	[ -s theirs ] && cmp -s theirs mine
	ok $? "same lines: buildid-list $* ($(wc -l <theirs) lines)" || diag "$(diff theirs mine | head -5)"
}
for name in plain several tracepoints without stream ids jit ours; do
	[ -e $name.data ] || { skip "perf 6.1 aborts on it" "buildid-list of $name" "buildid-list -H of $name"; continue; }
	case $name in without | stream | ids) same=same_lines ;; *) same=same ;; esac
	$same -i $name.data
	$same -H -i $name.data
done
same -k
same -m
same -i "$(command -v ls)"
exits 1 "a file that is neither" "$SONDE" buildid-list -i /etc/passwd
like "$err" "not a perf.data file" "says so"
done_testing
