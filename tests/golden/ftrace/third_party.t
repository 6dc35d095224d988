#!/usr/bin/env bash
# What recordings of other kernels and vendors have and ours do not: markers of old kernels, trace_printk with line ends inside,
# events without a task, two fields of one name, types that only a compiler knows, an option number that a vendor used.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde python3
corpus=${SONDE_BUILD:-$SONDE_SRC/build}/tests/trace_corpus
[ -x "$corpus" ] || { skip "trace_corpus is not built" "synthetic files"; done_testing; exit; }
cd "$SONDE_TMP" || exit 1
oracle=
trace-cmd --help 2>&1 | grep -q 'version 3.1.6' && oracle=1
[ -n "$oracle" ] || skip "trace-cmd 3.1.6 is not installed" "as trace-cmd says"
for kind in markers bss nopid twice types vendor stacks; do
	for version in 6 7 zstd; do "$corpus" $kind $version >$kind.$version; done
done
rep() { "$SONDE" ftrace report "$@" 2>&1; }

for version in 6 7 zstd; do
	for option in "" -R -t -l; do
		[ -n "$oracle" ] || continue
		for kind in markers bss; do
			trace-cmd report $option $kind.$version >want 2>/dev/null
			rep $option $kind.$version >got
			cmp -s want got
			ok $? "$kind, $version ${option:-without option}: as trace-cmd says" || diff got want | head -4 | sed 's/^/# /'
		done
	done
	like "$(rep bss.$version | sed -n 2p)" 'drv_bss_info_changed: phy0 vif:wlan0\(2\)$' "$version: the layout of mac80211's plug-in"
	is "$(rep markers.$version | grep -c '^lines [0-9]')" "$(rep markers.$version | grep -c 'bprint: *gamma: two$')" "$version: a line end inside of trace_printk is one"
	rep --json markers.$version >json
	is "$(python3 -c '
import json
events = [json.loads(l) for l in open("json")]
print(sorted({e["fields"]["buf"] for e in events if e["event"] == "print"}))
print(sorted({e["text"] for e in events if e["event"] != "print"})[:3])')" \
"['', 'a\\nb\\n', 'one\\n', 'two', 'with \"quotes\" and \\t\\n']
['gamma: no end word', 'gamma: plain 1', 'gamma: plain 13']" "$version: JSON has the text of markers and of trace_printk"
	"$SONDE" export --to perfetto -i markers.$version -o perfetto.json 2>export.err
	ok $? "$version: exported" || diag "$(cat export.err)"
	for text in '"two"' '"gamma: plain 1"' '"gamma: no end word"' '"gamma: put this"'; do
		grep -q "$text" perfetto.json
		ok $? "$version: the export has $text"
	done

	is "$(rep nopid.$version | sed -n 2,3p)" "           <...>-?     [000]     0.001000: hyp_exit:             
           <...>-?     [001]     0.001001: hyp_enter:            vcpu=4001" "$version: an event without common_pid has no task"
	like "$(rep --json nopid.$version)" '"pid":null,"comm":null,"system":"hyp","event":"hyp_enter","fields":\{"common_type":103,"vcpu":4001\}' "$version: nor in JSON"
	like "$(rep twice.$version)" ': gk20a_twice: +name=gpu number=11$' "$version: two fields of one name"
	is "$(rep --json twice.$version | python3 -c 'import json, sys; e = json.loads(sys.stdin.readline()); print(e["fields"]["name"], e["fields"]["name#2"])')" "10 gpu" "$version: both are in JSON"
	like "$(rep types.$version)" ': binder_like: +transaction=3 ptr=1004 same=1$' "$version: typeof and __builtin_types_compatible_p"
	like "$(rep types.$version)" ': binder_command: +cmd=0x40406300 \?$' "$version: what only the kernel knew is a question mark"
	is "$(rep vendor.$version)" "$("$corpus" flags $version >plain; rep plain)" "$version: option 8 of 1047 bytes is a vendor's"

	# A stack follows its event through a filter, and only its own.
	for f in 'tick: value & 1' 'tick: value % 7 == 3'; do
		rep -F "$f" stacks.$version >got
		rep --threads 1 -F "$f" stacks.$version | cmp -s - got
		ok $? "$version: -F '$f': one worker prints what many print"
		rep --json stacks.$version >json
		is "$(rep --json -F "$f" stacks.$version | md5sum)" "$(python3 - "$f" <<'END' | md5sum
import json, sys
wanted = (lambda v: v & 1) if "&" in sys.argv[1] else (lambda v: v % 7 == 3)
kept = {}  # by CPU: whether the event before passed
for line in open("json"):
    e = json.loads(line)
    if not e["event"].endswith("_stack"):
        kept[e["cpu"]] = wanted(e["fields"]["value"])
    if kept.get(e["cpu"]):
        print(line, end="")
END
)" "$version: -F '$f': each stack follows its own event"
	done
done
done_testing
