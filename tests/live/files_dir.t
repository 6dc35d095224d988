#!/usr/bin/env bash
# Recordings in the form of a directory (perf record --threads): read by every verb like perf 6.1 reads them.
# where: host
# needs: root
# timeout: 300
. "${SONDE_SRC:-.}/tests/lib.sh"

need perf
cd "$SONDE_TMP" || exit 1
export PERF_BUILDID_DIR=$SONDE_TMP/debug

# perf 6.1 aborts now and then on what another recorder's kernel leaves in its records, and knows stubs of libc badly: made again.
make() { # NAME OPTION...
	local name=$1
	shift
	for _ in 1 2 3 4 5 6; do
		command perf record -q --threads -F 999 -g -e cpu-clock -o "$name" "$@" -- sh -c "\"$SONDE\" workload leaf 0.3 & \"$SONDE\" workload leaf 0.3; wait" >/dev/null 2>&1
		command perf script -i "$name" >/dev/null 2>&1 && ! hits_stubs "$name" && return
	done
}
make plain.dir
make packed.dir -z
[ -d plain.dir ] && [ -e plain.dir/data.0 ] || skip_all "this perf makes no directories"

for name in plain.dir packed.dir; do
	perf script --no-inline -i $name >theirs 2>/dev/null
	"$SONDE" script --no-inline --no-func-names -i $name >mine 2>mine.err
	is $? 0 "script -i $name"
	cmp -s theirs mine
	ok $? "the same bytes as perf's ($(wc -l <theirs) lines)" || diag "$(diff theirs mine | head -5)"
	is "$(cat mine.err)" "" "and no complaint"
	is "$("$SONDE" report --header-only -i $name 2>&1)" "$(perf report --header-only -i $name 2>/dev/null)" "report --header-only"
	is "$("$SONDE" report --stats -i $name 2>&1)" "$(perf report --stats -i $name 2>/dev/null)" "report --stats"
	is "$("$SONDE" evlist -v -i $name 2>&1)" "$(perf evlist -v -i $name 2>/dev/null)" "evlist -v"
	# Without a table perf's order is that of its rings (see files_buildid.t).
	is "$("$SONDE" buildid-list -i $name 2>&1 | sort)" "$(perf buildid-list -i $name 2>/dev/null | sort)" "buildid-list"
	like "$("$SONDE" report --stdio --no-children -g none -i $name 2>&1)" 'sonde .*workload_leaf' "report finds the function"
done

# ---- damage
cp -r plain.dir cut.dir
all=$("$SONDE" script -i cut.dir -F ip,sym 2>/dev/null | grep -c .)
half=$(ls -S cut.dir/data.* | head -1) # samples may all be of one CPU
truncate -s $(($(stat -c %s "$half") / 2 + 3)) "$half"
exits 0 "one of its files is cut off" "$SONDE" script -i cut.dir -F ip,sym
like "$err" 'truncated or damaged' "is said"
left=$(grep -c . <<<"$out")
[ "$left" -gt 0 ] && [ "$left" -lt "$all" ]
ok $? "and the rest is read ($left of $all lines)"
cp -r packed.dir cutz.dir
half=$(ls -S cutz.dir/data.* | head -1)
truncate -s $(($(stat -c %s "$half") / 2 + 3)) "$half"
exits 0 "of a compressed one too" "$SONDE" script -i cutz.dir -F ip,sym
like "$err" 'truncated or damaged' "is said"
: >"$(ls -S cut.dir/data.* | tail -1)"
exits 0 "one of its files is empty" "$SONDE" script -i cut.dir -F ip,sym
: >cut.dir/data
exits 1 "the first of them is empty" "$SONDE" script -i cut.dir
like "$err" "cut.dir/data' is empty" "is said"
rm cut.dir/data
exits 1 "without its head" "$SONDE" script -i cut.dir
like "$err" "directory without a recording" "is said"
mkdir odd.dir && mkfifo odd.dir/data
exits 1 "a pipe in its place does not hang us" timeout 20 "$SONDE" script -i odd.dir

# ---- the kernel's code and symbols beside the records (--kcore; tests/live/annotate_kernel.t has it whole)
cp -r plain.dir kcore.dir
mkdir kcore.dir/kcore_dir
named() { timeout 20 "$SONDE" report --stdio --no-children -g none --sort sym -i kcore.dir 2>&1; }
sed 's/ \([tT]\) \([a-z]\)/ \1 copy_of_\2/' /proc/kallsyms >kcore.dir/kcore_dir/kallsyms
like "$(named)" '\[k\] copy_of_' "names come from the list in the directory"
exits 0 "flame of a directory" "$SONDE" flame -o dir.svg kcore.dir
like "$(cat dir.svg)" 'copy_of_' "draws it, with these names"
truncate -s 4T kcore.dir/kcore_dir/kallsyms
like "$(named)" '\[k\] [a-z]' "not from one of four terabytes"
rm kcore.dir/kcore_dir/kallsyms
mkfifo kcore.dir/kcore_dir/kallsyms kcore.dir/kcore_dir/kcore
like "$(named)" '\[k\] [a-z]' "a pipe in its place does not hang us"
if [ ! -e /proc/kcore ]; then
	cp -r plain.dir kept.data
	exits 1 "record --kcore without /proc/kcore" "$SONDE" record --kcore -o kept.data -- true
	like "$err" 'no /proc/kcore' "names the reason"
	is "$(ls -d kept.data*) $(ls kept.data | sort | head -1)" "kept.data data" "and what was there stays"
fi
cp -r plain.dir old.data && cp -r kcore.dir old.data.old && : >old.data.old/kcore_dir/modules
"$SONDE" record -q -o old.data -- true
[ -f old.data ] && [ -e old.data.old/data.0 ] && [ ! -e old.data.old/kcore_dir ]
ok $? "an older directory goes with all that belongs to it"

# ---- recording over one
cp -r plain.dir over.data
cp -r plain.dir over.data.old
exits 0 "recording where a directory was" "$SONDE" record -q -o over.data -- true
[ -f over.data ] && [ -d over.data.old ]
ok $? "keeps the directory as .old"
cmp -s over.data.old/data.0 plain.dir/data.0
ok $? "as it was"
exits 0 "and once more" "$SONDE" record -q -o over.data -- true
[ -f over.data ] && [ -f over.data.old ]
ok $? "a file takes the place of the directory"
mkdir -p mine.data.old && touch mine.data.old/letter
cp -r plain.dir mine.data
"$SONDE" record -q -o mine.data -- true 2>mine.err
[ -e mine.data.old/letter ] && [ -e mine.data/data.0 ]
ok $? "a folder that is no recording is never removed"
done_testing
