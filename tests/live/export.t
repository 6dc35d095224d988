#!/usr/bin/env bash
# Tracepoints as trace events: as many as were recorded, in order, with their fields, and the slices that follow from them.
# where: host
# needs: root tracefs perf_events
. "${SONDE_SRC:-.}/tests/lib.sh"
cd "$SONDE_TMP" || exit 1
"$SONDE" record -q -o e.data -e sched:sched_switch,syscalls:sys_enter_getppid,syscalls:sys_exit_getppid -- "$SONDE" workload syscalls 200 2>/dev/null
ok $? "recorded"
exits 0 "--to perfetto" "$SONDE" export --to perfetto -i e.data -o e.json
"$SONDE" script -i e.data 2>/dev/null | awk 'NF' | wc -l >lines
python3 - e.json "$(cat lines)" >got <<'END'
import json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
instants = [e for e in events if e["ph"] == "i"]
print("instants", len(instants) == int(sys.argv[2]) or (len(instants), sys.argv[2]))
print("order", all(a["ts"] <= b["ts"] for a, b in zip(instants, instants[1:])))
enters = [e for e in instants if e["name"] == "syscalls:sys_enter_getppid"]
exits = [e for e in instants if e["name"] == "syscalls:sys_exit_getppid"]
calls = [e for e in events if e["ph"] == "X" and e["name"] == "getppid"]
print("calls", len(enters) >= 200 and len(exits) == len(calls) == len(enters) or (len(enters), len(exits), len(calls)))
spans = sorted((b["tid"], round(b["ts"] - a["ts"], 3)) for a, b in zip(enters, exits))
print("durations", spans == sorted((e["tid"], round(e["dur"], 3)) for e in calls) and all(s > 0 for _, s in spans))
print("fields", all("ret" in e["args"] and "cpu" in e["args"] for e in exits))
switches = [e for e in instants if e["name"] == "sched:sched_switch"]
print("switches", all(isinstance(e["args"]["next_pid"], int) and e["args"]["next_comm"] for e in switches))
names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
print("names", all((e["pid"], e["tid"]) in names for e in instants))
END
for what in instants order calls durations fields switches names; do
	is "$(sed -n "s/^$what //p" got)" True "$what"
done
# A trace that is larger than the memory it takes: written in pieces. ftrace's buffer holds all of it, however slow the reader is.
"$SONDE" ftrace record -q -b 65536 -e raw_syscalls -o big.dat -- "$SONDE" workload syscalls 250000 2>big.err
ok $? "a large trace" || diag "$(cat big.err)"
python3 - "$SONDE" >got 2>&1 <<'END'
import gzip, os, resource, subprocess, sys
subprocess.run([sys.argv[1], "export", "--to", "perfetto", "big.dat", "-o", "big.json"], check=True)
subprocess.run([sys.argv[1], "export", "--to", "perfetto", "big.dat", "-o", "big.json.gz"], check=True)
used, size = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024, os.path.getsize("big.json")
print("size", size > 50 << 20 or size)
print("memory", used < 25 << 20 or (used, size))
print("packed", gzip.open("big.json.gz").read() == open("big.json", "rb").read())
END
for what in size memory packed; do
	is "$(sed -n "s/^$what //p" got)" True "perfetto in pieces: $what" || diag "$(cat got)"
done
# A live flame graph: the command's own status, and its stacks.
exits 3 "flame of a command ends with its status" "$SONDE" flame -F 999 -o page.html -- sh -c "$SONDE workload leaf 0.5; exit 3"
like "$err" "page.html: [0-9]+ samples, [0-9]+ lost, [0-9]+ frames.*recorder used" "says file, samples, lost, cost"
"$SONDE" flame --folded -F 999 -- "$SONDE" workload leaf 0.5 >folded 2>/dev/null
like "$(cat folded)" "workload_parent;workload_middle;workload_leaf [0-9]+" "the stacks of the workload, outermost first"
exits 127 "a command that is not there" "$SONDE" flame -o none.html -- /nonexistent/command
[ ! -e none.html ]
ok $? "and no page"
done_testing
