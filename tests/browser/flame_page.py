"""Looks at the pages that flame.t made. Prints TAP, from test 2 on. usage: flame_page.py FOLDER FAILED"""

import os
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

    def find(self, name):
        return self.js(f"sonde.find({name!r})")

    def click_frame(self, name, **how):
        box = self.find(name)
        self.page.click(box["x"] + min(box["w"] / 2, 40), box["y"] + box["h"] / 2, **how)
        self.settle()

    def key(self, key):
        self.page.key(key)
        self.settle()

    def text(self, id):
        return self.js(f"document.getElementById('{id}').textContent")

    def total_ms(self):
        return round(self.js("sonde.total") / MS)

    def quiet(self, name):
        self.settle()
        others = [r for r in self.page.requests if r.split("#")[0] != self.url.split("#")[0] and not r.startswith("data:")]
        equal((others, self.page.console), ([], []), f"{name}: no request, nothing on the console")


def phases(browser):
    p = Look(browser, "phases.html")
    equal(p.total_ms(), 2000, "all samples are there")
    facts = p.text("facts")
    ok("2,000 samples" in facts and "0 lost" in facts and "testhost" in facts and "cpu-clock" in facts, "the head says what it is", facts)
    box = p.find("work")
    ok(abs(box["w"] / p.find("all")["w"] - 0.5) < 0.01, "widths are shares", box)

    p.page.key("/")
    p.page.type("^multiply$")
    p.settle()
    equal(p.text("found"), "40.0 %", "search says how much it found")
    p.key("Enter")
    equal(p.text("status").split(" · ")[0], "multiply", "Enter goes to the match")
    p.js("document.activeElement.blur()")
    p.key("Escape")
    equal((p.text("found"), p.js("sonde.state.query")), ("", ""), "Escape ends the search")

    p.click_frame("work")
    equal(p.js("sonde.zoomed()"), "work", "a click zooms")
    equal(round(p.find("work")["w"]), p.js("document.getElementById('flames').clientWidth"), "the frame is as wide as the page then")
    ok("zoom=" in p.js("location.hash"), "and the address says so", p.js("location.hash"))
    hash_ = p.js("location.hash")
    p.key("Escape")
    equal(p.js("sonde.zoomed()"), "all", "Escape goes back")

    strip = p.js("(() => { const b = document.getElementById('strip').getBoundingClientRect(); return [b.left, b.top, b.right] })()")
    middle = p.js("(() => { const b = document.getElementById('strip').getBoundingClientRect(); const g = sonde.gutter;"
                  " return b.left + g + (b.width - g) / 2 })()")
    p.page.drag(middle, strip[1] + 8, strip[2] - 1, strip[1] + 8)
    p.settle()
    ok(abs(p.total_ms() - 1000) <= 10, "a drag over the second half halves the total", p.total_ms())
    ok(p.find("setup")["total"] <= 10 * MS, "what ran in the first half is gone", p.find("setup"))
    ok("time" in p.text("status") and not p.js("document.getElementById('range').hidden"), "the range is said", p.text("status"))
    p.key("Escape")
    equal(p.total_ms(), 2000, "Escape takes all of the time again")

    p.js("document.getElementById('merge').value = 'tid'; document.getElementById('merge').dispatchEvent(new Event('change'))")
    p.settle()
    equal((round(p.find("early 10")["total"] / MS), round(p.find("late 11")["total"] / MS)), (1500, 500), "stacks by thread")
    p.key("m")
    equal(p.js("sonde.state.merge"), "all", "m merges all again")

    p.key("v")
    equal((p.total_ms(), round(p.find("multiply")["total"] / MS)), (2000, 800), "callers first: the same total, leaves are roots")
    p.key("v")
    p.key("i")
    ok(p.find("all")["y"] < p.find("main")["y"], "icicle: roots at the top")
    p.key("i")
    ok(p.find("all")["y"] > p.find("main")["y"], "flames: roots at the bottom")

    up = p.page
    up.click(5, p.find("all")["y"] - 100)
    p.js("document.getElementById('flames').focus()")
    p.key("ArrowUp")
    p.key("ArrowUp")
    p.key("Enter")
    ok(p.js("sonde.zoomed()") in ("setup", "work"), "arrow keys and Enter walk and zoom", p.js("sonde.zoomed()"))
    p.key("0")
    equal(p.js("sonde.zoomed()"), "all", "0 shows everything")

    p.key("2")
    rows = p.js("[...document.querySelectorAll('.row')].map(r => r.textContent)")
    ok(len(rows) == 8 and "multiply" in rows[0] and "read_file" in rows[1], "the table has the functions, most of its own first", rows)
    ok(any("<img/src=x/onerror=" in r for r in rows), "a name that looks like markup is shown as it is", rows)
    equal((p.js("document.images.length"), p.js("document.title")), (0, "phases.data"), "and is never understood")
    p.js("[...document.querySelectorAll('#list-head button')].find(b => b.dataset.sort === 'total').click()")
    ok("main" in p.js("document.querySelector('.row').textContent"), "a click on a heading sorts")
    p.js("[...document.querySelectorAll('.row')].find(r => r.textContent.includes('inner_loop')).click()")
    p.settle()
    equal((p.js("sonde.state.view"), p.text("status").split(" ")[0]), ("sandwich", "inner_loop"), "a row leads to its callers and callees")
    equal([p.js(f"sonde.around('{n}')") for n in ("work", "multiply", "check")], [800 * MS, 800 * MS, None], "with their weights")
    equal("not followed" in p.js("sonde.notes()"), False, "where all callers are followed, nothing else is said")
    p.key("2")
    p.js("document.getElementById('list-scroll').focus()")
    for key in ("Home", "ArrowDown", "ArrowDown", "ArrowUp", "Enter"):
        p.key(key)
    equal((p.js("sonde.state.view"), p.text("status").split(" ")[0]), ("sandwich", "setup"), "rows are chosen by keyboard")
    p.page.key("/")
    p.page.type("no such name")
    p.settle()
    ok("No function" in p.text("list-rows"), "a list without rows says why", p.text("list-rows"))
    p.js("document.activeElement.blur()")
    p.key("Escape")
    p.key("1")
    p.js("document.getElementById('strip').focus()")
    p.key("ArrowRight")
    first = p.total_ms()
    p.key("End")
    ok(0 < first < 400 and p.find("setup")["total"] == 0, "times are chosen by keyboard", (first, p.find("setup")))
    p.key("Escape")
    equal(p.total_ms(), 2000, "and left by Escape")
    order = p.js("[...document.querySelectorAll('button, input, select, [tabindex]')].filter(e => !e.disabled && e.offsetParent).map(e => e.id || e.dataset.view)")
    equal((order[:5], order[-2:]), (["flame", "table", "sandwich", "tree", "query"], ["strip", "flames"]), "Tab goes from the views to the graph")
    p.key("d")
    ok(p.js("document.documentElement.classList.contains('dark')"), "d makes it dark")
    pdf = p.page.send("Page.printToPDF", printBackground=True)["data"]
    ok(len(pdf) > 20000, "it prints", len(pdf))
    p.quiet("one recording")

    again = Look(browser, "phases.html" + hash_)
    equal(again.js("sonde.zoomed()"), "work", "an address brings its view back")
    bad = Look(browser, "phases.html#view=x&zoom=9.9.9e9.-1&time=5-2&event=77&focus=99999&q=(&merge=no")
    equal((bad.total_ms() > 0, bad.js("sonde.zoomed()")), (True, "all"), "a broken address does no harm")
    bad.quiet("a broken address")
    light = Look(browser, "light.html#view=sandwich")
    light.settle()
    ok(light.js("sonde.drawn") > 0 and light.js("document.getElementById('empty').hidden"), "the sandwich begins with a function", light.text("status"))
    light.js("[...document.querySelectorAll('.row')].find(r => r.textContent.includes('target')).click()")
    light.settle()
    ok("paths below 1/100,000 of the total are truncated" in light.js("sonde.notes()"), "callers too light to be followed are said", light.js("sonde.notes()"))
    light.quiet("light callers")
    low = Look(browser, "phases.html#view=sandwich", width=400, height=700)
    low.js("document.querySelector('.row').click()")
    low.settle()
    boxes = low.js("['list', 'graph', 'foot'].map(i => document.getElementById(i).getBoundingClientRect()).map(b => [b.top, b.bottom])")
    ok(boxes[0][1] <= boxes[1][0] and boxes[1][1] <= boxes[2][0] and boxes[1][1] - boxes[1][0] > 60 and boxes[2][1] <= 700,
       "a small screen has room for list, graph and foot", boxes)
    narrow = Look(browser, "phases.html", width=420, height=700)
    ok(narrow.js("document.documentElement.scrollWidth") <= 420, "a narrow window needs no sideways scrolling",
       narrow.js("document.documentElement.scrollWidth"))


def difference(browser):
    p = Look(browser, "diff.html")
    escape, read = p.find("escape"), p.find("read")
    ok(abs(escape["a"] - 0.10) < 1e-9 and abs(escape["b"] - 40 / 130) < 1e-9, "shares before and after", escape)
    ok(escape["fill"].startswith("hsl(8 ") and read["fill"].startswith("hsl(210 "), "what grew is red, what shrank is blue", (escape, read))
    ok(p.find("old_log")["w"] > 10 and p.find("new_check")["w"] > 10, "what is gone and what is new both have their place")
    p.key("2")
    first = p.js("document.querySelector('.row').textContent")
    ok("escape" in first or "old_log" in first or "render" in first, "the table begins with the largest change", first)
    p.js("document.getElementById('norm').value = 'abs'; document.getElementById('norm').dispatchEvent(new Event('change'))")
    p.key("1")
    equal((p.find("read")["a"], p.find("read")["b"]), (40 * MS, 40 * MS), "absolute: what did not change is the same")
    ok(p.js("document.getElementById('times').hidden"), "two recordings have no time in common")
    p.quiet("a difference")


def types(browser):
    p = Look(browser, "types.html", width=1000)
    short = "store::Map<…>::find_the_end<…>"
    name = p.js("sonde.profile.strings.find(s => s.startsWith('store::Map'))")
    box = p.find(name)
    p.page.mouse("mouseMoved", box["x"] + 40, box["y"] + 8)
    tip = p.text("tip")
    ok(tip.startswith(short + "()") and name in tip, "the tip says a long name in short, then in full", tip)
    low, high = p.js("(() => { const t = document.getElementById('tip'), b = t.getBoundingClientRect(); return [b.top, b.bottom] })()")
    ok(low >= 0 and high <= 800 and p.js("[...document.querySelectorAll('#tip div')].every(e => e.scrollHeight <= e.clientHeight + 1)"),
       "nothing of it is cut off or outside of the page", (low, high))
    for room, want in ((2000, name), (400, short + "()"), (150, "find_the_end<…>()")):
        equal(p.js(f"sonde.label({name!r}, {room})"), want, f"a frame of {room} pixels")
    ok(p.js(f"sonde.label({name!r}, 60)").startswith("find"), "a narrow one begins with the function")
    for long, want in (("std::map<int, std::vector<char> >::find(int const&) const", "std::map<…>::find()"), ("a::operator->() const", "a::operator->()"),
                       ("std::operator<< <char>(x&)", "std::operator<< <…>()"), ("<Vec<T> as Extend>::extend", "<…>::extend"), ("a < b", "a < b"),
                       ("(anonymous namespace)::f(int)", "(anonymous namespace)::f()"), ("x::{lambda(int)#1}::operator()(int) const", "x::{lambda(int)#1}::operator()()"),
                       ("f<g(int)>(h) [clone .cold]", "f<…>()"), ("vfs_read", "vfs_read"), ("<img/src=x>", "<img/src=x>")):
        equal(p.js(f"sonde.brief({long!r})"), want, f"in short: {long}")
    p.key("t")
    p.js("location.hash = 'view=table'")
    p.settle()
    rows = p.js("[...document.querySelectorAll('.row')].map(r => r.textContent)")
    ok(any(short in r and "basic_string" not in r for r in rows), "the table has it in short", rows)
    p.page.key("/")
    p.page.type("char_traits")
    p.settle()
    rows = p.js("[...document.querySelectorAll('.row')].map(r => r.textContent)")
    ok(len(rows) == 1 and name in rows[0], "and in full when that was searched for", rows)
    p.quiet("long names")


def crowd(browser):
    p = Look(browser, "crowd.html#merge=tid")
    whole, busy = p.find("all"), p.find("busy 50")
    ok(abs(busy["w"] / whole["w"] - 0.5) < 0.01, "one thread has half of the time", busy)
    crowds = [c for c in p.js("sonde.crowds") if abs(c["y"] - busy["y"]) < 1]
    ok(len(crowds) == 1 and crowds[0]["nr"] == 4000 and abs(crowds[0]["w"] - whole["w"] / 2) < 3,
       "4,000 others, each too thin to be drawn, have the other half together", crowds)
    c = crowds[0]
    p.page.mouse("mouseMoved", c["x"] + c["w"] / 2, c["y"] + 8)
    ok("4,000 frames too narrow" in p.text("tip"), "the tip says what they are", p.text("tip"))
    p.page.click(c["x"] + c["w"] / 2, c["y"] + 8)
    p.settle()
    ok(abs(p.js("sonde.span") - 4000 * MS) < MS, "a click looks closer", p.js("sonde.span"))
    p.key("Escape")
    ok(abs(p.js("sonde.span") - 8000 * MS) < MS, "Escape goes back", p.js("sonde.span"))
    p.quiet("thousands of threads")


def system(browser):
    p = Look(browser, "system.html")
    equal(p.js("document.title"), "whole system on testhost, while sleep 5 ran", "a recording of all CPUs is titled so")
    equal(p.js("sonde.state.merge"), "comm", "and opens by command")
    equal((p.find("server")["total"] / MS, p.find("shell")["total"] / MS), (400, 200), "commands are at the bottom")
    equal(p.js("sonde.state.colour"), "kind", "with kernel code, colours are kinds")
    ok("at 500 Hz" in p.text("facts"), "the rate is in Hz", p.text("facts"))
    ok("merge" not in p.js("location.hash"), "the address does not repeat what is usual", p.js("location.hash"))

    more = lambda: (p.js("document.getElementById('more').hidden"), p.text("more"))
    ok(not more()[0] and "more rows above" in more()[1], "a stack that is higher than the window says so", more())
    rows = int(more()[1].split()[1])
    p.js("document.getElementById('more').click()")
    p.page.wait(f"!document.getElementById('more').textContent.includes(' {rows} ')")
    p.settle()
    ok(more()[0] or int(more()[1].split()[1]) < rows, "a click goes there", more())
    p.js("document.getElementById('scroll').scrollTop = 0")
    p.page.wait("document.getElementById('more').hidden")
    ok(True, "at the top there is nothing more")
    p.key("i")
    p.page.wait("document.getElementById('more').textContent.includes('more rows below')")
    ok(not more()[0], "an icicle has it below", more())
    p.key("i")

    p.key("4")
    equal(p.js("sonde.state.view"), "tree", "4 is the call tree")
    rows = p.js("sonde.rows")
    equal([r["name"] for r in rows[:3]], ["server", "main", "level_0"], "the heaviest path is open")
    ok(rows[-1]["name"] == "shell" and not rows[-1]["open"] and rows[-1]["depth"] == 0, "the others are closed", rows[-1])
    equal(rows[0]["total"] / MS, 400, "with their weights")
    p.js("[...document.querySelectorAll('.row')][1].click()")
    equal([r["name"] for r in p.js("sonde.rows")], ["server", "main", "shell"], "a click closes a row")
    p.js("document.getElementById('list-scroll').focus()")
    p.key("ArrowDown")
    p.key("ArrowRight")
    p.key("ArrowDown")
    p.key("ArrowRight")
    equal([(r["name"], r["depth"]) for r in p.js("sonde.rows")][2:], [("shell", 0), ("main", 1), ("wait", 2)], "arrows open")
    p.key("ArrowLeft")
    p.key("ArrowLeft")
    p.key("ArrowLeft")
    equal([r["name"] for r in p.js("sonde.rows")], ["server", "main", "shell"], "and close")
    p.js("document.getElementById('invert').click()")
    p.settle()
    equal(sorted(r["name"] for r in p.js("sonde.rows") if r["depth"] == 0), ["server", "shell"], "turned around it is the tree of callers, of each command")
    ok("view=tree" in p.js("location.hash"), "the address keeps the view", p.js("location.hash"))
    p.quiet("a whole system")

    p = Look(browser, "own.html")
    equal((p.js("sonde.state.merge"), p.js("document.title")), ("all", "sonde record -g ls -a"), "a command's own -a is not the recorder's")
    p.key("3")
    equal(p.text("status").split(" — ")[0], "level_89", "the sandwich begins with the function that has most")
    ok(p.js("sonde.around('level_88')"), "and shows its callers", p.text("status"))
    p = Look(browser, "own.html#view=sandwich")
    equal(p.text("status").split(" — ")[0], "level_89", "also when the address asks for it")
    p = Look(browser, "user.html")
    equal(p.js("sonde.state.colour"), "module", "user code alone is coloured by module")
    p.quiet("user code")


def code(browser):
    global count
    if not os.path.exists(f"{folder}/nocode.html"):
        count += 1
        print(f"ok {count} - source and assembly # SKIP nothing can be recorded or compiled here")
        return
    p = Look(browser, "code.html")
    p.click_frame("spin")
    ok(not p.js("document.getElementById('code-button').hidden"), "a function whose code is in the page offers it")
    p.key("a")
    ok(p.js("document.getElementById('code').open"), "a shows it")
    rows = p.js("[...document.querySelectorAll('#code-lines tr')].map(r => [r.className, ...[...r.children].map(c => c.textContent)])")
    ok(any(r[0] == "source" and "<b>the loop</b>" in r[3] for r in rows), "with source, as text", rows)
    ok(any(r[0] == "" and "ret" in r[3] for r in rows), "and instructions", rows)
    shares = [float(r[1].split()[0]) for r in rows if r[1]]
    ok(abs(sum(shares) - 100) < 2, "whose shares are the function's", shares)
    p.key("Escape")
    p.page.wait("!document.getElementById('code').open")
    p.key("Escape")
    p.js("document.activeElement.blur()")
    p.key("2")
    p.key("a")
    ok(p.js("document.getElementById('code').open") and p.text("code-title") == "spin", "from the table as well", p.text("code-title"))
    p.key("Escape")
    p.quiet("code")
    p = Look(browser, "nocode.html")
    p.click_frame("spin")
    p.key("a")
    ok(not p.js("document.getElementById('code').open") and "No code for spin" in p.text("status"), "--no-code leaves it out", p.text("status"))


def big(browser):
    p = Look(browser, "big.html", width=1920, height=1080)
    ok(p.js("sonde.nodes") >= 200000, "200,000 frames and more", p.js("sonde.nodes"))
    ok(100 < p.js("sonde.drawn") < 20000, "only what can be seen is drawn", p.js("sonde.drawn"))
    total = p.total_ms()
    p.key("v")
    ok(abs(p.total_ms() - total) <= 1, "turned around, nothing is lost", (p.total_ms(), total))
    p.key("v")
    p.page.key("/")
    p.page.type("number_26")
    p.settle()
    ok(p.text("found").endswith("%"), "and searched", p.text("found"))
    p.quiet("200,000 frames")


with Browser() as browser:
    for part in (phases, difference, types, crowd, system, code, big):
        try:
            part(browser)
        except Exception:
            ok(False, f"{part.__name__}: to the end", traceback.format_exc())
print(f"1..{count}")
sys.exit(1 if failed else 0)
