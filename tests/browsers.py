"""Pages in headless Chromium: what they said, what they asked for, what axe-core finds."""

from __future__ import annotations

import shutil
from contextlib import contextmanager

import pytest

# What Chromium needs where there is no screen and no network, and where the user may be root.
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
WIDE, PHONE = {"width": 1280, "height": 860}, {"width": 390, "height": 844}
AXE = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}}


@contextmanager
def chromium():
    """Headless Chromium, of the system."""
    found = [shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome")]
    if not any(found):
        pytest.skip("Chromium is not installed (Debian: apt install chromium)")
    playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright, which drives Chromium")
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=next(filter(None, found)), args=FLAGS)
        yield running
        running.close()


class Opened:
    """A page, what errors it had and what it asked for."""

    def __init__(self, browser, path, size=WIDE, scheme="light", query=""):
        self.context = browser.new_context(viewport=size, color_scheme=scheme)
        self.page = self.context.new_page()
        self.said, self.asked = [], []
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri() + query)

    def _hear(self, message):
        if message.type == "error":
            self.said.append(message.text)

    def quiet(self):
        """No error, and nothing was asked of the network."""
        assert self.said == []
        assert [url for url in self.asked if not url.startswith(("file:", "data:"))] == []

    def fits(self):
        """Nothing is wider than the screen."""
        assert self.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0

    def accessible(self):
        """No serious fault by axe-core."""
        axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core is not installed")
        found = axe.Axe().run(self.page, options=AXE).response["violations"]
        serious = [each for each in found if each["impact"] in ("serious", "critical")]
        assert [(each["id"], each["nodes"][0]["html"][:200]) for each in serious] == []

    def close(self):
        self.context.close()
