"""Every Python block of the README and the guides runs, and prints what the page says it prints.

The blocks of a page share one namespace, in a folder of their own. A `text` block right after a
`python` block is what that block prints.
"""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

FENCE = re.compile(r"^```(\w+)\n(.*?)^```$\n?", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#([^)\s]*))?\)")


def examples(text):
    """The Python blocks of a page: line of the first statement, code, expected output or None."""
    fences = list(FENCE.finditer(text))
    for number, fence in enumerate(fences):
        if fence[1] != "python":
            continue
        after = fences[number + 1] if number + 1 < len(fences) else None
        told = after is not None and after[1] == "text" and not text[fence.end() : after.start()].strip()
        line = text.count("\n", 0, fence.start(2))
        yield line, fence[2], after[2] if told else None


def anchors(text):
    """The names GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_there_are_pages_with_examples():
    assert len(PAGES) >= 5
    assert sum(1 for page in PAGES for _ in examples(page.read_text())) >= 20


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_run_and_print_what_is_shown(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    for line, code, expected in examples(page.read_text()):
        printed = io.StringIO()
        # Blank lines in front, so that a traceback names the line of the page.
        compiled = compile("\n" * line + code, page.name, "exec")
        with contextlib.redirect_stdout(printed):
            exec(compiled, namespace)
        assert printed.getvalue() == (expected or ""), f"{page.name}, line {line}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target, anchor in LINK.findall(page.read_text()):
        if target.startswith("http"):
            continue
        there = page.parent / target
        assert there.exists(), target
        if anchor:
            assert anchor in anchors(there.read_text()), f"{target}#{anchor}"
