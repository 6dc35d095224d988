# shellcheck shell=bash
# For the tests of scheduler events that must be forced: one run in which stat counts, record samples and ftrace records the same events.
sched_events=${SONDE%/*}/tests/sched_events
sched_instance=$tracefs/instances/sonde-s-$$
trap 'sched_watch_end; rm -rf "$SONDE_TMP"' EXIT

# sched_watch EVENT...: switches them on in an instance of our own, where a test sees that they happened.
sched_watch() {
	local name
	mkdir "$sched_instance" || return
	for name; do echo 1 >"$sched_instance/events/sched/$name/enable"; done
}

sched_watch_end() {
	[ -d "$sched_instance" ] || return 0
	echo 0 >"$sched_instance/events/enable"
	rmdir "$sched_instance"
}

# sched_seen REGEX: a condition: such a line is in the instance.
sched_seen() { grep -Eqs -- "$1" "$sched_instance/trace"; }

# observe "EVENT EVENT..." CMD...: counts in $counts (COUNT EVENT a line), what `script` prints in $printed, what `ftrace report` prints in
# $reported, the scheduler's events in $listed; status 1 and no more if one of the three fails.
observe() {
	local name list='' options=()
	for name in $1; do
		list=$list${list:+,}sched:$name
		options+=(-e "sched:$name")
	done
	shift
	"$SONDE" stat -a -x, -o counts -e "$list" -- "$SONDE" record -q -a -e "$list" -o samples.data -- \
		"$SONDE" ftrace record -q "${options[@]}" -o trace.dat -- "$@" || return 1
	counts=$(awk -F, '/sched:/ { print $1, $3 }' counts)
	printed=$("$SONDE" script -i samples.data -F event,trace)
	reported=$("$SONDE" ftrace report trace.dat)
	listed=$("$SONDE" ftrace list -e '^sched:')
}

# shows ID EVENT VALUES: a regular expression of what is behind the event's name, to the end of the line.
shows() {
	like "$listed" "^sched:$2\$" "$1: sched:$2 is listed"
	like "$counts" "^[1-9][0-9]* sched:$2\$" "$1: is counted"
	like "$(grep "sched:$2:" <<<"$printed")" "sched:$2: +$3\$" "$1: record and script show its values"
	like "$(grep " $2: " <<<"$reported")" " $2: +$3\$" "$1: ftrace record and report show the same"
}
