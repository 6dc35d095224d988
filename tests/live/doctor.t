#!/usr/bin/env bash
# where: host 6.1 6.12 rt arm64
# needs: root
# timeout: 300
# `sonde doctor`: says what this kernel really allows, and leaves it as it was.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root
cd "$SONDE_TMP" || exit 1

exits 0 "doctor runs" "$SONDE" doctor
text=$out
is "$err" "" "nothing on stderr"
like "$text" "Linux $(uname -r | sed 's/[.+]/\\&/g') on $(uname -m)" "names kernel and machine"
like "$text" '^[0-9]+ ok, [0-9]+ limited, [0-9]+ missing$' "ends with the sum"
unlike "$text" "$(printf '\033')" "no colours in a pipe"
exits 0 "doctor --json runs" "$SONDE" doctor --json
json=$out

# state NAME: as JSON has it
state() {
	printf '%s\n' "$json" | awk -v name="\"name\": \"$1\"," '
		index($0, name) { found = 1 }
		found && /"state":/ { gsub(/[",]/, ""); print $2; exit }'
}
is "$(state 'software events')" ok "software events work"
is "$(state sampling)" ok "sampling works"
is "$(state 'ring buffers')" ok "rings work"
is "$(state breakpoints)" ok "breakpoints work"
is "$(state uprobes)" ok "uprobes work"
is "$(state 'BPF programs')" ok "BPF programs load"
if ! needs_or_skip "tracepoints" tracefs; then is "$(state tracepoints)" ok "tracepoints work"; fi
if needs_or_skip "kprobes work" kprobes; then
	is "$(state kprobes)" missing "kprobes are missing"
else
	is "$(state kprobes)" ok "kprobes work"
fi
if needs_or_skip "hardware events work" pmu; then
	is "$(state 'hardware events')" missing "hardware events are missing"
else
	is "$(state 'hardware events')" ok "hardware events work"
fi
if needs_or_skip "functions may be traced" tracer:function; then
	is "$(state 'kernel functions')" missing "kernel functions are refused"
else
	is "$(state 'kernel functions')" ok "kernel functions may be traced"
	[ "$(uname -m)" != x86_64 ] || is "$(state fentry)" ok "fentry programs load"
fi
is "$(state tracefs)" ok "tracefs is found"
case $SONDE_GUEST in
host) ;;
*) is "$(state debugfs)" ok "debugfs is found" ;;
esac
if command -v python3 >/dev/null; then
	python3 -c 'import json, sys; d = json.load(sys.stdin); [x["section"] + x["name"] + x["value"] for x in d["findings"]]
assert d["container"] == next(x["value"] for x in d["findings"] if x["name"] == "container").startswith("yes"), "container"
assert all(("costs" in x) == (x["state"] != "ok") for x in d["findings"]), "costs"
assert all("fix" in x or "needs" in x for x in d["findings"] if x["state"] == "missing"), "what helps"' <<<"$json"
	ok $? "JSON parses; what is not ok says what it costs, what is missing says what helps"
fi

# Nothing is left behind. Others may work on the same kernel: one undisturbed round proves it.
state_of_kernel() {
	for f in kprobe_events uprobe_events dynamic_events synthetic_events set_event set_event_pid current_tracer tracing_on \
		trace_clock buffer_size_kb trace_options set_ftrace_filter; do
		echo "== $f"
		cat "$tracefs/$f" 2>/dev/null
	done
	ls "$tracefs/instances" 2>/dev/null
	find /proc/sys/kernel /proc/sys/vm /proc/sys/debug -type f -perm /u+w ! -name ns_last_pid ! -name '*uuid' \
		! -path '*/random/*' ! -name perf_event_max_sample_rate ! -name 'drop_caches' ! -path '*/sched_domain/*' -exec grep -sH . {} +
}
changed=yes
for round in 1 2 3 4 5; do
	state_of_kernel >before
	"$SONDE" doctor >/dev/null
	state_of_kernel >after
	if cmp -s before after; then changed=no; break; fi
	sleep 1
done
is "$changed" no "tracefs and /proc/sys are as they were (round $round)" || diff before after | sed 's/^/# /'
[ "$(wc -l <before)" -gt 50 ]
ok $? "and that was compared in $(wc -l <before) lines"

exits 0 "names select" "$SONDE" doctor 'software events' tracefs
is "$(grep -c '  ok  ' <<<"$out")" 2 "two were asked for"
exits 1 "a name that means nothing" "$SONDE" doctor kprobez
like "$err" "unknown check 'kprobez'" "is said"
like "$err" "did you mean 'kprobes'" "with the closest"

config=${SONDE_MODULES%/*}/config
[ -r /proc/config.gz ] && config=/proc/config.gz
if [ -r "$config" ]; then
	exits 0 "the kernel configuration" "$SONDE" doctor --kernel-config "$config" CONFIG_FTRACE 'CONFIG_*TRACER' CONFIG_HZ
	like "$out" 'ok +CONFIG_FTRACE +y' "CONFIG_FTRACE is y"
	like "$out" 'CONFIG_NOP_TRACER +y' "a glob finds the tracers"
	like "$out" 'CONFIG_HZ +[0-9]+' "an option that is not in the table is looked up too"
else
	skip "no configuration of this kernel" "the kernel configuration"
fi
done_testing
