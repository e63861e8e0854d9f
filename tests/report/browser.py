"""A browser of the system, without a network and without a window."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

PATH = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needed = pytest.mark.skipif(PATH is None, reason="no Chromium on this machine: install the system package chromium")


@dataclass
class Seen:
    """What a page did while it was open."""

    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


@contextmanager
def opened(file: Path, scheme: str = "light", width: int = 1200) -> Iterator[tuple[Any, Seen]]:
    """The page, open from disk, and what it asked for and complained of."""
    from playwright.sync_api import sync_playwright

    seen = Seen()
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=PATH, args=["--no-sandbox"])
        try:
            page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
            page.on("request", lambda r: seen.requests.append(r.url))
            page.on("console", lambda m: seen.complaints.append(m.text))
            page.on("pageerror", lambda e: seen.complaints.append(str(e)))
            page.goto(file.as_uri())
            yield page, seen
        finally:
            browser.close()


def luminance(page: Any, selector: str, what: str) -> float:
    """Relative luminance (WCAG 2) of a computed colour of the first element found."""
    text = page.locator(selector).first.evaluate(f"e => getComputedStyle(e).{what}")
    parts = [float(p) / 255 for p in text[text.index("(") + 1 : text.index(")")].split(",")[:3]]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(page: Any, front: tuple[str, str], back: tuple[str, str]) -> float:
    """Contrast of two computed colours, each given as selector and property: 4.5 is legible (WCAG AA)."""
    a, b = sorted((luminance(page, *front), luminance(page, *back)), reverse=True)
    return (a + 0.05) / (b + 0.05)
