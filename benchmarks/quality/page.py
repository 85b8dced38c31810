"""Replaces the tables between two marks in a page of the documentation."""

from __future__ import annotations

from pathlib import Path

BEGIN, END = "<!-- tables -->\n", "<!-- end of tables -->"


def fill_page(page: Path, tables: str) -> None:
    """Put the tables into a page."""
    page.write_text(filled(page.read_text(), tables))


def filled(page: str, tables: str) -> str:
    before, began, rest = page.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not (began and ended):
        raise ValueError(f"the page lacks the marks {BEGIN.strip()} and {END}")
    return f"{before}{BEGIN}\n{tables.strip()}\n\n{END}{after}"
