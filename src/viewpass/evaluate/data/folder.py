"""Finds the folder of a data set, and the error for one that is absent."""

from __future__ import annotations

import os
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TypeAlias

from viewpass.errors import DataError

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
