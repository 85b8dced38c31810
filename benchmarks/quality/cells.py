"""Finished cells (set, missing, seed, method), one line of JSON each.

A line is written when a cell is finished, so that a stopped run continues where it was; of two lines
for one cell the later one counts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

Cell = dict[str, Any]


class Key(NamedTuple):
    """Identifies a cell."""

    set: str
    missing: str
    seed: int
    method: str

    @classmethod
    def of(cls, cell: Cell) -> Key:
        return cls(cell["set"], cell["missing"], cell["seed"], cell["method"])


class Cells:
    """The cells of a file, which may not be there yet."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.known: dict[Key, Cell] = {}
        if path.exists():
            lines = path.read_text().splitlines()
            self.known = {Key.of(cell): cell for cell in map(_cell, lines) if cell is not None}

    def add(self, cell: Cell) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b") as file:
            if file.tell() and not self._ends_with_a_line(file):
                file.write(b"\n")
            file.write(json.dumps(cell).encode() + b"\n")
        self.known[Key.of(cell)] = cell

    def forget(self, keys: Iterable[Key]) -> None:
        """Remove cells from the file, to run them again."""
        gone = set(keys) & set(self.known)
        if not gone:
            return
        for key in gone:
            del self.known[key]
        beside = self.path.with_suffix(".new")
        beside.write_text("".join(json.dumps(cell) + "\n" for cell in self.known.values()))
        os.replace(beside, self.path)

    @staticmethod
    def _ends_with_a_line(file: Any) -> bool:
        file.seek(-1, os.SEEK_END)
        return bool(file.read(1) == b"\n")


def _cell(line: str) -> Cell | None:
    """The cell of a line; None for one that was cut when a run was stopped."""
    try:
        cell = json.loads(line)
    except ValueError:
        return None
    return cell if isinstance(cell, dict) and set(Key._fields) <= set(cell) else None
