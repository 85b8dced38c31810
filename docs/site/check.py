"""Checks the pages that were built: every link leads somewhere, and nothing is asked of the network."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}


class Page(HTMLParser):
    """The ids of a page, where its links lead, and what a browser loads for it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect what a tag names."""
        named = {key: value for key, value in attrs if value}
        self.ids |= {named[key] for key in ("id", "name") if key in named}
        if tag == "a" and "href" in named:
            self.links.add(named["href"])
        if LOADED.get(tag) in named:
            self.loaded.add(named[LOADED[tag]])


def problems(site: Path) -> list[str]:
    """What is wrong with a built site, in a line each."""
    site = site.resolve()
    written = (path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts)
    built = {path: Page(path) for path in written}
    found = []
    for path, page in built.items():
        name = path.relative_to(site)
        for address in sorted(page.links | page.loaded):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                if address in page.loaded and parts.scheme != "data":
                    found.append(f"{name}: {address} is loaded from the network")
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                found.append(f"{name}: {address} leads nowhere")
            elif parts.fragment and target in built and unquote(parts.fragment) not in built[target].ids:
                found.append(f"{name}: {address} names no place on that page")
    return found
