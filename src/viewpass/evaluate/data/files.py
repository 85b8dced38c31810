"""Finds the folder of a data set, and reads lines `label column:value column:value ...` (Reuters)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TypeAlias

import numpy as np
import scipy.sparse

from viewpass.errors import DataError
from viewpass.kernels.grid import Integers

Folder: TypeAlias = str | PathLike[str] | None

BESIDE = Path("..") / "shared" / "data"


def folder_of(folder: Folder) -> Path:
    """The given folder, or that of the variable VIEWPASS_DATA, or ../shared/data."""
    if folder is not None:
        return Path(folder)
    named = os.environ.get("VIEWPASS_DATA")
    return Path(named) if named else BESIDE


def absent(what: str, where: Path, expected: Sequence[str], home: str) -> DataError:
    """The error for an absent data set: which files were expected and who distributes them."""
    return DataError(
        f"{what}: {where} has none of its files. Expected {', or '.join(expected)}. They are distributed by "
        f"{home}; unpack them there, or name their folder as folder= or in VIEWPASS_DATA."
    )


def first_folder(root: Path, names: Sequence[str], marker: str) -> Path | None:
    """The first of the folders `root`, `root/name` ... that has the file (or folder) `marker`."""
    for place in (root, *(root / name for name in names)):
        if (place / marker).exists():
            return place
    return None


def read_svmlight(path: Path, width: int) -> tuple[list[bytes], scipy.sparse.csr_array, list[bytes]]:
    """Labels, rows (columns counted from 1 become 0, 1, ...), and the comment before each row.

    Blank lines are skipped. A file in which column 0 occurs counts from 0.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as problem:
        raise DataError(f"{path} cannot be read: {problem.strerror}.") from problem
    labels: list[bytes] = []
    comments: list[bytes] = []
    texts: list[bytes] = []
    comment = b""
    for line in lines:
        line = line.strip()
        if line.startswith(b"#"):
            comment = line
        elif line:
            label, _, text = line.partition(b" ")
            labels.append(label)
            texts.append(text)
            comments.append(comment)
            comment = b""
    counts = np.array([text.count(b":") for text in texts], dtype=np.int64)
    numbers = _numbers(b" ".join(texts).replace(b":", b" "), 2 * int(counts.sum()))
    if numbers is None:
        raise DataError(_fault(path, lines))
    columns = numbers[0::2].astype(np.int64)
    if len(columns) and columns.min() > 0:
        columns -= 1
    found = int(columns.max(initial=-1)) + 1
    if found > width:
        raise DataError(f"{path}: column {found} is outside the {width} columns of this view.")
    indptr: Integers = np.concatenate([[0], np.cumsum(counts)])
    rows = scipy.sparse.csr_array((numbers[1::2], columns, indptr), shape=(len(texts), width))
    rows.sum_duplicates()
    return labels, rows, comments


def _numbers(text: bytes, expected: int) -> np.ndarray | None:
    words = text.split()
    if len(words) != expected:
        return None
    try:
        return np.array(words, dtype=np.bytes_).astype(np.float64) if words else np.empty(0)
    except ValueError:
        return None


def _fault(path: Path, lines: Sequence[bytes]) -> str:
    for number, line in enumerate(lines, start=1):
        words = line.split()
        if not words or words[0].startswith(b"#"):
            continue
        for word in words[1:]:
            column, colon, value = word.partition(b":")
            try:
                int(column)
                float(value)
            except ValueError:
                colon = b""
            if not colon:
                text = word.decode(errors="replace")
                return f"{path}, line {number}: {text!r} is not column:value."
    return f"{path} has lines that are not `label column:value ...`."
