"""Runs commands with --json and holds what they print to the schemas under doc/json: usage: json_schemas.py SONDE SOURCE. Prints TAP lines."""
import copy
import json
import os
import pathlib
import shlex
import subprocess
import sys

import jsonschema

SONDE, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
SCHEMAS = SOURCE / "doc" / "json"
DATA = SOURCE / "tests" / "data" / "trace"

ALL_COLUMNS = ",".join(line.split()[1] for line in subprocess.run([SONDE, "who", "-O"], stdout=subprocess.PIPE, check=True).stdout.decode().splitlines())

# Schema, what is read (a value, or a value a line; from standard error where a command leaves standard output to the one it runs), arguments.
CASES = [
    ("record", "value", "record -o one.data -F 999 -g -- SONDE workload leaf 0.1"),
    ("record", "value", "record -o two.data -F 999 -g -- SONDE workload leaf 0.1"),
    ("record", "value", "record -o group.data -d -F 999 -g -e {cpu-clock,page-faults} -- SONDE workload leaf 0.1"),
    ("record", "value", "record -o threads.data -s -F 999 -- SONDE workload thloop 0.1"),
    ("record", "value", "record -o switches.data -c 1 -e sched:sched_switch -a -- sleep 0.1"),
    ("report", "value", "report -i one.data"),
    ("report", "value", "report -i one.data --no-children -g caller -s comm,dso,sym,pid,tgid,cpu"),
    ("report", "value", "report -i one.data --hierarchy -s comm,dso,sym"),
    ("report", "value", "report -i one.data -g none -n --show-total-period -s srcline,srcfile"),
    ("report", "value", "report -i group.data --group"),
    ("report", "value", "report -i threads.data -T"),
    ("report", "value", "report -i switches.data -s prev_comm,next_pid"),
    ("report", "value", "report -i DATA/6.12-stacks.dat"),
    ("script", "value", "script -i one.data"),
    ("script", "value", "script -i group.data -F +cpu,+addr,+srcline"),
    ("script", "value", "script -i switches.data"),
    ("annotate", "value", "annotate -i one.data -s workload_leaf"),
    ("annotate", "value", "annotate -i group.data --group -s workload_leaf"),
    ("diff", "value", "diff one.data two.data"),
    ("record", "value", "lock record -o lock.data -- SONDE workload convoy 1"),
    ("lock", "value", "lock contention -i lock.data"),
    ("lock", "value", "lock contention -t -i lock.data"),
    ("lock", "value", "lock report -c -i lock.data"),
    ("lock-info", "value", "lock info -i lock.data"),
    ("record", "value", "kmem record -o kmem.data -- true"),
    ("kmem-stat", "value", "kmem stat --caller --alloc -l 9 -i kmem.data"),
    ("record", "value", "kmem record --page -o pages.data -- true"),
    ("kmem-pages", "value", "kmem stat --page --caller --alloc -l 9 -i pages.data"),
    ("record", "value", "kwork record -o kwork.data -- sleep 0.1"),
    ("kwork", "value", "kwork report -i kwork.data"),
    ("kwork", "value", "kwork timehist -i kwork.data"),
    ("record", "value", "kwork --kwork sched,irq record -o kwork-top.data -- sleep 0.1"),
    ("kwork-top", "value", "kwork top -i kwork-top.data"),
    ("kvm-stat", "value", "kvm stat report -i one.data"),
    ("c2c", "value", "c2c report -i c2c.data -c pid,tid,iaddr"),
    ("c2c", "value", "c2c report -i c2c.data -d peer --stats"),
    ("evlist", "value", "evlist -i one.data"),
    ("evlist", "value", "evlist -i switches.data"),
    ("buildid-list", "value", "buildid-list -i one.data"),
    ("archive", "value", "archive one.data"),
    ("data-repair", "value", "data repair one.data"),
    ("stat", "lines of stderr", "stat -e task-clock,page-faults,cycles -- true"),
    ("stat", "lines of stderr", "stat -a -A -I 50 -e cpu-clock -- sleep 0.12"),
    ("stat", "lines of stderr", "stat -r 2 -e {cpu-clock,page-faults} -- true"),
    ("top", "lines", "top --updates 2 -d 0.3 -F 999 -e cpu-clock"),
    ("top", "lines", "top --updates 1 -d 0.3 -F 999 -g -n -s comm,dso,sym -e cpu-clock,page-faults"),
    ("trace", "lines", "trace -- true"),
    ("trace", "lines", "trace -e openat,sched:sched_process_exit,page-faults -- cat /nonexistent"),
    ("trace", "lines", "trace -F all -S --syscalls -- true"),
    ("trace", "lines", "trace -S -e %file --errno-summary -- cat /nonexistent"),
    ("what", "lines", "what 0.1 2"),
    ("what", "lines", "what -f -m --vm --tcp -e context-switches 0.1 2"),
    ("what", "lines", "what -c --top-process 0.3 3"),
    ("what", "lines", "what --preset pidstat 0.3 2"),
    ("what", "lines", "what --raw /proc/stat 0.1 2"),
    ("what", "lines", "what --raw /proc/self/status"),
    ("what", "lines", "what --record what.data -a -m 0.02 12"),
    ("what", "lines", "what ./what.data"),
    ("how", "value", "how what.data"),
    ("list", "value", "list sched:*"),
    ("list", "value", "list sw"),
    ("list", "value", "list hw"),
    ("doctor", "value", "doctor"),
    ("probe-list", "value", "probe -l"),
    ("probe-add", "value", "probe -x SONDE -D workload_usdt"),
    ("probe-offsets", "value", "probe -x SONDE --offsets workload_usdt"),
    ("probe-funcs", "value", "probe -x SONDE -F workload_*"),
    ("probe-vars", "value", "probe -x SONDE -V workload_usdt"),
    ("probe-line", "value", "probe -s TREE -x SONDE -L workload_usdt"),
    ("probe-audit", "value", "probe --audit"),
    ("bench-probe", "value", "bench probe -t 0.05"),
    ("bench", "value", "bench --repeat 2 syscall basic -l 1000"),
    ("bench", "value", "bench mem memcpy -s 4KB"),
    ("bench-probe-list", "value", "bench probe --list"),
    ("kallsyms", "value", "kallsyms vfs_read"),
    ("inspect", "value", "inspect init_task.tasks"),
    ("inspect", "value", "inspect struct task_struct"),
    ("inspect", "value", "inspect struct list_head.prev"),
    ("inspect", "value", "inspect whatis vfs_read"),
    ("inspect", "value", "inspect list -n 3 -o task_struct.tasks -s task_struct.comm -h init_task"),
    ("inspect", "value", "inspect rd -s vfs_read 2"),
    ("inspect", "value", "inspect sym vfs_read"),
    ("inspect", "value", "inspect dis vfs_read 3"),
    ("inspect", "value", "inspect ps"),
    ("inspect", "value", "inspect bt kthreadd"),
    ("inspect", "value", "inspect files"),
    ("inspect", "value", "inspect vm"),
    ("inspect", "value", "inspect foreach kthreadd task -R pid"),
    ("inspect", "value", "inspect sig 1"),
    ("inspect", "value", "inspect sig -l"),
    ("inspect", "value", "inspect irq"),
    ("inspect", "value", "inspect irq -s"),
    ("inspect", "value", "inspect irq -d"),
    ("inspect", "value", "inspect timer"),
    ("inspect", "value", "inspect timer -r"),
    ("inspect", "value", "inspect ps -S"),
    ("inspect", "value", "inspect ps -p"),
    ("inspect", "value", "inspect ps -c"),
    ("inspect", "value", "inspect net -s"),
    ("inspect", "value", "inspect kmem -i"),
    ("inspect", "value", "inspect kmem -z"),
    ("inspect", "value", "inspect dev"),
    ("inspect", "value", "inspect dev -p"),
    ("inspect", "value", "inspect bpf"),
    ("inspect", "value", "inspect --probed vfs_read"),
    ("inspect-watch", "lines", "inspect -i 1 -n 2 $current->pid"),
    ("flame", "value", "flame -o flame.html one.data"),
    ("flame", "value", "flame --wall -o wall.html switches.data"),
    ("export", "value", "export -i one.data --to pprof -o one.pb"),
    ("who", "lines", "who -b -n 2 -d 0.05"),
    ("who", "lines", "who -b -n 1 -d 0.05 -H -o " + ALL_COLUMNS),
    ("who", "lines", "who -b -n 1 -d 0.05 --by CGROUP -o +READ/s,+SOCKETS"),
    ("who-columns", "value", "who -O"),
    ("stack", "value", f"stack {os.getppid()}"),
    ("help", "value", "help"),
    ("help", "value", "help record"),
    ("help", "value", "help ftrace"),
    ("workload", "value", "workload --list"),
    ("version", "value", "version"),
    ("ftrace-report", "lines", "ftrace report DATA/6.1-events_v6.dat"),
    ("ftrace-report", "lines", "ftrace report DATA/6.1-graph_events.dat"),
    ("ftrace-report", "lines", "ftrace report DATA/6.12-stacks.dat"),
    ("ftrace-report", "lines", "ftrace report DATA/6.1-lost.dat"),
    ("ftrace-report", "lines", "ftrace report DATA/6.1-instance_and_top.dat"),
    ("ftrace-report", "lines", "ftrace report DATA/6.1-marker.dat"),
    ("ftrace-questions", "value", "ftrace report --stat -i DATA/6.1-events_v6.dat"),
    ("ftrace-questions", "value", "ftrace report --first-event --last-event --cpus --uname -i DATA/6.1-events_v6.dat"),
    ("ftrace-questions", "value", "ftrace report -E -i DATA/6.1-events_v6.dat"),
    ("ftrace-graph", "value", "ftrace graph DATA/6.1-graph.dat"),
    ("ftrace-graph", "value", "ftrace graph --tree DATA/6.1-graph.dat"),
    ("ftrace-profile", "value", "ftrace report --profile -i DATA/6.1-events_v6.dat"),
    ("ftrace-profile", "value", "ftrace report --profile -i DATA/6.1-graph_events.dat"),
    ("sched-latency", "value", "sched latency -i DATA/6.1-events_v6.dat"),
    ("sched-latency", "value", "sched latency -p -i DATA/6.1-events_v6.dat"),
    ("sched-timehist", "value", "sched timehist -wMS -i DATA/6.1-events_v6.dat"),
    ("sched-timehist", "value", "sched timehist -S -i DATA/6.1-lost.dat"),
    ("sched-why", "value", "sched why -i DATA/6.1-events_v6.dat"),
    ("sched-critical", "value", "sched critical --to sched_switch -i DATA/6.1-events_v6.dat"),
    ("sched-stats", "value", "sched stats report TREE/fuzz/corpus/schedstat/v17"),
    ("sched-replay", "value", "sched replay -r 1 -i DATA/6.1-events_v6.dat"),
    ("sched-map", "value", "sched map -i DATA/6.1-events_v6.dat"),
    ("sql", "value", "sql DATA/6.1-events_v6.dat waits wakers"),
    ("sql-list", "value", "sql --list"),
    ("sql-schema", "value", "sql --schema"),
    ("sql-schema", "value", "sql --schema DATA/6.1-events_v6.dat"),
    ("timeline", "value", "timeline DATA/6.1-lost.dat"),
    ("timeline", "value", "timeline -- sleep 0.05"),
    ("ftrace-dump", "value", "ftrace dump DATA/6.1-events_v7_none.dat"),
    ("ftrace-dump", "value", "ftrace dump DATA/6.1-events_v6.dat"),
    ("ftrace-mem", "value", "ftrace mem DATA/6.1-systems.dat"),
    ("ftrace-split", "value", "ftrace split -i DATA/6.1-events_v6.dat -o split.dat"),
    ("ftrace-convert", "value", "ftrace convert -i DATA/6.1-events_v6.dat -o converted.dat"),
    ("ftrace-latency", "value", "ftrace hist -i DATA/6.1-events_v6.dat --latency irq:softirq_raise,irq:softirq_entry --by vec"),
    ("ftrace-hist", "value", "ftrace hist -k common_pid.execname,id,cpu,id.log2 -w id raw_syscalls:sys_enter true"),
    ("ftrace-hist", "value", "ftrace hist -k next_comm,next_prio.buckets=20 sched:sched_switch sleep 0.1"),
    ("ftrace-hist", "value", "ftrace sqlhist -e 'SELECT start.comm, start.prio, TIMESTAMP_DELTA_USECS AS lat FROM sched_waking AS start JOIN sched_switch AS end ON start.pid = end.next_pid' sleep 0.1"),
    ("ftrace-hist-calls", "lines", "ftrace hist DATA/6.12-stacks.dat"),
    ("ftrace-hist-calls", "lines", "ftrace hist -P DATA/6.1-graph.dat"),
    ("ftrace-functions", "value", "ftrace profile --functions --input DATA/6.1-graph.dat"),
    ("ftrace-options", "value", "ftrace options"),
    ("ftrace-list", "value", "ftrace list"),
    ("ftrace-list", "value", "ftrace list -e sched"),
    ("ftrace-status", "value", "ftrace status"),
    ("ftrace-stat", "lines", "ftrace stat"),
    ("ftrace-show", "value", "ftrace show"),
    ("ftrace-record", "value", "ftrace record -o trace.dat -e sched -- true"),
    ("ftrace-latency", "value", "ftrace latency -e sched:sched_wakeup,sched:sched_switch -- sleep 0.1"),
    ("ftrace-extract", "value", "ftrace extract -o extracted.dat"),
    ("ftrace-stream", "lines", "ftrace stream -e sched:sched_switch -- true"),
    ("run", "lines", "run -e 'BEGIN { printf(\"a\"); time(); @h = hist(3); @l[1] = lhist(3, 0, 10, 1); @s = stats(3); @m[\"a\", 1] = 5; @t = (1, \"x\"); print(@m); print(2); errorf(\"e\"); cat(\"/proc/sys/kernel/ostype\"); }'"),
    ("run", "lines", "run -e 'tracepoint:raw_syscalls:sys_enter { @[kstack(3)] = count(); }' -c true"),
    ("run-list", "value", "run -v -l tracepoint:sched:*"),
    ("run-scripts", "value", "run -L"),
    ("run-info", "value", "run --info"),
    ("ftrace-check-events", "value", "ftrace check-events"),
]
# Lists that must not be empty, so that a schema is not kept by printing nothing.
FULL = {"run-list": lambda v: v and v[0]["fields"], "run-scripts": lambda v: v, "inspect": lambda v: v["rows"], "who": lambda v: v["tasks"], "stack": lambda v: v["threads"][0]["frames"], "ftrace-hist": lambda v: v["rows"], "ftrace-functions": lambda v: v, "report": lambda v: v["events"][0]["rows"], "script": lambda v: v, "annotate": lambda v: v[0]["instructions"], "diff": lambda v: v[0]["rows"]}

count = 0


def tap(passed, name, why=""):
    global count
    count += 1
    print(f"{'ok' if passed else 'not ok'} {count} - {name}")
    if not passed:
        print("\n".join("# " + line for line in str(why).splitlines()[:12]))


def read(form, words):
    at = words.index("--") if "--" in words else len(words)
    if words[:1] == ["ftrace"] and words[1] in ("hist", "sqlhist"):
        at = 2  # what follows their first word is the command's
    done = subprocess.run([SONDE, *words[:at], "--json", *words[at:]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    text = (done.stderr if form.endswith("stderr") else done.stdout).decode()
    if form.startswith("lines"):
        return [json.loads(line) for line in text.splitlines() if line.startswith("{")], done
    return [json.loads(text)], done


# Loads and stores, which few machines can sample.
subprocess.run([str(pathlib.Path(SONDE).parent / "tests" / "perf_c2c"), SONDE, "1000", "2000", "c2c.data"], check=True)
schemas = {p.name.removesuffix(".schema.json"): json.loads(p.read_text()) for p in SCHEMAS.glob("*.schema.json")}
for name, schema in sorted(schemas.items()):
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
        tap(any(case[0] == name for case in CASES), f"{name}: a valid schema that a command here is held to", "no case")
    except jsonschema.SchemaError as e:
        tap(False, f"{name}: a valid schema", e)
for name, form, line in CASES:
    words = [w.replace("SONDE", SONDE).replace("DATA", str(DATA)).replace("TREE", str(SOURCE)) for w in shlex.split(line)]
    try:
        values, done = read(form, words)
        check = jsonschema.Draft202012Validator(schemas[name])
        faults = [e for v in values for e in check.iter_errors(v)]
        if not values:
            faults.append(f"nothing was printed; {done.stderr.decode()}")
        if name in FULL and not FULL[name](values[0]):
            faults.append("an empty list")
        tap(not faults, line, "\n".join(f"{list(getattr(e, 'absolute_path', []))}: {getattr(e, 'message', e)}"[:300] for e in faults))
    except (ValueError, LookupError, subprocess.TimeoutExpired) as e:
        tap(False, line, e)
# The schemas can tell: what is wrong is refused.
good = read("value", ["report", "-i", "one.data"])[0][0]
check = jsonschema.Draft202012Validator(schemas["report"])
for what, spoil in {
    "a number as text": lambda v: v.update(lost="0"),
    "a member nobody knows": lambda v: v.update(surprise=1),
    "a mode that does not exist": lambda v: v["events"][0]["rows"][0].update(mode="[.]"),
    "a missing member": lambda v: v["events"][0].pop("samples"),
}.items():
    bad = copy.deepcopy(good)
    spoil(bad)
    tap(check.is_valid(good) and not check.is_valid(bad), f"report's schema refuses {what}")
names = [f for e in good["events"] for r in e["rows"] for n in r["graph"] for f in n["functions"]]
tap(any(f["module"] and f["mode"] == "user" for f in names) and not any("(inlined)" in f["name"] for f in names), "functions of call graphs have module and mode of their own", names[:3])
counts = read("value", shlex.split("ftrace hist -k common_pid.execname,id raw_syscalls:sys_enter true"))[0][0]
key = counts["rows"][0]["key"]
tap(isinstance(key["id"], int) and isinstance(key["common_pid"]["id"], int) and key["common_pid"]["name"].strip() == key["common_pid"]["name"], "keys of hist are numbers and names, not padded text", key)
marks = [r["symbol"] for e in good["events"] for r in e["rows"] if r["symbol"][:1] == "[" and r["symbol"][2:4] == "] "]
tap(not marks, "no mark of the level inside a symbol", marks)
print(f"1..{count}")
os._exit(0)
