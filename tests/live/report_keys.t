#!/usr/bin/env bash
# where: host
# needs: root
# timeout: 300
# Keys, columns, filters, times, levels and groups of `report`: the same text as perf 6.1's. What is masked is written down in
# report_compare.py.
. "${SONDE_SRC:-.}/tests/lib.sh"
need root perf_events perf gcc python3 sonde

cd "$SONDE_TMP" || exit 1
. "$SONDE_SRC/tests/live/report_lib.sh"
build_mix
ok $? "the programs are built"

one() {
	local way=() file=$2
	[ "$1" = rows ] || way=(--exact)
	shift 2
	same "$file" "$file" "${way[@]}" -- "$@"
}

# each HOW FILE REPORT-OPTION... <LINES of further options; HOW: exact (line by line) or rows (equals may stand in another order)
each() {
	local how=$1 file=$2 line
	shift 2
	while read -r line; do
		# shellcheck disable=SC2086
		one "$how" "$file" "$@" $line
	done
}

record mix.data -F 2000 -e cpu-clock -g -W -- ./mix 1 ./lib1.so ./lib2.so
each exact mix.data --no-children -g none <<'END'
-s pid
-s comm,cpu
-s socket,comm
-s time
-s parent
-s local_weight,comm
-s weight
-s cgroup,dso
-s dso_size,dso
-s trace
-s sample
-s period,comm
-s overhead_sys,overhead_us,comm
-s overhead_guest_sys,overhead_guest_us,comm
-s comm,overhead
-s sy,co
-s +cpu
-F comm,overhead
-F overhead,symbol_size,sym
-F overhead,comm,sym -s comm
-F +period,sample
-n --show-total-period
--showcpuutilization
--comms mix
--comms mix,left
--comms left -s comm,dso --percentage relative
--dsos lib1.so
--dsos lib1.so,lib2.so --percentage relative
-S in_lib1
-S in_lib1,spin
--symbol-filter=in_
--percent-limit 10
--time 0%-10%
--time 10%/2
--time 10%/2,10%/4
--time 10%-20%,40%-50%
--time-quantum 10ms -s time
-w 10,4,20,8
-p in_lib -s parent
-p in_lib -s comm,parent
-x -p in_lib
-U
--hierarchy
--hierarchy -n -s comm,dso
--hierarchy -s {comm,dso},sym
--hierarchy --percent-limit 11
--hierarchy --percent-limit 20
--hierarchy -s pid,cpu,sym --show-total-period
END
each rows mix.data <<'END'
--no-children -g flat
--no-children -g folded
--no-children -g folded,period,caller
--no-children -g graph,period
--no-children -g graph,0.5,1
--no-children -g fractal,1,caller,period
-g flat
-g folded
-g folded,count
-g count
--no-children -g caller,count
-g graph,period,callee
--no-children --max-stack 2
--max-stack 3
--no-children --comms mix
--comms mix,left
--percent-limit 5
--no-children -s comm,cpu
-s cpu,dso
--time 10%/2
-p in_lib
--no-children -G
-n --show-total-period --showcpuutilization
-U
--symbol-filter in_lib
-w 0,0,5
END

pids=$(perf script -i mix.data -F pid 2>/dev/null | sort -u | head -2 | tr -d ' ' | paste -sd,)
tid=$(perf script -i mix.data -F tid 2>/dev/null | sort | uniq -c | sort -rn | awk 'NR == 2 { print $2 }')
times=$(perf script -i mix.data -F time 2>/dev/null | tr -d ' :' | sed -n '30p;90p' | paste -sd,)
one exact mix.data --no-children -g none --pid "$pids" -s pid,sym
one exact mix.data --no-children -g none --tid "$tid" -s pid,sym
one exact mix.data --no-children -g none --time "$times"
one exact mix.data --no-children -g none --time "${times%,*},"

compared
# Separated: blanks apart, the same cells.
perf report --stdio -i mix.data --no-children -g none -t, 2>/dev/null | sed -n 's/ *, */,/gp' | sed 's/^ *//; s/ *$//' | grep -v '^#' >theirs
"$SONDE" report --stdio -i mix.data --no-children -g none -t, 2>/dev/null | grep -v '^#' | grep . >ours
cmp -s theirs ours
ok $? "-t ,: the same cells" || diag "$(diff theirs ours | head -5)"
"$SONDE" report -i mix.data --no-children -g none --csv -s comm,dso,sym 2>/dev/null >csv
"$SONDE" report -i mix.data --no-children -g none --json -s comm,dso,sym 2>/dev/null >json
python3 - <<'END'
import csv, json, sys
rows = json.load(open("json"))["events"][0]["rows"]
marks = {"kernel": "[k] ", "user": "[.] "}
table = list(csv.DictReader(open("csv")))
sys.exit(len(rows) != len(table) or any(
    (r["comm"], r["dso"], marks[r["mode"]] + r["symbol"], "%.2f" % r["overhead"]) != (t["comm"], t["dso"], t["symbol"], t["overhead"])
    for r, t in zip(rows, table)))
END
ok $? "--csv and --json say the same"

# The comparison itself: an error of 0.01 point does not pass.
perf report --stdio --no-children -g none -i mix.data -F comm,overhead >theirs 2>/dev/null
"$SONDE" report --stdio --no-children -g none -i mix.data -F comm,overhead >ours 2>/dev/null
for n in 1 2; do
	python3 "$compare" --exact --plant $n theirs ours >/dev/null
	isnt $? 0 "an error of 0.01 in row $n is noticed"
done
perf report --stdio --no-children -g folded -i mix.data >theirs 2>/dev/null
"$SONDE" report --stdio --no-children -g folded -i mix.data >ours 2>/dev/null
sed '0,/;/s/;/;x/' ours >changed
python3 "$compare" theirs changed >/dev/null
isnt $? 0 "another name in a folded chain is noticed"

# Events side by side; members that were only read have their own samples.
record split.data -F 2000 -g -e '{cpu-clock,page-faults,context-switches}:S' -- ./mix 1 ./lib1.so ./lib2.so
record group.data -F 2000 -g -e '{cpu-clock,page-faults}' -e task-clock -- ./mix 1 ./lib1.so ./lib2.so
for file in split.data group.data; do
	each exact $file --no-children -g none <<-'END'
	-s comm,dso,sym
	-n --show-total-period
	--hierarchy
	-F overhead,comm
	--no-group
	END
	one rows $file -s comm,dso,sym --no-children
	one rows $file -s comm,dso
done

record cgroup.data -F 999 -e cpu-clock --all-cgroups -- ./mix 1 ./lib1.so ./lib2.so
one exact cgroup.data -s cgroup
one exact cgroup.data -s comm,cgroup,dso

if ! needs_or_skip "tracepoints" tracefs; then
	record tp.data -e sched:sched_switch,sched:sched_process_fork -g -- ./mix 1 ./lib1.so ./lib2.so
	# The text of an event is compared first: perf 6.1 measures only what it compared, and cuts a longer one of a task that has no other.
	each exact tp.data --no-children -g none <<-'END'
	-s trace
	-s trace,comm,cpu
	-s comm,next_pid,next_comm
	-s sched_switch.prev_state,comm
	-s prev_state/raw,comm
	-s sched:sched_process_fork.child_pid
	-s trace_fields
	-s %1.*
	--hierarchy -s comm,next_pid,next_comm
	END
	one rows tp.data --no-children -s comm,next_comm
	is "$("$SONDE" report --stdio -i tp.data --no-children -g none -s comm,trace,cpu 2>/dev/null | awk '/==>/ { print NF, $NF }' | sort -u)" \
		"$("$SONDE" report --stdio -i tp.data --no-children -g none -s trace,comm,cpu 2>/dev/null | awk '/==>/ { print NF, $NF }' | sort -u)" "no text of an event is cut, in whatever order"
fi
compared
done_testing
