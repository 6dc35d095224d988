#!/usr/bin/env bash
# `sonde diff` prints the same bytes as perf 6.1 on recordings of a program whose symbols are known.
# where: host
# needs: root
# timeout: 300
. "${SONDE_SRC:-.}/tests/lib.sh"

need perf
cd "$SONDE_TMP" || exit 1
export PERF_BUILDID_DIR=$SONDE_TMP/debug
gcc -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls -pthread "$SONDE_SRC/bench/deep.c" -o deep

record() {
	local file=$1 i
	shift
	for i in 1 2 3 4 5 6; do
		perf record -q -F 2000 -e cpu-clock,page-faults -o "$file" "$@" >/dev/null 2>&1
		perf report -i "$file" >/dev/null 2>&1 && return
	done
}
record one.data ./deep 0.4 2 5 0
record two.data ./deep 0.4 2 9 0
record three.data "$SONDE" workload forks 100

# Rows without a symbol: perf 6.1 throws all of a library into one row and shows one of their addresses; here each has its own. The
# stubs of the procedure linkage table are named wrongly by perf (see script.t).
faults() { grep -v '\] 0x0\|@plt\|\] _init$\|\] \.plt'; }
# In shares of what a filter leaves, perf 6.1 divides by 0 and prints "-nan%" where it leaves nothing of the baseline: page faults of a program may be none.
first_event() { case " $* " in *" relative "*) sed "/^# Event 'page-faults'/,\$d" ;; *) cat ;; esac; }
# A row that is left out may have been the widest one: then the last column's width is left out as well.
compared() {
	faults <"$1" | if [ "$(faults <theirs.all | wc -l) $(faults <mine.all | wc -l)" = "$(wc -l <theirs.all) $(wc -l <mine.all)" ]; then
		cat
	else
		sed -E '/^# (Baseline|\.)/s/( +|\.+)$//'
	fi
}
same() {
	perf diff "$@" 2>/dev/null >theirs.all
	"$SONDE" diff "$@" 2>/dev/null >mine.all
	compared theirs.all | first_event "$@" >theirs
	compared mine.all | first_event "$@" >mine
	[ -s theirs ] && cmp -s theirs mine
	ok $? "same bytes: diff $* ($(wc -l <theirs) lines)" || diag "$(diff theirs mine | head -6)"
}
for option in "" "-c delta" "-c ratio" "-c wdiff:1,2" "-c wdiff:3,1" -p "-s dso" "-s comm,dso,sym" "-s comm" -b "-o 0" -q; do
	same $option one.data two.data
done
for option in "" "-c delta" "-c ratio" -p "-s dso" "-o 2" "-o 0"; do
	same $option one.data two.data three.data
done

# Filters, and keys as report has them. A column that would say the same in every row is left out.
for option in "-S leaf_work" "-d deep" "-C deep" "-C deep -s comm,dso" "-d deep -S leaf_work" "--percentage relative -d deep -s sym" "--percentage absolute -d deep -s sym" \
	"--time 0%-50%" "--time 10%/1:10%/2" "-s pid -b" "-s dso,symbol_size -d deep"; do
	# shellcheck disable=SC2086
	same $option one.data two.data
done
# The same event under two names: perf's default is cpu-clock:ppp, ours cpu-clock.
perf record -q -e cpu-clock:ppp -F 2000 -o named.data ./deep 0.2 2 5 0 >/dev/null 2>&1
exits 0 "events of two names that are one" "$SONDE" diff named.data two.data
like "$out" 'leaf_work' "are compared"
exits 1 "--cpu where samples do not say" "$SONDE" diff --cpu 0 one.data two.data
like "$err" "the samples do not record on which CPU" "is said"
exits 129 "a key of branches" "$SONDE" diff -s symbol_from one.data two.data
for option in -D --cycles-hist --stream; do
	# shellcheck disable=SC2086
	exits 129 "$option" "$SONDE" diff $option one.data two.data
	like "$err" "is not supported" "is refused, and what to use instead"
done

cp one.data perf.data.old
cp two.data perf.data
same
out=$("$SONDE" diff --json one.data two.data | python3 -c '
import json, sys
rows = json.load(sys.stdin)[0]["rows"]
row = [r for r in rows if r["symbol"] == "leaf_work"][0]
print(row["dso"], row["periods"][0] > 0, abs(row["values"][0]) < 100)')
is "$out" "deep True True" "--json has the periods and the difference"
exits 129 "a way to compare that there is not" "$SONDE" diff -c foo one.data two.data
exits 129 "weights that are missing" "$SONDE" diff -c wdiff one.data two.data
done_testing
