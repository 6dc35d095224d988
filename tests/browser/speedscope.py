"""Files opened in speedscope, in a headless browser: what it made of them, as it exports it itself.

usage: speedscope.py RELEASE FILE...     RELEASE: the folder of its page

Beside each FILE comes a FILE.seen: a line for each thing it warned of, "refused" if it knows no such format, and of what it
read "PROFILE: WEIGHT a;b;c" for every stack of every profile.
"""

import base64
import collections
import json
import os
import sys
from chromium import Browser

# What it says in a window of its own would wait for somebody to click, and what it saves goes nowhere here.
HOOKS = "window.said = []; window.alert = t => said.push(t); URL.createObjectURL = b => (window.saved = b, '#');"
EXPORT = "[...document.querySelectorAll('div')].filter(e => e.children.length <= 1 && e.textContent.endsWith('Export')).pop()"


def stacks(profile, frames):
    """Weight by stack, of either kind of profile."""
    got = collections.Counter()
    if profile["type"] == "sampled":
        for stack, weight in zip(profile["samples"], profile["weights"]):
            got[";".join(frames[i] for i in stack)] += weight
        return got
    at, inside = profile["startValue"], []
    for e in profile["events"]:
        if inside:
            got[";".join(frames[i] for i in inside)] += e["at"] - at
        at = e["at"]
        if e["type"] == "O":
            inside.append(e["frame"])
        else:
            assert inside.pop() == e["frame"], "what ends is not what began last"
    assert not inside, "something never ended"
    return got


def load(browser, release, path):
    """The page with the file in it, or None: it does not know the format."""
    script = path + ".js"
    with open(path, "rb") as f, open(script, "w") as to:
        data = base64.b64encode(f.read()).decode()
        to.write(f"{HOOKS} speedscope.loadFileFromBase64({json.dumps(os.path.basename(path))}, '{data}')")
    page = browser.open(f"file://{release}/index.html#localProfilePath={os.path.abspath(script).lstrip('/')}")
    page.wait(f"!!window.said && (said.length > 0 || !!{EXPORT})", 120)
    return page, page.js("said.length == 0")


def look(browser, release, path):
    page, known = load(browser, release, path)
    lines = [] if known else ["refused"]
    if known:
        page.js(EXPORT + ".click()")
        page.wait("!!window.saved", 60)
        top = json.loads(page.js("saved.text()"))
        frames = [f["name"] for f in top["shared"]["frames"]]
        for p in top["profiles"]:
            lines += [f"{p['name']}: {w!r} {s}" for s, w in sorted(stacks(p, frames).items()) if w]
    words = ("Tried to end", "still open", "Failed", "rror:")
    lines += ["warning: " + c for c in page.console if any(w in c for w in words)]
    with open(path + ".seen", "w") as to:
        to.write("".join(line + "\n" for line in lines))


if __name__ == "__main__":
    with Browser() as b:
        for file in sys.argv[2:]:
            look(b, sys.argv[1], file)
