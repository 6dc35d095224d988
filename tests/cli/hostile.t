#!/usr/bin/env bash
# timeout: 900
# Files that were made to break arithmetic, or to cost far more time or memory than their size (tests/gen/hostile.py). For any input:
# an answer or a clear refusal within 5 s + 5 s for each 10 MB, in 64 MB + 20 times its size.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde python3

cd "$SONDE_TMP" || exit 1
make() { python3 "$SONDE_SRC/tests/gen/hostile.py" "$1" "$1" || exit 1; }

# ---- times and weights that do not fit into a word ----

for kind in wild_times late_zero wild_periods; do
	make "$kind"
	for way in "flame -o page.html" "flame --svg -o page.svg" "flame --term" "export --to firefox -o out.json" \
		"export --to pprof -o out.pb" "export --to speedscope -o out.ss" \
		"script" "report --stdio --sort time" "report --stdio --time 10%-90%"; do
		# shellcheck disable=SC2086
		exits 0 "$kind: $way" "$SONDE" ${way%% *} -i "$kind" ${way#"${way%% *}"}
	done
done
"$SONDE" flame -i wild_times -o page.html 2>messages
is "$(python3 "$SONDE_SRC/tests/golden/flame/read_page.py" page.html | cut -d' ' -f3-)" "0 3 3
1844 1 1
3689 2 2" "wild_times: every sample is in the bucket of its time"
"$SONDE" flame -i late_zero -o page.html 2>messages
is "$(python3 "$SONDE_SRC/tests/golden/flame/read_page.py" page.html | cut -d' ' -f3-)" "0 3 3
1000 1 1
2000 1 1" "late_zero: samples without a time are as old as the first that has one"
"$SONDE" export --to firefox -i late_zero -o out.json 2>messages
is "$(python3 -c 'import json; print([t["samples"]["time"] for t in json.load(open("out.json"))["threads"]])')" \
	"[[0, 0, 0, 0.002, 0.004]]" "late_zero: no time before the first"
like "$("$SONDE" flame -i wild_periods --term 2>messages)" '^\|:7 +\|:8$' "wild_periods: two halves of the whole"
"$SONDE" report --stdio -i wild_times --time 50%-100% >out 2>messages
like "$(cat out)" "Samples: 2 " "wild_times: the second half of all time has its samples"

# Times that go backwards, or that span all there are: what lies between them is nothing, not centuries.
make wild_trace
"$SONDE" export --to perfetto -i wild_trace -o out.json 2>messages
is "$(grep -o '"ts":[0-9]*' out.json | sort -u | tr '\n' ' ')" '"ts":0 "ts":9007199254740991 ' "wild_trace: exported times do not wrap around"
make backwards_wakeup
like "$("$SONDE" ftrace report -w -i backwards_wakeup 2>messages)" 'Latency: 0\.000 usecs' "backwards_wakeup: no latency"
like "$("$SONDE" ftrace report --profile -i backwards_wakeup 2>messages)" 'sched_wakeup:0x9 \(1\) Total: 0 Avg: 0 Max: 0\(' \
	"backwards_wakeup: no time between the two events"
make backwards_calls
like "$("$SONDE" ftrace graph -i backwards_calls 2>messages)" '^ +1 +0 +0 +0 +0 +0xffffffff81000000$' "backwards_calls: a call that took no time"

# ---- small files that want much ----

# KIND WANT COMMAND...: the command's cost is within bounds, and it answers (WANT empty) or refuses with a message that fits WANT.
# Every core may be busy at once, so that its CPU time may be twice the time on the wall.
costs() {
	local kind=$1 want=$2 status cpu mb size
	shift 2
	[ -e "$kind" ] || make "$kind"
	python3 "$SONDE_SRC/tests/gen/measure.py" cost "$SONDE" "$@" >out 2>messages
	read -r status cpu mb <cost
	size=$(du -cm "$kind" "$kind".elf* 2>/dev/null | tail -n 1 | cut -f1)
	is "$status" "$([ "$want" ] && echo 1 || echo 0)" "$kind: $1: status" || diag "$(head -c 500 messages)"
	[ -z "$want" ] || like "$(cat messages)" "$want" "$kind: $1: says what it was"
	if [ -n "$sanitized" ]; then
		skip "a sanitizer costs time and memory of its own" "$kind: $1: cost"
		return
	fi
	awk -v cpu="$cpu" -v size="$size" 'BEGIN { exit cpu > 2 * (5 + size / 2) }'
	ok $? "$kind: $1: time" || diag "$cpu s of CPU time for $size MB"
	[ "$mb" -le $((64 + 20 * size)) ]
	ok $? "$kind: $1: memory" || diag "$mb MB for $size MB"
}
sanitized=$(grep -c __asan_init "$SONDE" | grep -v '^0')
too_much='would take too much (time|memory) for a file of [0-9]+ bytes'

for command in "ftrace report" "script" "flame --term"; do
	# shellcheck disable=SC2086
	on() { costs "$1" "$2" $command -i "$1"; }
	on page_size_1 'page_size_1: invalid page size 1 \(64 to'
	on pages_claimed "pages_claimed: unpacking its pages $too_much"
	on cpus_and_buffers "cpus_and_buffers: the list of CPUs of its buffers $too_much"
	on chunk_lists "chunk_lists: the lists of its packed pages $too_much"
	on chunks_of_cpus "chunks_of_cpus: unpacking its pages $too_much"
	on chunks_held "chunks_held: (unpacked pages that lie side by side|what was recorded at one time) $too_much"
	on pages_at_once "pages_at_once: what was recorded at one time $too_much"
	on chunks_allowed ""
	on section_again "section_again: unpacking its sections $too_much"
	on formats_again "formats_again: reading its event formats $too_much"
	on pages_again "pages_again: reading its pages $too_much"
done
costs pages_allowed "" ftrace report -i pages_allowed
costs pages_allowed "" script -i pages_allowed
costs pages_allowed "" flame --term -i pages_allowed

for command in "report --stdio --group" "script" "evlist -g" "report --header-only" "buildid-list"; do
	# shellcheck disable=SC2086
	on() { costs "$1" "$2" $command -i "$1"; }
	on ids_overlap "ids_overlap: the ids of its events $too_much"
	on ids_collide ""
	on frames_collide ""
	on groups_many ""
	on maps_of_one_path ""
	on expands ""
	on expands_allowed ""
done
costs expands "" script -i expands
like "$(cat messages)" "the recording decompresses to more than 50 times its size; read up to byte" "expands: says so"
costs expands_allowed "" script -i expands_allowed
is "$(cat messages)" "" "expands_allowed: says nothing"
# What it unpacks to stays in memory only in proportion to the file: sorted on a disk, or refused where it is all different.
if [ -z "$sanitized" ]; then
	costs expands_chains "" script -i expands_chains # keeps no chains
	for command in "report --stdio" "flame --term" "export --to folded -o out.folded"; do
		# shellcheck disable=SC2086
		costs expands_chains "what the recording unpacks to would take too much memory for a file of [0-9]+ bytes" $command -i expands_chains
	done
else
	skip "memory is not measured under a sanitizer" "expands_chains"
fi
for command in "report --stdio" "script" "flame --term" "export --to folded -o out.folded" "evlist"; do
	# shellcheck disable=SC2086
	costs expands_maps "" $command -i expands_maps
done
cp expands broken
costs broken "cannot repair 'broken': its records decompress to more than 50 times their size" data repair broken
cmp expands broken
ok $? "expands: and is left as it is"
# What once took time by the square of its size: 4 to 9 s then, 0.2 s now.
quick() { # KIND COMMAND...
	local kind=$1
	shift
	costs "$kind" "" "$@" -i "$kind"
	[ -n "$sanitized" ] || awk '{ exit $2 > 2.5 }' cost
	ok $? "$kind: no more than some steps for each of its parts" || diag "$(cat cost)"
}
quick lines_again report --stdio -s sym,srcline
like "$(cat out)" 'x\.c:1$' "lines_again: the lines are told"
quick stubs_of_one_slot report --stdio -s sym
quick counts_of_cpus stat report
# Events of the scheduler, of locks and of memory, whose fields are anything.
for kind in sched_wild sched_cpus sched_columns sched_tasks sched_waits sched_names; do
	for way in "sched latency" "sched timehist" "sched timehist -s" "sched timehist -V -w -M" "sched map" "sched map --compact" "sched why" \
		"sched script" "report --stdio"; do
		# shellcheck disable=SC2086
		costs "$kind" "" $way -i "$kind"
		[ "$(stat -c %s out)" -le $((100 << 20)) ]
		ok $? "$kind: $way: as much output as there were events" || diag "$(stat -c %s out) bytes"
	done
	rm -f "$kind"
done
for kind in lock_wild kmem_wild; do
	for way in "lock report" "lock contention -l" "lock contention -v" "lock info" "kmem stat --alloc --caller" "script"; do
		[[ ${way%% *} != "${kind%_*}" && $way != script ]] && continue
		# shellcheck disable=SC2086
		costs "$kind" "" $way -i "$kind"
	done
done
# The same events as a timeline, a critical path, waits.
for kind in sched_wild sched_tasks sched_one_waits; do
	for way in "timeline -o page.html" "timeline --json" "flame --off-cpu -o page.html" "flame --wall --term"; do
		# shellcheck disable=SC2086
		costs "$kind" "" $way -i "$kind"
		unlike "$(cat messages)" 'runtime error' "$kind: $way: arithmetic that holds"
	done
	[ "$kind" = sched_one_waits ] || rm -f "$kind"
done
quick sched_one_waits sched critical -p 7
# Names that formats give to numbers are read once, tables made and tasks found without looking at all others.
quick kwork_braces kwork report
quick kvm_braces kvm stat report
for way in "flame -o page.html" "flame --svg -o page.svg" "export --to folded -o out.folded" "export --to speedscope -o out.ss"; do
	# shellcheck disable=SC2086
	quick tasks_of_one_stack $way
done
costs events_many "" sql events_many "select count(*) from samples"
is "$(tail -n 1 out | tr -d ' ')" 1 "events_many: a statement has its answer"
like "$(cat messages)" "30000 kinds of events: the last ones have no tables of their own, only rows in 'events'" "events_many: says what is missing"
# What nobody can be charged for is said.
make sched_waits
"$SONDE" sched why -i sched_waits >out 2>messages
like "$(cat messages)" 'too many threads waited at once: [0-9.]+ ms of waiting for a CPU are not attributed' "sched_waits: says what is not known"
make sched_columns
"$SONDE" sched map -i sched_columns >out 2>messages
like "$(cat messages)" 'more than 1024 CPUs: lines have the CPU, not a column for each' "sched_columns: a machine too wide for columns"
like "$(tail -n 1 out)" '^  \[62456\] .* secs .. => a:16007$' "sched_columns: but with the CPU"
# Pipes that begin like a recording and never end.
endless() { printf 'PERFILE2\020\0\0\0\0\0\0\0'; exec "$@"; }
for command in "report --stdio" "script" "flame --term" "evlist" "buildid-list"; do
	# shellcheck disable=SC2086
	python3 "$SONDE_SRC/tests/gen/measure.py" cost "$SONDE" $command -i - < <(endless cat /dev/zero 2>/dev/null) >out 2>messages
	read -r status cpu mb <cost
	isnt "$status" late "an endless pipe of zeros: $command ends"
	[ -n "$sanitized" ] || [ "$mb" -le 84 ]
	ok $? "an endless pipe of zeros: $command: memory" || diag "$mb MB, $cpu s"
	# shellcheck disable=SC2086
	python3 "$SONDE_SRC/tests/gen/measure.py" cost "$SONDE" $command -i - < <(endless cat /dev/urandom 2>/dev/null) >out 2>messages
	read -r status cpu mb <cost
	isnt "$status" late "an endless pipe of anything: $command ends"
	[ -n "$sanitized" ] || [ "$mb" -le 84 ]
	ok $? "an endless pipe of anything: $command: memory" || diag "$mb MB, $cpu s"
done
# Files that claim terabytes are sparse; where that cannot be, they cannot be made either.
for kind in sparse_note sparse_symbols sparse_link notes_overlap dwarf_shared; do
	if ! python3 "$SONDE_SRC/tests/gen/hostile.py" "$kind" "$kind" 2>messages; then
		skip "no sparse file of 4 TB here: $(tail -n 1 messages)" "$kind"
		continue
	fi
	costs "$kind" "" report --stdio -s sym,srcline -i "$kind"
	costs "$kind" "" script -i "$kind"
	like "$(cat out)" "$kind.elf" "$kind: and its samples are shown"
	case $kind in
	notes_overlap) stage='reading its notes' ;;
	dwarf_shared) stage='reading its debug information' ;;
	*) stage= ;;
	esac
	if [ "$stage" ]; then
		"$SONDE" report --stdio -s sym,srcline -i "$kind" >out 2>messages
		is "$(grep -c "$kind.elf: $stage would take too much time or memory for a file of its size" messages)" 1 "$kind: says what ended it, once"
	fi
	rm -f "$kind".elf*
done
dump=$(dirname "$SONDE")/tests/cfi_dump
if [ -x "$dump" ] && [ -z "$sanitized" ]; then
	make cfi_rules
	python3 "$SONDE_SRC/tests/gen/measure.py" cost "$dump" cfi_rules.elf >out 2>messages
	read -r status cpu mb <cost
	is "$status $(cat messages)" "1 cfi_rules.elf: no table (-7)" "cfi_rules: an unwind table of too many rules is none (-E2BIG)"
	[ "$mb" -le $((64 + 20 * 12)) ]
	ok $? "cfi_rules: memory" || diag "$mb MB, $cpu s"
	make cfi_cie
	python3 "$SONDE_SRC/tests/gen/measure.py" cost "$dump" cfi_cie.elf >out 2>messages
	read -r status cpu mb <cost
	is "$status $(cat messages)" "1 cfi_cie.elf: no table (-7)" "cfi_cie: programs that are read again for every function end it (-E2BIG)"
	awk -v cpu="$cpu" 'BEGIN { exit cpu > 2 * (5 + 3 / 2) }'
	ok $? "cfi_cie: time" || diag "$cpu s, $mb MB"
else
	skip "tests/cfi_dump is not built, or with a sanitizer" "cfi_rules, cfi_cie"
fi
SONDE_CACHE=$SONDE_TMP/none costs cfi_cie "" script -i cfi_cie
is "$(grep -c 'cfi_cie.elf: its unwind tables would take too much time or memory for a file of its size' messages)" 1 "cfi_cie: the file is named, once"
# Tables are seeded anew in every process: nothing may come out in their order.
for kind in frames_collide ids_collide wild_times; do
	for command in "report --stdio --sort sym,comm" "script" "flame -o -"; do
		for _ in 1 2 3; do
			# shellcheck disable=SC2086
			"$SONDE" $command -i "$kind" 2>&1 | md5sum
		done >sums
		is "$(sort -u sums | wc -l)" 1 "$kind: $command: the same in every run"
	done
done

done_testing
