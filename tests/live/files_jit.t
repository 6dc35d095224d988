#!/usr/bin/env bash
# `sonde inject -j`: code that a JIT compiler made gets its names, lines and instructions; perf reads the result, and we read perf's.
# where: host
# needs:
# timeout: 300
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde perf_events
cd "$SONDE_TMP" || exit 1
export PERF_BUILDID_DIR=$SONDE_TMP/debug JITDUMPDIR=$SONDE_TMP/dumps
mkdir dumps
rows() { grep -o '[0-9.]*% .*jit_[a-z]*' "$@"; }
flat() { "$SONDE" report -i "$1" --stdio --no-children -g none --sort dso,sym 2>&1; }

exits 0 "record -k mono" "$SONDE" record -q -k mono -g -e cpu-clock -F 2000 -o plain.data -- "$SONDE" workload jit 0.4
dump=$(echo dumps/jit-*.dump)
pid=$(tr -dc 0-9 <<<"$dump")
rm -f "/tmp/perf-$pid.map" # what it said is in the recording
like "$(flat plain.data)" '\[JIT\] tid [0-9]+ +\[\.\] jit_loop' "without -j there are names, but no files"

# A link in the place of a file that is about to be written is replaced: nobody may lead us elsewhere.
echo precious >precious
ln -s "$PWD/precious" "dumps/jitted-$pid-0.so"
exits 0 "inject -j" "$SONDE" inject -j -i plain.data -o ours.data
is "$err" "" "nothing is amiss"
is "$(cat precious)" precious "a link is not followed"
like "$(flat ours.data)" "[0-9.]+%  jitted-$pid-0.so +\[\.\] jit_loop" "report names the loop"
"$SONDE" script -i ours.data >script.txt
grep -q "jit_outer+0x[0-9a-f]* (.*/dumps/jitted-$pid-1.so)" script.txt
ok $? "and the caller"
like "$("$SONDE" report -i ours.data --stdio --no-children -g none --sort srcline 2>&1)" '[0-9.]+%  jit_source.txt:11' "and its line"
text=$("$SONDE" annotate -i ours.data --stdio jit_loop 2>&1)
like "$text" "Disassembly of jitted-$pid-0.so|of jitted-$pid-0.so for cpu-clock" "annotate shows its code"
like "$text" '<jit_loop>:' "from its first instruction on"
is "$(grep -cE '^ +[0-9]+\.[0-9]+ +: +[0-9a-f]+:' <<<"$text")" 6 "to the last"

# Other tools read the files.
readelf -aW "dumps/jitted-$pid-0.so" >elf.txt 2>elf.err
is "$(cat elf.err)" "" "readelf has nothing to say against it"
like "$(cat elf.txt)" 'FUNC +GLOBAL +DEFAULT +1 jit_loop' "and finds the function"
is "$(addr2line -f -e "dumps/jitted-$pid-0.so" 0xc0 0xc4 | tr '\n' ' ')" "jit_loop jit_source.txt:10 jit_loop jit_source.txt:11 " "addr2line finds its lines"

# In a stream, and once more.
"$SONDE" inject -j -i plain.data -o - >stream.data
is "$(cat stream.data | "$SONDE" script -i - | grep -c jit_loop)" "$("$SONDE" script -i ours.data | grep -c jit_loop)" "a stream says the same"
exits 0 "what has it already" "$SONDE" inject -j -i ours.data -o again.data
like "$err" 'no process in the recording mapped a jit-PID.dump' "has no more"

needs_or_skip "perf reads it" perf || {
	is "$(command perf report -i ours.data --stdio --no-children -g none --sort dso,sym 2>perf.err | rows)" "$(flat ours.data | rows)" "perf's rows are ours"
	command perf inject -j -i plain.data -o theirs.data 2>perf.err
	is "$(flat theirs.data | rows)" "$(command perf report -i theirs.data --stdio --no-children -g none --sort dso,sym 2>perf.err | rows)" "we read what perf injects"
	"$SONDE" inject -j -i plain.data -o ours.data
}

# Times of another clock cannot be compared.
"$SONDE" record -q -e cpu-clock -o clock.data -- "$SONDE" workload jit 0.1
rm -f "/tmp/perf-$(ls -t dumps/*.dump | head -1 | tr -dc 0-9).map"
exits 1 "without -k mono" "$SONDE" inject -j -i clock.data -o no.data
like "$err" 'CLOCK_MONOTONIC' "the clock is named"
like "$err" 'record -k mono' "and what helps"
[ ! -e no.data ]
ok $? "nothing is left behind"

# CPython 3.13 says that its machine is 0.
cp "$dump" kept.dump
printf '\0\0\0\0' | dd of="$dump" bs=1 seek=12 conv=notrunc 2>/dev/null
exits 0 "a dump that does not say its machine" "$SONDE" inject -j -i plain.data -o machine.data
is "$(readelf -h "dumps/jitted-$pid-0.so" | sed -n 's/ *Machine: *//p')" "$(sed -n 's/ *Machine: *//p' <(readelf -h "$SONDE"))" "is of the machine that was recorded"
like "$("$SONDE" annotate -i machine.data --stdio jit_loop 2>&1)" '<jit_loop>:' "and its code is disassembled"

# A dump that is not whole, or not one at all.
head -c -4 kept.dump >"$dump"
exits 0 "a dump that is cut off" "$SONDE" inject -j -i plain.data -o cut.data
like "$err" 'is truncated or damaged; using its code up to there' "is said"
like "$(flat cut.data)" 'jit_loop' "what is whole has names"
echo nonsense >"$dump"
exits 0 "not a dump" "$SONDE" inject -j -i plain.data -o cut.data
like "$err" 'is not a jitdump of version 1' "is said, too"
rm "$dump"
mkfifo "$dump"
exits 0 "a pipe in its place" timeout 20 "$SONDE" inject -j -i plain.data -o cut.data
rm "$dump"
exits 0 "and nothing" "$SONDE" inject -j -i plain.data -o cut.data
like "$(flat cut.data)" "jitted-$pid-0.so +\\[\\.\\] jit_loop" "is what the recording kept"
"$SONDE" record -q -k mono -e cpu-clock -F 2000 -o - -- "$SONDE" workload jit 0.2 2>/dev/null >gone.data
rm -f dumps/*.dump /tmp/perf-"$("$SONDE" script -F pid -i gone.data | head -1 | tr -dc 0-9)".map
exits 0 "a stream keeps it, too" "$SONDE" inject -j -i gone.data -o cut.data
like "$(flat cut.data)" '\[\.\] jit_loop' "with its names"
# perf keeps nothing.
perf record -q -k mono -e cpu-clock -F 2000 -o gone.data -- "$SONDE" workload jit 0.2 >/dev/null 2>&1
rm -f dumps/*.dump /tmp/perf-"$("$SONDE" script -F pid -i gone.data | head -1 | tr -dc 0-9)".map
exits 0 "of perf's recording there is no copy" "$SONDE" inject -j -i gone.data -o cut.data
like "$err" "cannot read '.*/dumps/jit-[0-9]*.dump': No such file" "is said"
done_testing
