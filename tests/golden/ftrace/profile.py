#!/usr/bin/env python3
"""A second opinion on `ftrace profile`: times of tasks added up from the events as `report --json` has them, and trace-cmd's own."""
import collections
import json
import re
import subprocess
import sys

SONDE, FILE = sys.argv[1:3]


def sonde(*args):
    return subprocess.run([SONDE, "ftrace", *args, FILE], capture_output=True, text=True, check=True).stdout


def state(value):
    text = "".join(c for i, c in enumerate("SDTtXZPI") if value >> i & 1) or "R"
    return text + ("+" if value & 0x100 else "")


def model():
    """(pid, cpu of an idle task, name) -> [count, sum, max, min]"""
    out = collections.defaultdict(lambda: [0, 0, 0, 1 << 62])
    gone, on, woken, irqs, calls = {}, {}, {}, {}, {}

    def add(task, name, ns):
        r = out[task, name]
        r[0] += 1
        r[1] += ns
        r[2] = max(r[2], ns)
        r[3] = min(r[3], ns)

    for line in sonde("report", "--json").splitlines():
        e = json.loads(line)
        f, t, cpu, name = e.get("fields", {}), e["time_ns"], e["cpu"], e["event"]
        who = (e["pid"], None if e["pid"] else cpu)
        if name == "sched_switch":
            prev = (f["prev_pid"], None if f["prev_pid"] else cpu)
            came = (f["next_pid"], None if f["next_pid"] else cpu)
            if prev in on:
                add(prev, "on_cpu", t - on.pop(prev))
            woken.pop(prev, None)
            if came in gone:
                since, how = gone.pop(came)
                add(came, "sched_switch:" + state(how), t - since)
            if came in woken:
                since, what = woken.pop(came)
                add(came, "%s:0x%x" % (what, came[0]), t - since)
            on[came] = t
            gone[prev] = (t, f["prev_state"])
        elif name in ("sched_wakeup", "sched_wakeup_new"):
            task = (f["pid"], None)
            if task in gone and gone[task][1] & 0xFF:
                since, how = gone.pop(task)
                add(task, "sched_switch:" + state(how), t - since)
            woken[task] = (t, name)
        elif name == "irq_handler_entry":
            irqs[cpu, f["irq"]] = (t, who)
        elif name == "irq_handler_exit" and (cpu, f["irq"]) in irqs:
            since, task = irqs.pop((cpu, f["irq"]))
            add(task, "irq_handler_entry:0x%x" % f["irq"], t - since)
        elif name == "sys_enter":
            calls[who] = (t, f["id"])
        elif name == "sys_exit" and calls.get(who, (0, None))[1] == f["id"]:
            add(who, "sys_enter:%d" % f["id"], t - calls.pop(who)[0])
    return out


def profile():
    out = {}
    for task in json.loads(sonde("profile", "--json", "--input"))["tasks"]:
        for r in task["times"]:
            if r["kind"] != "count":
                key = (task["pid"], task.get("cpu"))
                out[key, r["what"]] = [r["count"], r["total_ns"], r["max_ns"], r["min_ns"]]
    return out


def rows(text):
    out, task = {}, None
    for line in text.splitlines():
        m = re.match(r"task: (.*)$", line)
        task = m[1] if m else task
        m = re.match(r"  Event: (.*?) (\(\d+\) Total: .*)$", line)
        if m:
            out[task, m[1]] = m[2]
    return out


def compare_with_model():
    want, got = model(), profile()
    assert want, "the model found nothing"
    for key, value in want.items():
        assert got.get(key) == value, (key, value, got.get(key))
    mine = re.compile(r"on_cpu|sched_|irq_handler|sys_enter:")
    extra = [k for k in got if k not in want and mine.match(k[1])]
    assert not extra, extra
    print(len(want), "rows agree with the model")


def compare_with_trace_cmd():
    """Not: idle tasks (it has one for all CPUs), raised softirqs that another task ran, wake-ups of tasks it had not seen before and wake-ups
    of running ones, and functions (it takes the events' times, not the tracer's). It names the states I and R+ K and W."""
    text = subprocess.run(["trace-cmd", "report", "--profile", "-i", FILE], capture_output=True, text=True, check=True).stdout
    want, got = rows(text.replace("sched_switch:K", "sched_switch:I").replace("sched_switch:W", "sched_switch:R+")), rows(sonde("report", "--profile", "-i"))
    nr = 0
    for (task, name), value in want.items():
        if task.endswith("-0") or name.startswith(("softirq_raise", "sched_wakeup", "func:")):
            continue
        assert got.get((task, name)) == value, (task, name, value, got.get((task, name)))
        nr += 1
    assert nr > 10, nr
    print(nr, "rows agree with trace-cmd")


globals()[sys.argv[3]]()
