#!/usr/bin/env bash
# What `record` says at its end: to programs (--json) one line and nothing else on standard output, and of call chains by frame pointer that
# there were none to follow, when that is so.
# where: host
# needs: root perf_events
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde cc python3
cd "$SONDE_TMP" || exit 1

fields() { python3 -c 'import json, sys; d = json.loads(sys.stdin.read()); print(d["file"], d["samples"] > 0, "lost" in d)' 2>&1; }
exits 3 "--json: the command's status" "$SONDE" record --json -e cpu-clock -o a.data -- sh -c "$SONDE workload leaf 0.2; echo to stdout; echo to stderr >&2; exit 3"
is "$(fields <<<"$out")" "a.data True True" "standard output is one JSON object"
like "$err" "^to stdout" "what the command prints goes where messages go"
like "$err" "^to stderr" "and so does the rest"
"$SONDE" record --json -e cpu-clock -- "$SONDE" workload leaf 0.2 2>/dev/null | fields >piped
is "$(cat piped)" "perf.data True True" "into a pipe: the line, and the recording goes into perf.data"
"$SONDE" record --json -e cpu-clock -o - -- "$SONDE" workload leaf 0.2 2>err | "$SONDE" script -i - 2>/dev/null | grep -c cpu-clock >lines
isnt "$(cat lines)" 0 "-o - --json: the recording goes into the pipe"
is "$(tail -n 1 err | fields)" "- True True" "and the line to standard error"
exits 0 "flame --json" "$SONDE" flame --json -F 999 -o page.html -- sh -c "$SONDE workload leaf 0.3; echo to stdout"
is "$(python3 -c 'import json, sys; print(json.loads(sys.stdin.read())["file"])' <<<"$out")" "page.html" "one JSON object, too"

# CPU time, not time: a loaded machine gives as many samples.
cat >deep.c <<'END'
#include <time.h>
static volatile long n;
__attribute__((noinline)) static void leaf(void) { for (int i = 0; i < 20000; i++) n++; }
__attribute__((noinline)) static int deep(int d) { if (d) return deep(d - 1) + (int)n; leaf(); return 1; }
int main(void) { while (clock() < CLOCKS_PER_SEC / 2) n += deep(6); return 0; }
END
cc -O1 -fno-optimize-sibling-calls -fomit-frame-pointer -o none deep.c && cc -O1 -fno-optimize-sibling-calls -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -o kept deep.c
ok $? "two programs" || { done_testing; exit; }
says='[0-9]+ % of the stacks end after a frame or two: none has no frame pointers'
exits 0 "fp of a program without frame pointers" "$SONDE" record --call-graph fp -e cpu-clock -F 999 -o c.data -- ./none
like "$err" "$says" "says that there are none"
like "$err" "hint: --call-graph dwarf" "and what helps"
exits 0 "fp of a program with them" "$SONDE" record --call-graph fp -e cpu-clock -F 999 -o c.data -- ./kept
unlike "$err" "frame pointers" "says nothing"
exits 0 "flame --call-graph fp of a program without frame pointers" "$SONDE" flame --call-graph fp -e cpu-clock -F 999 -o f.html -- ./none
like "$err" "$says" "reports it"
like "$err" "hint: --call-graph dwarf" "with the option that helps"
exits 0 "flame --call-graph fp of a program with them" "$SONDE" flame --call-graph fp -e cpu-clock -F 999 -o f.html -- ./kept
unlike "$err" "frame pointers" "has no such note"
exits 0 "-g" "$SONDE" record -g -e cpu-clock -F 999 -o c.data -- ./none
unlike "$err" "frame pointers" "finds out that there are none and says nothing"
exits 0 "--call-graph dwarf" "$SONDE" record --call-graph dwarf -e cpu-clock -F 999 -o c.data -- ./none
unlike "$err" "frame pointers" "needs none and says nothing"
exits 0 "no call chains" "$SONDE" record -e cpu-clock -F 999 -o c.data -- ./none
unlike "$err" "frame pointers" "there is nothing to say"
exits 0 "-q" "$SONDE" record -q --call-graph fp -e cpu-clock -F 999 -o c.data -- ./none
is "$err" "" "says nothing at all"
done_testing
