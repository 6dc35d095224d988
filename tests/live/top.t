#!/usr/bin/env bash
# `sonde top`: updates as text and JSON beside perf top, filters, tasks that end, and the browser (tmux): annotate while it runs, zoom,
# the last seconds as a perf.data.
# where: host 6.1
# needs: root
# timeout: 300
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events python3
cd "$SONDE_TMP" || exit 1
mkdir bin && ln -s "$SONDE" bin/perf
unset TMUX
"$SONDE" workload leaf 600 >/dev/null 2>&1 &
spin=$!
trap 'kill -9 $spin 2>/dev/null; rm -rf "$SONDE_TMP"' EXIT
burn 50 $spin

# ---- text
exits 0 "S4-297: perf top prints an update" ./bin/perf top --stdio -e cpu-clock -F 999 -d 1 -E 1 --updates 1 -p $spin
like "$out" "^   PerfTop: +[0-9]+ irqs/sec  kernel: *[0-9.]+%  exact: .* lost: 0/0 .*\[999Hz cpu-clock\],  \(target_pid: $spin, [0-9]+ CPUs?\)" "S4-297: the first line, as perf has it"
like "$out" '^ +[0-9]+\.[0-9]{2}%  [^ ]+ +\[\.\] workload_leaf' "S4-297: the function that runs, with its library"
is "$(grep -cE '^ +[0-9.]+%' <<<"$out")" 1 "S4-297: -E 1 is one row"
exits 0 "sonde top prints updates" "$SONDE" top --stdio -e cpu-clock -F 999 -d 0.5 --updates 2 -p $spin
is "$(grep -c 'samples/s, kernel .* lost 0  \[999 Hz cpu-clock\]' <<<"$out")" 2 "two of them"
like "$out" '^# Overhead +Shared Object +Symbol' "with report's header"
exits 129 "an argument is refused" "$SONDE" top true
like "$err" "unexpected argument 'true'" "with a reason"
exits 129 "a group that is read as one is refused" "$SONDE" top -e '{cpu-clock,task-clock}:S' --updates 1
like "$err" 'cannot be shown live' "with a reason"

# ---- --listen: the page is tests/browser/top.t
exits 129 "--listen prints nothing" "$SONDE" top --listen 127.0.0.1:0 --stdio
exits 129 "nor JSON" "$SONDE" top --listen 127.0.0.1:0 --json
exits 129 "and has its own table" "$SONDE" top --listen 127.0.0.1:0 -s comm
like "$err" 'the page has a table of its own' "which is said"
exits 129 "a token without --listen" "$SONDE" top --token-file token
exits 1 "other machines cannot reach it" "$SONDE" top --listen 0.0.0.0:0 -e cpu-clock -p $spin
like "$err" 'only on loopback|libmicrohttpd' "with a reason"
exits 1 "a token file that is not there" "$SONDE" top --listen 127.0.0.1:0 --token-file nowhere -e cpu-clock -p $spin

# ---- JSON: fading, zeroing, filters
top_json() { "$SONDE" top --json -e cpu-clock -F 999 -d 0.5 "$@" 2>json.err; }
top_json --updates 4 -p $spin -n >fading.json
top_json --updates 4 -p $spin -z >zeroed.json
top_json --updates 2 -p $spin --symbols workload_leaf,nothing -s comm,sym >symbols.json
top_json --updates 2 -p $spin -U >kernel.json
top_json --updates 2 -p $spin -K >user.json
top_json --updates 2 -p $spin --comms nobody >comms.json
top_json --updates 2 -p $spin -g >graph.json
python3 - >got 2>&1 <<'END'
import json
def updates(name):
    return [json.loads(line) for line in open(name + ".json")]
def rows(update):
    return [r for e in update["events"] for r in e["rows"]]
fading, zeroed = updates("fading"), updates("zeroed")
total = lambda u: sum(e["samples"] for e in u["events"])
print("updates", len(fading), len(zeroed))
print("leaf", all(rows(u)[0]["symbol"] == "workload_leaf" and rows(u)[0]["overhead"] > 50 for u in fading if total(u)))
# What fades is counted in several updates, what is zeroed in one.
print("sum", sum(total(u) for u in fading) > sum(u["new_samples"] for u in fading), [(total(u), u["new_samples"]) for u in fading])
came = sum(u["new_samples"] for u in zeroed)
print("zero", 0 < sum(total(u) for u in zeroed) <= came, [(total(u), u["new_samples"]) for u in zeroed])
print("fades", total(fading[-1]) < sum(u["new_samples"] for u in fading))
print("symbols", {(r["comm"], r["symbol"]) for u in updates("symbols") for r in rows(u)})
print("kernel", {r["mode"] for u in updates("kernel") for r in rows(u)} <= {"kernel"})
print("user", {r["mode"] for u in updates("user") for r in rows(u)})
last = updates("user")[-1]
print("whole", round(sum(r["overhead"] for r in rows(last))))
print("comms", [len(rows(u)) for u in updates("comms")], all(u["new_samples"] for u in updates("comms")))
graph = rows(updates("graph")[-1])
print("graph", {"children", "self"} <= set(graph[0]), "workload_parent" in json.dumps(graph))
END
like "$(cat got)" '^updates 4 4$' "four updates each" || diag "$(cat got json.err)"
like "$(cat got)" '^leaf True' "the function that runs comes first, with more than half"
like "$(cat got)" '^sum True' "samples of earlier updates count"
like "$(cat got)" '^fades True' "but less"
like "$(cat got)" '^zero True' "-z: only those since the last update do"
like "$(cat got)" "^symbols {\('sonde', 'workload_leaf'\)}" "--symbols leaves one function, --sort chooses columns"
like "$(cat got)" '^kernel True' "-U leaves the kernel"
like "$(cat got)" "^user {'user'}" "-K leaves the rest"
like "$(cat got)" '^whole 100$' "which is 100 %"
like "$(cat got)" '^comms \[0, 0\] True' "--comms: samples of others are no rows"
like "$(cat got)" '^graph True True' "-g has callers"

# ---- tasks that end
"$SONDE" workload leaf 600 >/dev/null 2>&1 &
brief=$!
"$SONDE" top --json -e cpu-clock -F 999 -d 0.3 -p $brief >brief.json 2>brief.err &
top=$!
has_rows() { grep -q workload_leaf brief.json; }
wait_until has_rows
kill -9 $brief
wait $top
is $? 0 "ends with the last task" || diag "$(cat brief.err)"
"$SONDE" top --stdio -e cpu-clock -F 99 -d 0.3 >int.txt 2>&1 &
top=$!
has_text() { grep -q 'samples/s' int.txt; }
wait_until has_text
kill -INT $top
wait $top
is $? 0 "Ctrl-C ends it well" || diag "$(cat int.txt)"

# ---- -r is for the kernel to allow
exits 1 "-r 100 is no priority" "$SONDE" top --stdio -r 100 -e cpu-clock -p $spin --updates 1
like "$err" 'expected a priority from 1 to 99' "which is said"
exits 0 "-r 1" "$SONDE" top --stdio -r 1 -e cpu-clock -p $spin --updates 1
like "$out" 'workload_leaf' "has its table"

# ---- the browser
if ! command -v tmux >/dev/null; then
	skip "tmux is not installed" "the browser"
	done_testing
	exit
fi
export TMUX_TMPDIR=$SONDE_TMP
term() { tmux -f /dev/null -L "sonde-top-$$" "$@"; }
trap 'term kill-server 2>/dev/null; kill -9 $spin 2>/dev/null; rm -rf "$SONDE_TMP"' EXIT
screen_has() { wait_for=$1; wait_until shows; }
shows() { term capture-pane -p 2>/dev/null | grep -Eq -- "$wait_for"; }
lacks() { ! shows; }
said() { ok $? "$1" || diag "$(term capture-pane -p)"; }
term new-session -d -x 120 -y 30 "env TERM=screen $SONDE top -e cpu-clock -F 999 --call-graph fp -d 0.3 -p $spin; echo ENDED \$?; sleep 100"
screen_has '%  sonde .*workload_leaf'
said "the function is there"
term send-keys s Home
screen_has 'by Self'
term send-keys Enter
screen_has '^ +[-+] [0-9.]+% '
said "Enter opens its call graph"
# The number of samples grows while the graph stays open.
first=$(term capture-pane -p | sed -n 's/.*Samples: \([0-9K]*\).*/\1/p')
grows() { [ "$(term capture-pane -p | sed -n 's/.*Samples: \([0-9K]*\).*/\1/p')" != "$first" ] && shows; }
wait_for='^ +[-+] [0-9.]+% ' wait_until grows
said "which stays open when the table is made anew"
term send-keys Enter a
# Any instruction of the loop: which one a sample falls on is the CPU's business, and an emulated one has its own habits.
screen_has '^ *[0-9.]+ +\|.*[^a-z](mov|ldr|test|je|jne|jmp|b\.|cbz)[^a-z]'
said "a shows its code, with the samples of the loop"
hits=$(term capture-pane -p | sed -n 's/.*cpu-clock: \([0-9]*\) samples.*/\1/p')
more_hits() { [ "$(term capture-pane -p | sed -n 's/.*cpu-clock: \([0-9]*\) samples.*/\1/p')" != "$hits" ]; }
wait_until more_hits
said "which go on"
term send-keys q
screen_has 'by Self'
term send-keys d
screen_has 'only dso: sonde'
said "d zooms into the library"
term send-keys K
screen_has 'kernel functions: off'
said "K hides the kernel"
term send-keys p
screen_has 'write the last 30 s to: perf.data'
term send-keys Enter
screen_has 'perf.data: [0-9]+ samples'
said "p writes the last seconds"
term send-keys f
screen_has 'freeze the table: on'
said "f freezes"
term send-keys q
screen_has 'ENDED 0'
said "q leaves"
exits 0 "the file can be read" "$SONDE" report --stdio --no-children -g none -i perf.data
like "$out" '[0-9.]+%  sonde +sonde +\[\.\] workload_leaf' "and has the function"
if command -v perf >/dev/null; then
	like "$(perf report --stdio --no-children -g none -i perf.data 2>&1)" '%  sonde +sonde +\[\.\] workload_leaf' "perf reads it, too"
else
	skip "perf is not installed" "perf reads it, too"
fi
done_testing
