"""The real data sets, from the folder VIEWPASS_DATA or, without it, ../shared/data."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from benchmarks.data import Data
from viewpass import load_bundle
from viewpass.evaluate import make_mask
from viewpass.sources.bundle import Bundle

BESIDE = Path(__file__).parents[2] / "shared" / "data"
DIGIT_VIEWS = ("fou", "fac", "kar", "pix", "zer")  # the paper's five


class NoDataError(Exception):
    """There is no such data set here."""


def digit(n_rows: int, *, missing: float, seed: int) -> Data:
    data = shuffled("mfeat", n_rows, seed=seed, names=DIGIT_VIEWS)
    there = make_mask("paper", data.n_rows, len(data.views), missing, seed)
    for number, view in enumerate(data.views):
        view[~there[:, number]] = np.nan
    return data


def one_view(n_rows: int) -> Data:
    """scikit-learn's digits: 8 x 8 pixels."""
    from sklearn.datasets import load_digits

    pixels, classes = load_digits(return_X_y=True)
    return Data([pixels[:n_rows]], classes[:n_rows].astype(np.int32))


def shuffled(name: str, n_rows: int, *, seed: int, names: tuple[str, ...] | None = None) -> Data:
    """The first rows of the shuffled set: its rows may be sorted by class."""
    bundle = bundle_of(name)
    assert bundle.labels is not None
    order = np.random.default_rng(seed).permutation(bundle.n_rows)[:n_rows]
    views = [bundle.views[view][order] for view in names or bundle.views]
    return Data(views, bundle.labels[order].astype(np.int32))


def bundle_of(name: str) -> Bundle:
    """The whole set as its file has it."""
    folder = Path(os.environ.get("VIEWPASS_DATA", BESIDE))
    if not (folder / f"{name}.npz").is_file():
        raise NoDataError(f"{name}.npz is absent: set VIEWPASS_DATA to the folder of the real data sets")
    return load_bundle(folder / f"{name}.npz")
