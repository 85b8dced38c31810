"""Sentences of pages and docstrings are short enough to be read once (the house style: 40 words at most)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST_WORDS = 40
FENCE = re.compile(r"```.*?```", re.DOTALL)
ITEM = re.compile(r"\s*([-*] |\d+\. |#|>>> |\||\S.*\S {2,}\S)")
PARAMETER = re.compile(r"\s*\w+ : .*|[A-Z]\w+|-+")  # lines of numpydoc
SENTENCE = re.compile(r"(?<=[.!?])[)\"]?\s+(?=[A-Z`*\[(\d])")


def paragraphs(text: str) -> Iterator[str]:
    """Paragraphs, items of lists and entries of tables."""
    own: list[str] = []
    for line in [*FENCE.sub("\n\n", text).splitlines(), ""]:
        if not line.strip() or ITEM.match(line):
            yield " ".join(own)
            own = []
        if line.lstrip().startswith("|"):
            yield from re.split(r"\||; ", line)
        elif PARAMETER.fullmatch(line):
            own = []
        elif line.strip():
            own.append(line.strip())


def long_sentences(text: str) -> list[str]:
    return [
        sentence
        for paragraph in paragraphs(text)
        for sentence in SENTENCE.split(paragraph)
        if sum(bool(re.search(r"\w", word)) for word in sentence.split()) > MOST_WORDS
    ]


def docstrings(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


def test_no_sentence_of_a_page_is_long():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    found = [f"{page.relative_to(ROOT)}: {s}" for page in pages for s in long_sentences(page.read_text())]
    assert not found, "\n".join(found)


def test_no_sentence_of_a_docstring_is_long():
    paths = [*(ROOT / "src").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")]
    found = [
        f"{path.relative_to(ROOT)}: {s}"
        for path in paths
        for text in docstrings(path)
        for s in long_sentences(text)
    ]
    assert not found, "\n".join(found)


def test_a_long_sentence_is_found():
    words = " ".join(["Words"] + 40 * ["word"])
    assert long_sentences(f"Short. {words}. Short.") == [f"{words}."]
    assert long_sentences(f"- {words[:50]}\n- {words[50:]}\n") == []
