"""Fuzz target: CSV files with damaged, odd or missing fields, and damaged compressed ones."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.reading import damaged, drive, table

SECONDS = 10
ODD = ["", "nan", "NaN", "inf", "-inf", "1e400", "-0", "0x10", "1_000", "1,5", '"', '""', "'", "NULL", "true"]
ODD += [
    "\x00",
    "\r",
    "\n",
    "\n\n",
    "\r\n",
    ",",
    ",,,",
    "\t",
    "\ufeff",
    "é",
    "9" * 400,
    "1" + "0" * 30,
    "word",
]
ODD += ["\x1b[2J", "[red]", "=1+1", "2026-01-01", " 1 ", "1.5.2", "--", "i0", "\ud800"]


def trial(random: np.random.Generator, folder: Path) -> None:
    """Write a table with some odd fields, or some damaged bytes, and read it."""
    lines, options = _lines()
    for _ in range(random.poisson(1.0)):
        line = int(random.integers(len(lines)))
        fields = lines[line].split(",")
        fields[random.integers(len(fields))] = str(random.choice(ODD))
        lines[line] = ",".join(fields)
    for _ in range(random.poisson(0.3)):  # a line more or fewer
        line = int(random.integers(len(lines)))
        lines[line : line + 1] = [] if random.random() < 0.5 else [lines[line]] * 2
    data = "\n".join(lines).encode("utf-8", "surrogatepass")
    packed = random.random() < 0.2
    if packed:
        data = gzip.compress(data, mtime=0)
    if random.random() < 0.5:
        data = damaged(data, [(0, len(data)), (0, 100), (len(data) - 100, len(data))], random)
    path = folder / ("damaged.csv.gz" if packed else "damaged.csv")
    path.write_bytes(data)
    drive(path, options, folder)


def _lines() -> tuple[list[str], dict[str, Any]]:
    made, options = table("numbers")
    rows = zip(*(column.to_pylist() for column in made.columns), strict=True)
    texts = [",".join("" if value is None else str(value) for value in row) for row in rows]
    return [",".join(made.column_names), *texts], options
