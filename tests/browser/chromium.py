"""A headless Chromium that obeys: the DevTools protocol over a pipe, with nothing but Python's own library.

	with Browser() as b:
		page = b.open("file:///...", width=1280, height=800)
		page.js("document.title"); page.click(10, 20); page.key("Escape"); page.shot("x.png")

Every request the page makes, and every message or error of its console, is kept in page.requests and page.console.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome")


def program():
    return next((p for p in map(shutil.which, NAMES) if p), None)


class Browser:
    def __init__(self, timeout=180):
        self.timeout, self.number, self.backlog, self.events = timeout, 0, b"", []
        self.folder = tempfile.mkdtemp(prefix="sonde-chromium-")
        to_read, self.write_fd = os.pipe()
        self.read_fd, to_write = os.pipe()

        def wire():
            os.dup2(to_read, 3)
            os.dup2(to_write, 4)

        self.log = open(os.path.join(self.folder, "log"), "w")
        # The pipe's ends must be 3 and 4 in the child; those numbers may be in use here.
        high = [os.dup(fd) for fd in (to_read, to_write)]
        self.process = subprocess.Popen(
            [program(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe",
             "--no-first-run", "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
             "--force-device-scale-factor=1", "--font-render-hinting=none", f"--user-data-dir={self.folder}/profile", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, pass_fds=(3, 4), preexec_fn=wire, close_fds=True,
            env={**os.environ, "HOME": self.folder}, start_new_session=True)
        for fd in (to_read, to_write, *high):
            os.close(fd)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.send("Browser.close")
            self.process.wait(10)
        except (OSError, subprocess.TimeoutExpired, RuntimeError):
            self.process.kill()
            self.process.wait()
        os.close(self.write_fd)
        os.close(self.read_fd)
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def receive(self, deadline):
        while b"\0" not in self.backlog:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.read_fd], [], [], left)[0]:
                raise RuntimeError("the browser does not answer")
            data = os.read(self.read_fd, 1 << 20)
            if not data:
                raise RuntimeError("the browser is gone: " + open(self.log.name).read()[-2000:])
            self.backlog += data
        message, self.backlog = self.backlog.split(b"\0", 1)
        return json.loads(message)

    def send(self, method, session=None, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self.write_fd, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + self.timeout
        while True:
            got = self.receive(deadline)
            if got.get("id") == self.number:
                if "error" in got:
                    raise RuntimeError(f"{method}: {got['error']['message']}")
                return got["result"]
            self.events.append(got)

    def open(self, url, width=1280, height=800, dark=False):
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        return Page(self, session, url, width, height, dark)


class Page:
    def __init__(self, browser, session, url, width, height, dark):
        self.browser, self.session, self.seen = browser, session, 0
        self.requests, self.console = [], []
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")
        self.size(width, height)
        self.send("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce"}])
        self.send("Page.navigate", url=url)
        self.wait("document.readyState === 'complete'")

    def send(self, method, **params):
        result = self.browser.send(method, self.session, **params)
        self.look()
        return result

    def look(self):
        """Sorts what happened meanwhile."""
        for event in self.browser.events[self.seen:]:
            if event.get("sessionId") != self.session:
                continue
            params = event.get("params", {})
            if event["method"] == "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])
            elif event["method"] == "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                self.console.append(details.get("exception", {}).get("description", details["text"]))
            elif event["method"] == "Runtime.consoleAPICalled":
                self.console.append(" ".join(str(a.get("value", a.get("description"))) for a in params["args"]))
            elif event["method"] == "Log.entryAdded":
                self.console.append(params["entry"]["text"])
        self.seen = len(self.browser.events)

    def js(self, code):
        got = self.send("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in got:
            raise RuntimeError(got["exceptionDetails"].get("exception", {}).get("description", "error in the page"))
        return got["result"].get("value")

    def wait(self, code, seconds=120):
        deadline = time.monotonic() + seconds
        while not self.js(code):
            if time.monotonic() > deadline:
                raise RuntimeError(f"not within {seconds} s: {code}")
            time.sleep(0.02)

    def size(self, width, height):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def mouse(self, kind, x, y, **more):
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y, modifiers=0):
        self.mouse("mouseMoved", x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1, modifiers=modifiers)

    def drag(self, x0, y0, x1, y1, steps=5):
        self.mouse("mouseMoved", x0, y0)
        self.mouse("mousePressed", x0, y0, button="left", clickCount=1)
        for i in range(1, steps + 1):
            self.mouse("mouseMoved", x0 + (x1 - x0) * i / steps, y0 + (y1 - y0) * i / steps, button="left", buttons=1)
        self.mouse("mouseReleased", x1, y1, button="left", clickCount=1)

    def key(self, key):
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key)

    def type(self, text):
        for char in text:
            self.key(char)

    def shot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"]))
