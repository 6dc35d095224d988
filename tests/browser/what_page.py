"""Looks at the page of `what --listen`. Prints TAP. usage: what_page.py URL PID"""

import os
import signal
import sys

from chromium import Browser

url, pid, count, failed = sys.argv[1], int(sys.argv[2]), 0, 0


def ok(good, name, why=""):
    global count, failed
    count += 1
    failed += not good
    print(f"{'' if good else 'not '}ok {count} - {name}", flush=True)
    if not good and why != "":
        print("#", str(why).replace("\n", "\n# "), flush=True)


base = url.split("?")[0]
with Browser() as b:
    p = b.open(url, width=1200, height=900)
    p.wait("window.sonde && sonde.rows.length >= 3 && document.querySelectorAll('#rows tr').length > 0")
    ok(True, "rows and processes arrive")
    titles = p.js("[...document.querySelectorAll('figcaption')].map(f => f.textContent).join()")
    ok(all(t in titles for t in ("total cpu usage · %", "cpu0 usage · %", "memory usage · bytes", "pressure · %")), "a chart for each part", titles)
    drawn = """(() => { const c = document.querySelector('canvas'), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
        const seen = new Set(); for (let i = 0; i < d.length; i += 4) if (d[i + 3] === 255) seen.add(d[i] + ',' + d[i + 1] + ',' + d[i + 2]); return seen.size; })()"""
    colours = p.js(drawn)
    ok(colours >= 3, "lines are drawn in several colours", colours)
    p.wait("[...document.querySelectorAll('#rows tr')].some(r => r.lastChild.textContent === '<img src=x>')")
    ok(p.js("document.querySelectorAll('#rows img').length") == 0, "the name of a process is text")
    p.js("document.getElementById('pause').click()")
    n = p.js("sonde.answers")
    p.wait("document.getElementById('pause').getAttribute('aria-pressed') === 'true'")
    p.js("document.getElementById('pause').click()")
    p.wait(f"sonde.answers > {n + 1}")
    ok(True, "pause, and on again")
    others = [r for r in p.requests if not r.startswith(base) and not r.startswith("data:")]
    ok((others, p.console) == ([], []), "no request to anybody else, nothing on the console", (others, p.console))
    # The same page with a wrong token shows why it has nothing.
    wrong = b.open(base + "?token=" + "0" * 32, width=600, height=400)
    ok("token" in wrong.js("document.body.textContent") and wrong.js("typeof sonde") == "undefined", "a wrong token gets no page")
    os.kill(pid, signal.SIGINT)
    p.wait("document.getElementById('state').className === 'bad'")
    ok(p.js("sonde.rows.length") >= 3, "when we end it says so and keeps what it has")
print(f"1..{count}")
sys.exit(failed > 0)
