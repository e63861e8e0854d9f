"""A browser of the system, without a network and without a window, spoken to by its own protocol.

The DevTools protocol (https://chromedevtools.github.io/devtools-protocol/) over a WebSocket is all that it takes: a
driver would weigh more than a hundred times as much.
"""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

PATH = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needed = pytest.mark.skipif(PATH is None, reason="no Chromium on this machine: install the system package chromium")
PATIENCE = 60.0
"""Seconds for one answer, of a busy machine."""
_KEYS = {"Tab": (9, ""), "Enter": (13, "\r")}
"""Virtual key codes, and what the key types."""


@dataclass
class Seen:
    """What a page did while it was open."""

    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def take(self, method: str, told: dict[str, Any]) -> None:
        """One event of the protocol."""
        if method == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append(" ".join(str(a.get("value", a.get("description"))) for a in told["args"]))
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(told["exceptionDetails"]["text"])
        elif method == "Log.entryAdded":
            self.complaints.append(told["entry"]["text"])


class Page:
    """One page. Selectors are of CSS and mean the first element that they find."""

    def __init__(self, socket: Any) -> None:
        self._socket, self._number, self._session, self.seen = socket, 0, "", Seen()
        self._loaded = False
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **how: Any) -> dict[str, Any]:
        """A command and its answer; events that come before it are noted."""
        self._number += 1
        session = {"sessionId": self._session} if self._session else {}
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": how, **session}))
        while True:
            told = json.loads(self._socket.recv())
            if told.get("id") == self._number:
                assert "error" not in told, (method, told["error"])
                answer: dict[str, Any] = told["result"]
                return answer
            self._loaded = self._loaded or told.get("method") == "Page.loadEventFired"
            self.seen.take(told.get("method", ""), told.get("params", {}))

    def open(self, file: Path) -> None:
        self._loaded = False
        self.ask("Page.navigate", url=file.as_uri())
        self.until(lambda: self._loaded)

    def evaluate(self, expression: str) -> Any:
        """The value of an expression of JavaScript; a promise is waited for."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def of(self, selector: str, expression: str) -> Any:
        """The value of an expression about an element `e`."""
        return self.evaluate(f"(e => {expression})(document.querySelector({json.dumps(selector)}))")

    def until(self, holds: Any) -> None:
        """Waits for a function of Python, or an expression of JavaScript, to be true."""
        end = time.monotonic() + PATIENCE
        while not (self.evaluate(holds) if isinstance(holds, str) else holds()):
            assert time.monotonic() < end, f"the page never came to {holds}"
            self.settle()

    def settle(self) -> None:
        """Lets the page do what it has begun, and hears of it."""
        self.evaluate("new Promise(r => setTimeout(r, 50))")

    def text(self, selector: str) -> str:
        found: str = self.of(selector, "e.innerText")
        return found

    def count(self, selector: str) -> int:
        found: int = self.evaluate(f"document.querySelectorAll({json.dumps(selector)}).length")
        return found

    def box(self, selector: str) -> dict[str, float]:
        """Where an element is seen: x, y, width, height."""
        found: dict[str, float] = self.of(selector, "e.getBoundingClientRect().toJSON()")
        return found

    def visible(self, selector: str) -> bool:
        seen = self.of(selector, "e.checkVisibility({visibilityProperty: true, contentVisibilityAuto: true})")
        box = self.box(selector)
        return bool(seen) and box["width"] > 0 and box["height"] > 0

    def click(self, selector: str) -> None:
        """A press of the mouse in the middle of an element, which lies uncovered there."""
        self.of(selector, "e.scrollIntoView({block: 'center', behavior: 'instant'})")
        box = self.of(selector, "e.getClientRects()[0].toJSON()")
        at = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
        over = f"e.contains(document.elementFromPoint({at['x']}, {at['y']}))"
        assert self.of(selector, over), f"{selector} is covered"
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **at)

    def press(self, key: str) -> None:
        code, typed = _KEYS[key]
        how: dict[str, Any] = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.ask("Input.dispatchKeyEvent", type="keyDown" if typed else "rawKeyDown", text=typed, **how)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **how)

    def media(self, scheme: str, kind: str = "") -> None:
        """Light or dark, and with `print` paper."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.ask("Emulation.setEmulatedMedia", media=kind, features=features)

    def pdf(self) -> bytes:
        return base64.b64decode(self.ask("Page.printToPDF", preferCSSPageSize=True)["data"])

    def screenshot(self, place: Path, selector: str = "") -> None:
        """What is seen, or one element of the page."""
        area = {}
        if selector:
            box = self.of(selector, "(b => ({x: b.x + scrollX, y: b.y + scrollY, width: b.width, height: b.height}))"
                                    "(e.getBoundingClientRect())")  # fmt: skip
            area = {"clip": {**box, "scale": 1}, "captureBeyondViewport": True}
        place.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot", format="png", **area)["data"]))


@contextmanager
def opened(file: Path, scheme: str = "light", width: int = 1200, height: int = 900) -> Iterator[tuple[Page, Seen]]:
    """The page, open from disk, and what it asked for and complained of."""
    import websocket

    assert PATH is not None
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        arguments = [
            PATH, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
            "--disable-background-networking", "--disable-component-update", "--disable-extensions",
            "--remote-debugging-port=0", f"--user-data-dir={folder}", "about:blank",
        ]  # fmt: skip
        browser = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            socket = websocket.create_connection(_address(Path(folder), browser), PATIENCE, suppress_origin=True)
            try:
                page = Page(socket)
                page.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                         mobile=False)  # fmt: skip
                page.media(scheme)
                page.open(file)
                yield page, page.seen
                page.settle()
            finally:
                socket.close()
        finally:
            browser.terminate()
            try:
                browser.wait(10)
            except subprocess.TimeoutExpired:
                browser.kill()
                browser.wait()


def _address(folder: Path, browser: subprocess.Popen[bytes]) -> str:
    """Where the browser listens, which it writes into its folder once it does."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and browser.poll() is None:
        lines = (folder / "DevToolsActivePort").read_text().split() if (folder / "DevToolsActivePort").exists() else []
        if len(lines) == 2:
            return f"ws://127.0.0.1:{lines[0]}{lines[1]}"
        time.sleep(0.02)
    raise AssertionError(f"Chromium does not start: {browser.poll()}")


def luminance(page: Page, selector: str, what: str) -> float:
    """Relative luminance (WCAG 2) of a computed colour of the first element found."""
    text = page.of(selector, f"getComputedStyle(e).{what}")
    parts = [float(p) / 255 for p in text[text.index("(") + 1 : text.index(")")].split(",")[:3]]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(page: Page, front: tuple[str, str], back: tuple[str, str]) -> float:
    """Contrast of two computed colours, each given as selector and property: 4.5 is legible (WCAG AA)."""
    a, b = sorted((luminance(page, *front), luminance(page, *back)), reverse=True)
    return (a + 0.05) / (b + 0.05)
