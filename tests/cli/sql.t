#!/usr/bin/env bash
# `sonde sql`: what its tables hold is what other commands say of the same recordings; conditions that limit what is read change nothing
# else; statements only select.
. "${SONDE_SRC:-.}/tests/lib.sh"
need sonde python3
cd "$SONDE_TMP" || exit 1
data=$SONDE_SRC/tests/data/trace
gen=$(dirname "$SONDE")/tests/stacks_gen
sql() { "$SONDE" sql "$@"; }
"$SONDE" sql --list >list.txt 2>err.txt || true
grep -q top_functions list.txt
ok $? "--list"
if ! sql "$data/6.1-events_v6.dat" 'select 1' >out.txt 2>err.txt && grep -q "without sqlite\|is not installed" err.txt; then
	skip "$(cat err.txt)" "everything else"
	done_testing
	exit
fi

# ---- a known profile ----

cat >one.txt <<'END'
0 app 7 7 1000 main;parse;lex
1 app 7 8 3000 main;na"me,x
0.5 app 7 7 1500 main;parse;lex
1 app 7 7 1000 main;parse
2.5 other 9 9 1000 @;main;parse;lex
3 other 9 9 1000 -
END
"$gen" one.data names <one.txt
exits 0 "samples" sql --csv --kallsyms names one.data "select time_ns - (select min(time_ns) from samples) as t, tid, comm, period, symbol, stack from samples order by time_ns, tid"
is "$out" 't,tid,comm,period,symbol,stack
0,7,app,1000,lex,main;parse;lex
500000,7,app,1500,lex,main;parse;lex
1000000,7,app,1000,parse,main;parse
1000000,8,app,3000,"na""me,x","main;na""me,x"
2500000,9,other,1000,lex,[unknown];main;parse;lex
3000000,9,other,1000,,' "in the order of time, with names and stacks"
exits 0 "a ready question" sql --csv --kallsyms names one.data top_functions
is "$(cut -d, -f2-5 <<<"$out")" 'percent,samples,period,symbol
41.18,3,3500,lex
35.29,1,3000,"na""me
11.76,1,1000,
11.76,1,1000,parse' "functions by period"
exits 0 "frames of a stack" sql --csv --kallsyms names one.data "select s.depth, s.symbol from (select stack_id from samples where tid = 9 and stack_id is not null) as x join stacks as s using (stack_id) order by depth"
is "$out" 'depth,symbol
0,lex
1,parse
2,main
3,' "innermost first"
is "$(sql --csv --kallsyms names one.data "select count(distinct stack_id), max(stack_id) from samples" "select max(stack_id), count(*) from stacks")" \
	'count(distinct stack_id),max(stack_id)
4,4

max(stack_id),count(*)
4,11' "several statements; equal stacks have one number"
is "$(sql --csv one.data "select tid, pid, comm, samples, (last_ns - first_ns) from tasks")" 'tid,pid,comm,samples,(last_ns - first_ns)
7,7,app,3,1000000
8,7,app,1,0
9,9,other,2,500000' "tasks"
is "$(sql --csv one.data "select count(*) from samples where tid = 7 and pid = 7" "select count(*) from samples where tid = 7 and pid = 9" "select count(*) from samples where tid = '7'" "select count(*) from samples where tid = 7.0" | paste -sd' ')" \
	"count(*) 3  count(*) 0  count(*) 0  count(*) 3" "conditions on threads compare as sqlite does"
printf '%s\n' "select count(*) as n from samples; -- a comment" ";;" "select 'x' as y" >q.sql
exits 0 "a file of statements" sql -f q.sql --csv one.data
is "$out" $'n\n6\n\ny\nx' "runs all of them"
is "$(sql -f - -i one.data <q.sql)" $'n\n6\n\ny\nx' "also from standard input, as text"

# ---- a trace: the same as other commands say ----

for f in 6.1-events_v6 6.1-events_v7_none 6.12-events_v7_zstd; do
	"$SONDE" script -F time,event -i "$data/$f.dat" 2>/dev/null | awk '{ print $NF }' | sort | uniq -c | awk '{ print $2 $1 }' >want
	sql --csv "$data/$f.dat" "select event || ':' || count(*) from samples group by event" 2>/dev/null | tail -n +2 | sort >got
	[ -s want ] && cmp -s <(sort want) got
	ok $? "$f: as many events of each kind as script prints" || diag "$(diff <(sort want) got | head -3)"
done
"$SONDE" sched why --json --threads 0 -i "$data/6.1-events_v6.dat" >why.json 2>/dev/null
sql --json "$data/6.1-events_v6.dat" "select tid, state, sum(dur_ns) as ns from intervals where tid group by tid, state" >states.json 2>/dev/null
is "$(python3 - <<'END'
import json
want = {(t["tid"], s): t[s + "_ns"] for t in json.load(open("why.json")) for s in ("running", "ready", "blocked", "unknown") if t[s + "_ns"]}
got = {(r["tid"], r["state"]): r["ns"] for r in json.load(open("states.json"))["results"][0]["rows"] if r["ns"]}
print(len(want) > 10, want == got)
END
)" "True True" "intervals add up to what sched why says, thread by thread"
# The kernel's own text of an event, parsed by somebody else.
sql --json "$data/6.1-events_v6.dat" "select prev_comm, prev_pid, next_comm, next_pid, next_prio, args from sched_switch" 'select count(*) as n from "sched:sched_switch"' >switch.json
is "$(python3 - <<'END'
import json, re
first, second = json.load(open("switch.json"))["results"]
ok = 0
for r in first["rows"]:
    m = re.fullmatch(r"prev_comm=(.*) prev_pid=(\d+) prev_prio=\d+ prev_state=\S+ ==> next_comm=(.*) next_pid=(\d+) next_prio=(\d+)", r["args"])
    ok += bool(m) and [r["prev_comm"], str(r["prev_pid"]), r["next_comm"], str(r["next_pid"]), str(r["next_prio"])] == list(m.groups())
print(ok == second["rows"][0]["n"] > 100)
END
)" True "fields are what the kernel prints"
is "$(sql --csv "$data/6.1-events_v6.dat" "select count(*) > 10, sum(arg_pid != tid) > 0, sum(arg_comm is null) from sched_waking")" $'count(*) > 10,sum(arg_pid != tid) > 0,sum(arg_comm is null)\n1,1,0' "a field with the name of a column is arg_NAME"

# ---- what is skipped is what was not asked for ----

cat >ranges.py <<'END'
import random, subprocess, sys
sonde, path = sys.argv[1:]
def ask(*statements):
    out = subprocess.run([sonde, "sql", "--csv", path, *statements], capture_output=True, text=True).stdout
    return [block.split("\n")[1:] for block in out.rstrip("\n").split("\n\n")]
rows = [l.split(",") for l in ask("select time_ns, event, cpu, tid from samples")[0]]
t = sorted(int(r[0]) for r in rows)
random.seed(7)
questions, want = [], []
for _ in range(40):
    a, b = sorted(random.sample(t, 2))
    a += random.choice((0, 0, 1, -1))
    event = random.choice(rows)[1]
    cpu = random.choice(rows)[2]
    questions += [f"select count(*) from samples where time_ns >= {a} and time_ns < {b}",
                  f"select count(*) from samples where time_ns between {a} and {b} and event = '{event}'",
                  f"select count(*) from samples where time_ns > {a} and cpu = {cpu}",
                  f"select count(*) from samples where time_ns = {b}",
                  f"select count(*) from samples where time_ns > {a}.5 and event = '{event.upper()}' collate nocase"]
    at = [(int(r[0]), r[1], r[2]) for r in rows]
    want += [sum(a <= x < b for x, _, _ in at), sum(a <= x <= b and e == event for x, e, _ in at),
             sum(x > a and c == cpu for x, _, c in at), sum(x == b for x, _, _ in at),
             sum(x > a and e == event for x, e, _ in at)]
got = [int(r[0]) for r in ask(*questions)]
print(len(t) > 100, got == want, sum(x > 0 for x in want) > 100)
END
for f in 6.1-events_v6 6.1-events_v7_none 6.12-events_v7_zstd; do
	is "$(python3 ranges.py "$SONDE" "$data/$f.dat")" "True True True" "$f: ranges of time, events and CPUs"
done

# ---- only reading ----

for statement in "attach 'x.db' as x" "create table x(a)" "create temp table x(a)" "insert into samples values (1)" "delete from tasks" \
	"drop table samples" "pragma temp_store_directory = '/tmp'" "vacuum into 'x.db'" "create virtual table x using fts5(a)" "begin" "pragma database_list"; do
	exits 1 "refused: $statement" sql one.data "$statement"
	like "$err" "may only select|may not be modified|not authorized" "with the reason"
done
exits 1 "refused: load_extension()" sql one.data "select load_extension('/tmp/x.so')"
like "$err" "not authorized to use function: load_extension" "with the reason"
is "$(find . -name 'x.db*')" "" "no file was made"
exits 1 "refused: a pragma as a table" sql one.data "select * from pragma_database_list"
exits 1 "memory is limited" sql --memory 4M one.data "with recursive c(x) as (select 1 union all select x + 1 from c where x < 1000000) select count(*) from (select x, hex(randomblob(50)) as r from c order by r)"
like "$err" "needs more than 4 MB.*" "and said so"
like "$err" "hint: .*--memory" "with a hint"
exits 1 "time is limited" sql --timeout 1 one.data "with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c"
like "$err" "stopped after 1 seconds" "and said so"
# A shell lets its background jobs ignore SIGINT.
cat >int.py <<'END'
import signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.SIG_DFL)
p = subprocess.Popen(sys.argv[1:], stdout=open("int.out", "w"))
caught = lambda: int(open(f"/proc/{p.pid}/status").read().split("SigCgt:")[1].split()[0], 16) & 2
while p.poll() is None and not caught():
    time.sleep(0.05)
p.send_signal(signal.SIGINT)
try:
    print(p.wait(60))
except subprocess.TimeoutExpired:
    p.kill()
    print("still there")
END
is "$(python3 int.py "$SONDE" sql --timeout 100 one.data "select 1 as first" "with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c" 2>/dev/null)" -2 "Ctrl-C ends a statement"
like "$(cat int.out)" '^first$' "and keeps what was there before"

# ---- mistakes ----

exits 129 "no statement" sql one.data
like "$err" "expected a statement" "is said"
exits 129 "nothing at all" sql
exits 129 "a stream" sql - 'select 1'
exits 1 "no such file" sql nothing.data 'select 1'
like "$err" "nothing\.data" "is named"
exits 1 "a wrong statement" sql one.data "selec 1"
like "$err" 'near "selec": syntax error' "is said"
exits 1 "an unknown column" sql one.data "select tidd from samples"
like "$err" "no such column: tidd" "is said"
like "$err" "hint: .*--schema" "with a hint"
exits 1 "one.txt is no recording" sql one.txt 'select 1'
exits 0 "a join that reads everything again and again" sql "$data/6.1-events_v6.dat" "select count(*) > 0 from sched_switch as a join sched_waking as b on a.next_pid = b.arg_pid where b.time_ns < a.time_ns"
like "$err" "reads the recording again for every row" "warns"
like "$err" "as materialized" "and says what to do"

# ---- descriptions and formats ----

exits 0 "--schema" "$SONDE" sql --schema
for word in samples events intervals syscalls tasks stacks recording; do like "$out" "^$word: " "has $word"; done
exits 0 "--schema FILE" sql --schema "$data/6.1-events_v6.dat"
like "$out" '^sched:sched_switch: ' "has the file's events"
like "$out" '^    next_pid +pid_t$' "with their fields"
while read -r name _; do
	exits 0 "$name" sql --json "$data/6.1-events_v6.dat" "$name"
	python3 -m json.tool <<<"$out" >/dev/null
	ok $? "is JSON"
done <list.txt
is "$(sql --json one.data "select 1 as a, 2 as a, null as n, 1.5 as r, x'00ff' as b, char(27) as t")" \
	'{"results":[{"columns":["a","a:1","n","r","b","t"],"rows":[{"a":1,"a:1":2,"n":null,"r":1.5,"b":"x'"'00ff'"'","t":"\u001b"}]}]}' "types in JSON"
is "$(sql one.data "select 1 as number, 'text' as name, null as empty union all select 22, 'longer text', 3.25")" 'number  name         empty
     1  text              
    22  longer text   3.25' "a table"
is "$(sql one.data "with recursive c(x) as (select 1 union all select x + 1 from c where x < 5000) select x, x * 1000 from c" | tail -1)" "5000   5000000" "more rows than are held for widths"
sql "$data/6.1-events_v6.dat" "select * from samples" 2>/dev/null | head -1 >head.out
is "${PIPESTATUS[0]}" 141 "a reader that goes away"
like "$(cat head.out)" "time_ns" "got its line"
done_testing
