"""Headless Chromium that shows pages in windows of a chosen size and theme, over its DevTools protocol on pipes."""

import contextlib
import json
import os
import select
import shutil
import subprocess
import time

OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
]
SECONDS = 120  # that an answer may take on a machine that does something else, too
PHONE = 600  # pixels: narrower windows are those of phones, whose pages get no scroll bars and a zoom of their own


class NoBrowser(Exception):
    """There is no Chromium, or it does not run here; the text says which."""


class Browser:
    """One process with one page. Not thread-safe."""

    def __init__(self, folder):
        program = shutil.which("chromium") or shutil.which("chromium-browser")
        if not program:
            raise NoBrowser("no chromium")
        self.number, self.session, self.rest = 0, None, b""
        commands, self.commands = os.pipe()
        self.answers, answers = os.pipe()
        # Chromium reads descriptor 3 and writes descriptor 4.
        words = [
            "bash",
            "-c",
            f'exec 3<&{commands} 4>&{answers}; exec "$@"',
            "bash",
            program,
            *OPTIONS,
            "--user-data-dir=" + os.path.join(folder, "browser"),
            "about:blank",
        ]
        log_path = os.path.join(folder, "browser.log")
        with open(log_path, "wb") as log:
            self.process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=(commands, answers)
            )
        os.close(commands)
        os.close(answers)
        try:
            target = self.call("Target.createTarget", url="about:blank")["targetId"]
            self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        except (EOFError, BrokenPipeError):
            self.close()
            with open(log_path, encoding="utf-8", errors="replace") as log:
                raise NoBrowser("chromium does not run here: " + log.read()[-200:]) from None

    def close(self):
        """The browser may still be writing to its folder afterwards: some of its processes end later."""
        with contextlib.suppress(EOFError, BrokenPipeError):
            self.session = None
            self.call("Browser.close")
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.commands)
        os.close(self.answers)

    def message(self):
        """The next message of the browser. Throws EOFError where it ended."""
        deadline = time.monotonic() + SECONDS
        while b"\0" not in self.rest:
            if not select.select([self.answers], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError(f"no answer of the browser for {SECONDS} s")
            read = os.read(self.answers, 1 << 16)
            if not read:
                raise EOFError("the browser ended")
            self.rest += read
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        request = {
            "id": self.number,
            "method": method,
            "params": parameters,
            **({"sessionId": self.session} if self.session else {}),
        }
        data = json.dumps(request).encode() + b"\0"
        while data:
            data = data[os.write(self.commands, data) :]
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def value(self, expression):
        """The value of a JavaScript expression in the page; waits for a promise."""
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(
                result["exceptionDetails"].get("exception", {}).get("description", "")
                or str(result["exceptionDetails"])
            )
        return result["result"].get("value")

    def show(self, page, width, height=900, dark=False, fragment=""):
        """Loads a page and waits until it says that it is drawn."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < PHONE
        )
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )
        self.call("Page.navigate", url="about:blank")  # otherwise, another fragment does not load the page anew
        self.call("Page.navigate", url=f"file://{page}" + (f"#{fragment}" if fragment else ""))
        deadline = time.monotonic() + SECONDS
        while self.value(
            "document.readyState !== 'complete' || location.protocol !== 'file:' || "
            "!!document.getElementById('data') && !document.body.dataset.ready && !document.body.dataset.error"
        ):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{page} was not drawn in {SECONDS} s")
            time.sleep(0.05)
        error = self.value("document.body.dataset.error")
        if error:
            raise RuntimeError(f"{page}: {error}")
