"""Looks at the page of `top --listen`. Prints TAP. usage: top_page.py URL PID LOAD"""

import http.client
import json
import os
import signal
import socket
import sys
import time
import urllib.parse

from chromium import Browser

url, pid, load, count, failed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), 0, 0


def ok(good, name, why=""):
    global count, failed
    count += 1
    failed += not good
    print(f"{'' if good else 'not '}ok {count} - {name}", flush=True)
    if not good and why != "":
        print("#", str(why).replace("\n", "\n# "), flush=True)


def ask(path, headers=None, host=None):
    """Status and text, with headers as they are given."""
    parts = urllib.parse.urlsplit(url)
    c = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
    c.putrequest("GET", path, skip_host=True)
    for name, value in {"Host": host or parts.netloc, **(headers or {})}.items():
        c.putheader(name, value)
    c.endheaders()
    r = c.getresponse()
    return r.status, r.read().decode()


def stalled(path):
    """Asks for everything and never reads."""
    parts = urllib.parse.urlsplit(url)
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.connect((parts.hostname, parts.port))
    s.sendall(f"GET {path} HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode())
    return s


base, query = url.split("?")[0], url.split("?")[1]
data = "/data?" + query
with Browser() as b:
    p = b.open(url, width=1200, height=1000)
    p.wait("window.sonde && sonde.rows.length >= 4 && sonde.boxes.some(b => b.name === 'workload_leaf')")
    ok(True, "the planted function is in the flame graph")
    boxes = p.js("sonde.boxes")
    leaf = next(x for x in boxes if x["name"] == "workload_leaf")
    ok(leaf["w"] > 600 and leaf["kind"] == "user", "it is most of it", leaf)
    above = [x["name"] for x in boxes if x["y"] < leaf["y"] and x["x"] <= leaf["x"] < x["x"] + x["w"]]
    ok("<img src=x>" in above and "main" in above, "below its callers and its command, whose name is text", above)
    first = p.js("[...document.querySelector('#functions tr').children].map(c => c.textContent)")
    ok(first[2] == "workload_leaf" and float(first[0].split()[0]) > 50, "and the first of the functions", first)
    drawn = """(() => { const c = document.getElementById('flame'), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
        const seen = new Set(); for (let i = 0; i < d.length; i += 4) if (d[i + 3] === 255) seen.add(d[i] + ',' + d[i + 1] + ',' + d[i + 2]); return seen.size; })()"""
    colours = p.js(drawn)
    ok(colours >= 3, "in several colours", colours)
    titles = p.js("[...document.querySelectorAll('figcaption')].map(f => f.textContent).join()")
    ok(all(t in titles for t in ("samples · 1/s", "in the kernel · %", "lost · 1/s")), "charts", titles)
    p.wait("[...document.querySelectorAll('#rows tr')].some(r => r.lastChild.textContent === '<img src=x>')")
    ok(p.js("document.querySelectorAll('#rows img, #functions img').length") == 0, "the process is in its table, its name as text")
    # A range of time: only what is in it counts.
    p.js("document.getElementById('pause').click()")
    mouse = """(type, x) => { const c = document.querySelector('#charts canvas'), r = c.getBoundingClientRect();
        c.dispatchEvent(new PointerEvent(type, { clientX: r.left + x * r.width, clientY: r.top + 20, bubbles: true })); }"""
    p.js(f"(() => {{ const go = {mouse}; go('pointerdown', .5); go('pointermove', .8); go('pointerup', .8); }})()")
    part = p.js("({ range: sonde.range, inside: sonde.rows.filter(r => sonde.range && r[0] >= sonde.range[0] && r[0] <= sonde.range[1]).length, all: sonde.rows.length })")
    ok(part["range"] and part["inside"] < part["all"], "a drag over a chart is a range of time", part)
    ok("live" not in p.js("document.getElementById('range').textContent"), "which the page shows", p.js("document.getElementById('range').textContent"))
    p.js("document.getElementById('whole').click()")
    ok(p.js("sonde.range") is None, "and gives up again")
    # Zoom and search.
    p.js("""(() => { const b = sonde.boxes.find(b => b.name === 'workload_leaf'), c = document.getElementById('flame'), r = c.getBoundingClientRect();
        c.dispatchEvent(new MouseEvent('click', { clientX: r.left + b.x + b.w / 2, clientY: r.top + b.y * 18 + 9, bubbles: true })); })()""")
    ok(p.js("Math.round(sonde.boxes.find(b => b.name === 'workload_leaf').w) >= document.getElementById('flame').clientWidth - 1"), "a click zooms")
    p.js("dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape' }))")
    p.js("(() => { const s = document.getElementById('search'); s.value = '^workload_leaf$'; s.dispatchEvent(new Event('input')); })()")
    matched = p.js("document.getElementById('matched').textContent")
    ok(float(matched.split()[1]) > 50, "a search says how much it matches", matched)
    p.js("(() => { const s = document.getElementById('search'); s.value = '('; s.dispatchEvent(new Event('input')); })()")
    ok(p.js("document.getElementById('search').className") == "bad", "a broken expression is marked")
    p.js("(() => { const s = document.getElementById('search'); s.value = ''; s.dispatchEvent(new Event('input')); document.getElementById('pause').click(); })()")
    n = p.js("sonde.rows.length")
    p.wait(f"sonde.rows.length > {n + 1}")
    ok(True, "on again after a pause")
    ok(p.js("document.documentElement.scrollWidth <= innerWidth"), "nothing is wider than the window")
    others = [r for r in p.requests if not r.startswith(base) and not r.startswith("data:")]
    ok((others, p.console) == ([], []), "no request to anybody else, nothing on the console", (others, p.console))
    # Who may ask.
    wrong = b.open(base + "?token=" + "0" * 32, width=600, height=400)
    ok("token" in wrong.js("document.body.textContent") and wrong.js("typeof sonde") == "undefined", "a wrong token gets no page")
    ok(ask(data)[0] == 200, "the token gets data")
    for what, path, headers, host in (
        ("without a token", "/data", {}, None),
        ("with a wrong one", "/data?token=" + "f" * 32, {}, None),
        ("from another site", data, {"Origin": "http://evil.example"}, None),
        ("by a foreign name", data, {}, "evil.example:80"),
    ):
        status, text = ask(path, headers, host)
        ok(status == 403 and "workload" not in text, "no data " + what, (status, text[:200]))
    ok(ask(data + "&since=x")[0] == 400 and ask(data + "&frames=-2")[0] == 400, "arguments that are no numbers are refused")
    whole = json.loads(ask(data)[1])
    ok(len(whole["rows"]) == len(whole["stacks"]) == len(whole["cut"]) and whole["rows"], "each interval has its stacks")
    well = all(flat[i] <= i // 3 and 0 < flat[i + 1] < len(whole["frames"]) for flat in whole["stacks"] for i in range(0, len(flat), 3))
    ok(well, "whose parents come first, and whose frames have names")
    later = json.loads(ask(data + f"&generation={whole['generation']}&frames={len(whole['frames'])}&since={whole['rows'][-1][0]}")[1])
    ok(all(r[0] > whole["rows"][-1][0] for r in later["rows"]) and "columns" not in later, "who has rows gets only newer ones")
    # Clients that never read: the page goes on.
    asleep = [stalled(data) for _ in range(8)]
    n = p.js("sonde.answers")
    p.wait(f"sonde.answers > {n + 3}")
    ok(True, "clients that never read hold up nobody")
    for s in asleep:
        s.close()
    # All tasks end, and then we do.
    os.kill(load, signal.SIGKILL)
    p.wait("document.getElementById('state').textContent.includes('all tasks have ended')")
    ok(p.js("sonde.boxes.some(b => b.name === 'workload_leaf')"), "when the tasks have ended, what was seen stays")
    os.kill(pid, signal.SIGINT)
    p.wait("document.getElementById('state').className === 'bad'")
    ok(p.js("sonde.rows.length") >= 3, "when we end it says so and keeps what it has")
print(f"1..{count}")
sys.exit(failed > 0)
