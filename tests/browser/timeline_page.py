"""Looks at the pages that timeline.t made. Prints TAP, from test 2 on. usage: timeline_page.py FOLDER FAILED"""

import json
import re
import sys
import traceback

from chromium import Browser

folder, count, failed = sys.argv[1], 1, int(sys.argv[2])
MS = 1000000


def ok(good, name, why=""):
    global count, failed
    count += 1
    failed += not good
    print(f"{'' if good else 'not '}ok {count} - {name}", flush=True)
    if not good and why != "":
        print("#", str(why).replace("\n", "\n# "), flush=True)


def equal(got, want, name):
    ok(got == want, name, f"got {got!r}, want {want!r}")


class Look:
    def __init__(self, browser, name, **how):
        self.url = f"file://{folder}/{name}"
        self.page = browser.open(self.url, **how)
        self.settle()

    def settle(self):
        self.page.wait("window.sonde && sonde.settled()")

    def js(self, code):
        return self.page.js(code)

    def key(self, key):
        self.page.key(key)
        self.settle()

    def text(self, id):
        return self.js(f"document.getElementById('{id}').textContent")

    def place(self, row, ms):
        """In the page: where a row is at a time."""
        box = self.js(f"sonde.rowBox({row!r})")
        return box["x"] + self.js(f"sonde.xOf({ms * MS})"), box["y"] + 9

    def click(self, row, ms):
        self.page.click(*self.place(row, ms))
        self.settle()

    def colour(self, row, ms, down=9):
        """The name that the palette has for the pixel."""
        x, y = self.place(row, ms)
        return self.js(f"""(() => {{
            const box = document.getElementById('rows').getBoundingClientRect(), css = sonde.colours();
            const at = sonde.pixel({x} - box.left, {y} - 9 + {down} - box.top);
            return Object.keys(css).find(k => css[k] === '#' + at.map(v => v.toString(16).padStart(2, '0')).join('')) || String(at);
        }})()""")

    def quiet(self, name):
        self.settle()
        others = [r for r in self.page.requests if r.split("#")[0] != self.url.split("#")[0] and not r.startswith("data:")]
        equal((others, self.page.console), ([], []), f"{name}: no request, nothing on the console")


def family(browser):
    p = Look(browser, "family.html")
    rows = p.js("sonde.rows()")
    equal(rows, ["CPU 0", "CPU 1", "owner 10", "process 20", "waiter 20", "waiter<b> 21", "leaf 50", "grandchild 40", "everything else",
        "hog 30", "loop 60", "loop 61"], "the command and what it started come first")
    p.page.click(p.js("sonde.rowBox('everything else').x") + 5, p.place("everything else", 0)[1])
    p.settle()
    equal(p.js("sonde.rows()"), rows, "a click on the line between them changes nothing")
    p.js("sonde.setRange(0, 100e6)")
    p.settle()
    text = p.text("drawer-body")
    ok("Waited in (the command)" in text and "futex_wait" in text and "Function (the command)" in text, "waits and functions are the command's", text)
    p.key("Escape")
    p.click("hog 30", 30)
    ok(p.js("sonde.details()") != "", "rows after that line can be clicked")
    p.quiet("a family")


def story(browser):
    p = Look(browser, "story.html")
    equal(p.text("title"), "make <i>all</i>", "the title is text")
    facts = p.text("facts")
    ok("100.0 ms" in facts and "4 threads" in facts and "7 lost" in facts and "testhost" in facts, "the head says what it is", facts)
    equal(p.js("sonde.rows()"), ["CPU 0", "CPU 1", "hog 30", "owner 10", "process 20", "waiter 20", "waiter<b> 21"], "a row for each CPU, process and thread, busiest first")
    equal([p.colour("owner 10", ms) for ms in (20, 50, 80)], ["run", "disk", "run"], "running, D, running")
    equal([p.colour("waiter 20", ms, 9) for ms in (35, 60)], ["ready", "run"], "ready, running")
    equal((p.colour("waiter 20", 15, 4), p.colour("waiter 20", 15, 12)), ("page", "blocked"), "sleeping is a thin band")
    equal(p.colour("waiter 20", 55, 16), "sample", "samples are a strip below")
    equal((p.colour("CPU 0", 20), p.colour("CPU 0", 55), p.colour("CPU 1", 70)), ("run", "page", "run"), "CPUs, busy and idle")
    ok("lossy" in [p.colour("CPU 1", 92 + k / 10, 1 + k % 3) for k in range(8)], "a gap is hatched")
    equal(p.js("sonde.arrows()"), 2, "wake-ups are arrows")

    p.click("waiter 20", 60)
    equal(p.js("sonde.details()"), "running on CPU 1", "a click says what a slice is")
    ok("owner 10" in p.text("drawer-body") and "30.00 ms" in p.text("drawer-body") and "spin <- main" in p.text("drawer-body"), "and who woke it, and its samples", p.text("drawer-body"))
    p.key(",")
    equal(p.js("sonde.details()"), "waiting for CPU 0", ", goes to the slice before")
    p.key("ArrowLeft")
    ok("futex_wait <- do_futex <- main" in p.text("drawer-body"), "which was blocked there", p.text("drawer-body"))
    equal(p.js("sonde.details()"), "blocked (S: sleeping)", "and how")
    p.key("f")
    view = p.js("[sonde.state.from, sonde.state.to]")
    ok(view[0] <= 0 and 30 * MS < view[1] < 40 * MS, "F zooms to it", view)
    p.page.wait("location.hash.includes('view=')")
    ok("slice=" in p.js("location.hash"), "the address says what is shown", p.js("location.hash"))
    p.key("m")
    equal(p.js("sonde.state.range"), [0, 30 * MS], "M makes it the range")
    p.key("0")
    p.key("Escape")
    equal(p.js("sonde.state.range"), None, "Escape ends it")

    # Who woke whom, over two hops: pipe_read of waiter<b> was ended by waiter, whom owner had woken.
    p.click("waiter<b> 21", 97)
    equal(p.js("sonde.chainOf(sonde.state.slice).map(h => sonde.data.tid[h.waker])"), [20, 10], "the chain of wakers")
    p.key("Escape")

    x0, y = p.place("owner 10", 20)
    x1, _ = p.place("owner 10", 70)
    p.page.drag(x0, y, x1, y)
    p.settle()
    rows = {r["name"]: r for r in p.js("sonde.range()")}
    near = lambda got, ms: abs(got / MS - ms) < .2
    ok(near(rows["owner 10"]["run"], 30) and near(rows["owner 10"]["disk"], 20), "a drag chooses a range: its table", rows["owner 10"])
    ok(near(rows["waiter 20"]["run"], 30) and near(rows["waiter 20"]["ready"], 10) and rows["waiter 20"]["samples"] == 2, "with waits and samples", rows["waiter 20"])
    ok(all(near(r["run"] + r["ready"] + r["blocked"], 50) for r in rows.values()), "every thread's times add up to it")
    ok("spin" in p.text("drawer-body") and "parse" not in p.text("drawer-body"), "and its functions", p.text("drawer-body"))
    lines = p.js("[...document.querySelectorAll('#drawer-body tr')].map(r => [...r.children].map(c => c.textContent).join('|'))")
    waits = [l for l in lines if l.split("|")[0] in ("pipe_read", "io_wait", "futex_wait")]
    ok(len(waits) == 3 and all(re.fullmatch(want, got) for want, got in zip((
        r"pipe_read\|S\|(50\.0|49\.9)\d ms\|(50\.0|49\.9)\d ms\|1\|waiter", r"io_wait\|D\|(20\.0|19\.9)\d ms\|(20\.0|19\.9)\d ms\|1\|",
        r"futex_wait\|S\|(10\.|9\.9)\d+ ms\|(10\.|9\.9)\d+ ms\|1\|owner"), waits)), "and what was waited for, longest first", lines)
    boxes = "[...document.querySelectorAll('.flame button')].map(b => [b.title, Math.round(parseFloat(b.style.width)), parseInt(b.style.top)])"
    two = [["all: 2 samples, 100.00 %", 100, 0], ["main: 2 samples, 100.00 %", 100, 18], ["spin: 2 samples, 100.00 %", 100, 36]]
    equal(p.js(boxes), two, "and the stacks of its samples, callers above what they call")
    p.js("sonde.setRange(20e6, 90e6)")
    p.settle()
    equal(p.js(boxes), [["all: 3 samples, 100.00 %", 100, 0], ["main: 3 samples, 100.00 %", 100, 18], ["spin: 2 samples, 66.67 %", 67, 36],
        ["parse: 1 sample, 33.33 %", 33, 36]], "a larger range has more of them")
    p.js("document.querySelector('.flame button[title^=parse]').click()")
    equal(p.js(boxes), [["all: 3 samples, 100.00 %", 100, 0], ["main: 3 samples, 100.00 %", 100, 18], ["parse: 1 sample, 33.33 %", 100, 36]],
        "a click on a box shows it alone, with its callers")
    p.js("document.querySelector('.flame button[title^=all]').click()")
    equal(len(p.js(boxes)), 4, "and one on a caller goes back")
    p.key("Escape")

    p.page.click(p.js("sonde.rowBox('waiter 20').x") + 30, p.place("waiter 20", 1)[1])
    p.settle()
    equal(p.js("sonde.rows()"), ["CPU 0", "CPU 1", "process 20", "waiter 20", "waiter<b> 21"], "a click on a name shows only its process")
    equal((p.colour("CPU 0", 20), p.colour("CPU 1", 70)), ("other", "run"), "and marks it on the CPUs")
    p.key("Escape")
    p.key("/")
    p.page.type("hog")
    p.settle()
    equal((p.js("sonde.rows()"), p.text("found")), (["CPU 0", "CPU 1", "hog 30"], "1 thread"), "search")
    p.key("Escape")
    equal(len(p.js("sonde.rows()")), 7, "Escape ends the search")

    p.key("w")
    equal(round(p.js("sonde.state.to - sonde.state.from") / MS), 70, "W zooms in")
    before = p.js("sonde.state.from")
    p.key("d")
    ok(p.js("sonde.state.from") > before, "D moves right")
    p.key("s")
    p.key("0")
    equal(p.js("[sonde.state.from, sonde.state.to]"), [0, 100 * MS], "0 shows everything")
    p.key("?")
    ok(p.js("document.getElementById('keys').open"), "? shows the keys")
    p.key("Escape")
    p.js("document.getElementById('keys').close()")
    p.key("t")
    ok(p.js("document.documentElement.classList.contains('dark')"), "T makes it dark")
    equal(p.colour("owner 10", 20), "run", "with colours of its own")
    p.quiet("story")


def others(browser):
    p = Look(browser, "one.html", dark=True)
    equal((p.js("sonde.state.pid"), len(p.js("sonde.rows()"))), (20, 5), "a page may begin with one process")
    ok(p.js("document.documentElement.classList.contains('dark')"), "dark where the reader wants it")
    p.quiet("one")
    p = Look(browser, "story.html", width=390, height=780)
    ok(p.js("document.documentElement.scrollWidth") <= 390, "fits a phone", p.js("document.documentElement.scrollWidth"))
    ok(p.js("sonde.gutter()") < 120 and p.colour("owner 10", 20) == "run", "with room for the rows")
    p.quiet("phone")
    p = Look(browser, "story.html#view=10000000-60000000&pid=30&find=hog")
    equal((p.js("[sonde.state.from, sonde.state.to, sonde.state.pid]"), p.js("sonde.rows()")), ([10 * MS, 60 * MS, 30], ["CPU 0", "CPU 1", "hog 30"]), "an address brings its view back")
    p.quiet("address")


def many(browser):
    """What is drawn from sums, and what from single slices, is the same."""
    p = Look(browser, "many.html")
    equal(p.js("sonde.data.switches"), 200000, "many switches")
    got = p.js("(() => { const t = sonde.track('ping 9001'), v = sonde.between(t, 1e8, 2e8); return [v.run, v.ready, v.blocked] })()")
    ok(all(abs(a - b) <= 5000 for a, b in zip(got, (5e7, 1e7, 4e7))), "sums of a part of it", got)
    ends = p.js("(() => { const t = sonde.track('pong 9002'), v = sonde.between(t, 0, sonde.data.span); return [v.run, v.ready, v.blocked] })()")
    equal(ends, [500 * MS, 100 * MS, 400 * MS], "sums of all of it")
    # A column of pixels is half running: blue below, orange above it, nothing at the top.
    equal([p.colour("ping 9001", 500, y) for y in (14, 8, 3)], ["run", "ready", "page"], "shares of a pixel are drawn")
    equal(p.colour("CPU 0", 500, 14), "run", "a CPU that always runs one of them")
    p.js("sonde.setView(500e6, 500.02e6)")
    p.settle()
    p.page.wait("sonde.arrows() > 0")
    ok(p.js("sonde.arrows()") > 0, "near enough, wake-ups are arrows")
    p.quiet("many")


def trace(browser):
    p = Look(browser, "trace.html")
    with open(f"{folder}/trace.json") as file:
        data = json.load(file)
    tracks = [t for t in data["tracks"] if t["slices"]]
    differ = []
    for t in tracks:
        v = p.js(f"(() => {{ const t = sonde.track({t['comm'] + ' ' + str(t['tid'])!r}); return sonde.between(t, 0, sonde.data.span) }})()")
        if [v["run"], v["ready"], v["blocked"]] != [t["running_ns"], t["ready_ns"], t["blocked_ns"]]:
            differ.append((t["comm"], v))
    ok(len(tracks) > 5 and not differ, "a real trace: page and JSON have the same times", differ)
    p.quiet("trace")
    p = Look(browser, "lost.html")
    ok(p.js("sonde.data.gaps.length") > 0 and "warn" in p.js("document.getElementById('facts').innerHTML"), "losses are shown", p.text("facts"))
    p.quiet("lost")


with Browser() as browser:
    for part in (story, family, others, many, trace):
        try:
            part(browser)
        except Exception:
            ok(False, part.__name__, traceback.format_exc())
print(f"1..{count}")
sys.exit(failed > 0)
