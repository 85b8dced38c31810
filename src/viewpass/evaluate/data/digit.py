"""Loads Digit, the UCI Multiple Features: 2,000 handwritten numerals in six views."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from viewpass.errors import DataError, SettingError
from viewpass.evaluate.data.files import Folder, absent, first_folder, folder_of
from viewpass.kernels.grid import Array
from viewpass.sources.bundle import Bundle, load_bundle

WIDTHS = {"fou": 76, "fac": 216, "kar": 64, "pix": 240, "zer": 47, "mor": 6}
PAPER = ("fou", "fac", "kar", "pix", "zer")
N_CLASSES = 10


def load_digit(folder: Folder = None, *, views: Sequence[str] = PAPER) -> Bundle:
    """Read Digit: UCI's text files `mfeat-fou` ..., or the bundle `mfeat.npz`.

    Parameters
    ----------
    folder : path, optional
        The folder that contains them, or a folder `mfeat` or `uci-mfeat` with them. By default that of
        the environment variable VIEWPASS_DATA, then `../shared/data`.
    views : sequence of str
        Some of fou, fac, kar, pix, zer and mor; by default the five of the paper.

    Returns
    -------
    Bundle
        Its labels are the numerals, 0 to 9. Rows are sorted by class: shuffle them.
    """
    for name in views:
        if name not in WIDTHS:
            raise SettingError(f"views: {name!r} is not one of {', '.join(map(repr, WIDTHS))}.")
    root = folder_of(folder)
    place = first_folder(root, ("uci-mfeat", "mfeat"), f"mfeat-{views[0]}")
    if place is not None:
        return _from_text(place, views)
    if (root / "mfeat.npz").exists():
        bundle = load_bundle(root / "mfeat.npz")
        return Bundle({name: bundle.views[name] for name in views}, bundle.labels)
    raise absent(
        "Digit",
        root,
        [", ".join(f"mfeat-{name}" for name in views), "mfeat.npz"],
        "the UCI Machine Learning Repository as Multiple Features",
    )


def _from_text(place: Path, views: Sequence[str]) -> Bundle:
    read = {name: _read(place / f"mfeat-{name}", WIDTHS[name]) for name in views}
    n_rows = len(next(iter(read.values())))
    for name, values in read.items():
        if len(values) != n_rows:
            raise DataError(f"{place / f'mfeat-{name}'}: {len(values)} rows where {n_rows} were expected.")
    # UCI lists the classes in order, with equally many rows each.
    if n_rows % N_CLASSES:
        raise DataError(f"{place}: {n_rows} rows are not {N_CLASSES} classes of equal size.")
    return Bundle(dict(read), np.repeat(np.arange(N_CLASSES), n_rows // N_CLASSES))


def _read(path: Path, width: int) -> Array:
    try:
        values = np.loadtxt(path, dtype=np.float64, ndmin=2)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file.") from None
    except ValueError as problem:
        raise DataError(f"{path} is not a table of numbers: {problem}") from problem
    if values.shape[1] != width:
        raise DataError(f"{path}: {values.shape[1]} columns where {width} were expected.")
    return values
