#!/usr/bin/env bash
# `sonde trace --filter` and `--path`: calls by their arguments, results and files.
# where: host 6.1 6.12 arm64
# needs: root
# timeout: 120
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde root perf_events
cd "$SONDE_TMP" || exit 1
err=$("$SONDE" trace -e close -- true 2>&1 >/dev/null)
case $err in *"strings and structures of system calls are not shown"*) skip_all "no BPF programs here: $err" ;; esac
echo hello >here.conf
calls() { grep -cE ' [a-z0-9_]+\(' <<<"$out"; }

exits 1 "a string" "$SONDE" trace -e openat --filter 'filename ~ "*.conf"' -- cat here.conf nowhere.conf nowhere.txt
is "$(calls)" 2 "two of three files"
like "$out" 'filename: "here.conf"' "one"
like "$out" 'filename: "nowhere.conf"' "and the other"
exits 1 "with the result" "$SONDE" trace -e openat --filter 'filename ~ "*.conf" && ret < 0' -- cat here.conf nowhere.conf nowhere.txt
is "$(calls)" 1 "the one that failed"
exits 1 "an error by name" "$SONDE" trace -e openat --filter 'filename =~ "^nowhere" && ret == -ENOENT' -- cat here.conf nowhere.conf nowhere.txt
is "$(calls)" 2 "both that are not there"
exits 1 "the error as text" "$SONDE" trace -e openat --filter 'error == "ENOENT" && filename == "nowhere.txt"' -- cat here.conf nowhere.txt
is "$(calls)" 1 "the same"
exits 0 "numbers" "$SONDE" trace -e write --filter 'count > 5' -- sh -c 'echo abc; echo hello; echo hi; echo longer'
is "$(calls)" 2 "two of four"
exits 0 "flags by name" "$SONDE" trace -e openat --filter 'flags & CREAT' -- sh -c 'echo 1 >made; cat here.conf'
is "$(calls)" 1 "the file that was made"
exits 0 "as in C" "$SONDE" trace -e openat --filter 'flags & O_CREAT' -- sh -c 'echo 1 >made; cat here.conf'
is "$(calls)" 1 "the same"
exits 0 "a descriptor by its file" "$SONDE" trace -e read,close --filter 'fd ~ "*here.conf"' -- grep hello here.conf
like "$out" ' read\(fd: [0-9]+<[^>]*here.conf>' "reads of it"
is "$(grep -c ' close(' <<<"$out")" 1 "and its close"
exits 0 "a duration" "$SONDE" trace -e '*nanosleep' --filter 'duration > 1500' -- sh -c 'sleep 2; sleep 0.001'
is "$(calls)" 1 "the long one"
exits 0 "the name of the process" "$SONDE" trace -e write --filter 'COMM == "dd"' -- sh -c 'echo no; dd if=/dev/zero of=/dev/null bs=1 count=3 status=none'
is "$(calls)" 3 "only those of dd"
exits 0 "each -e has its own" "$SONDE" trace -e openat --filter 'filename ~ "*.conf"' -e write --filter 'count == 6' -- grep hello here.conf
is "$(calls)" 2 "one open, one write" || diag "$out"
exits 0 "two filters of one -e" "$SONDE" trace -e write --filter 'count > 2' --filter 'count < 5' -- sh -c 'echo a; echo abc; echo hello'
is "$(calls)" 1 "must both hold"
exits 0 "all but" "$SONDE" trace -e '!read,close' --filter 'CALL == "write"' -- grep hello here.conf
is "$(calls)" 1 "of the others, write"
exits 0 "-s" "$SONDE" trace -s -e write --filter 'count > 5' -- sh -c 'echo abc; echo hello'
like "$out" '^   write +1 ' "counts what the filter lets pass"
if ! needs_or_skip "--json" python3; then
	"$SONDE" trace --json -e openat --filter 'filename ~ "*.conf"' -- cat here.conf >json
	is "$(python3 -c 'import json; print(sum("syscall" in json.loads(l) for l in open("json")))')" 1 "--json: one object"
fi

exits 1 "--path" "$SONDE" trace --path '*here.conf' -- grep nothing here.conf
like "$out" ' openat\(' "the call that opens it"
like "$out" ' read\(fd: [0-9]+<' "those with its descriptor"
unlike "$out" ' (mmap|brk)\(.*libc' "no others"
is "$(grep -cv 'here.conf' <<<"$out")" 0 "every line has it" || diag "$out"

exits 129 "an unknown name" "$SONDE" trace -e openat --filter 'filenam == "x"' -- true
like "$err" "none of these system calls has an argument 'filenam'" "is an error"
like "$err" "did you mean 'filename'" "with a hint"
exits 129 "a fault in the expression" "$SONDE" trace -e openat --filter 'ret <' -- true
exits 129 "calls and events" "$SONDE" trace -e openat,sched:sched_switch --filter 'ret < 0' -- true
like "$err" "system calls and events" "says so"
exits 129 "no strings" "$SONDE" trace --no-strings -e openat --filter 'filename ~ "*"' -- true
like "$err" "'filename' is compared with text, but only pointers are known with --no-strings" "is refused"
exits 0 "numbers without strings" "$SONDE" trace --no-strings -e write --filter 'count == 4' -- sh -c 'echo abc; echo hello'
is "$(calls)" 1 "are known"
done_testing
