# shellcheck shell=bash
# For tests that change tracefs: how everything is set up, to be compared before and after.

# tracing_state [FOLDER [SYSTEM...]]: every setting below a buffer's folder, without what changes by itself. With SYSTEMs, of the events of all others
# only what their system's files say (whether any is on): all are thousands of files.
tracing_state() {
	local system folder=${1:-$tracefs} others=(-false)
	if [ $# -gt 1 ]; then
		others=(-path '*/events/*/*' -type d)
		for system in "${@:2}"; do others+=(! -path "*/events/$system/*"); done
	fi
	(cd "$folder" && find . \( \( "${others[@]}" \) -o -name trace -o -name 'trace_pipe*' -o -name snapshot\* -o -name stats -o -name saved_cmdlines \
		-o -name saved_tgids -o -name 'available_*' -o -name 'trace_marker*' -o -name free_buffer -o -name error_log -o -name format \
		-o -name id -o -name '*_profile' -o -name printk_formats -o -name hist -o -name inject -o -name README \
		-o -name touched_functions -o -name '*_total_info' -o -name trace_stat -o -name hist_debug -o -name buffer_meta \
		-o -name stack_max_size -o -name stack_trace -o -name tracing_max_latency -o -name eval_map \) -prune -o -type f -print |
		sort | xargs grep -Hs '' 2>/dev/null)
}

# An unused top buffer grows when its first event is switched on: let that have happened before a state is taken.
tracing_settle() {
	echo 1 >$tracefs/events/sched/sched_switch/enable
	echo 0 >$tracefs/events/sched/sched_switch/enable
	echo >$tracefs/trace
}
