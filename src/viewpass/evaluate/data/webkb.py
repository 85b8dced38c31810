"""Loads WebKB: 1,051 university pages, course pages or not, by their words and the links to them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse
from scipy.io.matlab import MatReadError

from viewpass.errors import DataError
from viewpass.evaluate.data.files import Folder, absent, folder_of
from viewpass.sources.bundle import Bundle, load_bundle

WIDTHS = {"page": 3000, "anchor": 1840}


def load_webkb(folder: Folder = None) -> Bundle:
    """Read the two-view WebKB: a MATLAB file of its distribution, or the bundle `webkb.npz`.

    Parameters
    ----------
    folder : path, optional
        As in `load_digit`. The MATLAB file is the first `*webkb*.mat` there, in MATLAB's format 5
        (`save -v7` or older; not -v7.3). The names of its arrays do not matter. The view "page" is the
        first one with a side of 3,000 and "anchor" the first with a side of 1,840, dense or sparse,
        items as rows or columns. The labels are the first vector with one value per row and exactly two
        different values. This is tested on generated files of this
        layout only.

    Returns
    -------
    Bundle
        Views "page" and "anchor"; labels 0 (other) and 1 (course), one of which holds 78 percent.
    """
    root = folder_of(folder)
    if (root / "webkb.npz").exists():
        bundle = load_bundle(root / "webkb.npz")
        return Bundle({name: bundle.views[name] for name in WIDTHS}, bundle.labels)
    found = (
        sorted(path for path in root.glob("*.mat") if "webkb" in path.name.lower()) if root.is_dir() else []
    )
    if found:
        return _from_matlab(found[0])
    raise absent(
        "WebKB",
        root,
        ["a MATLAB file webkb*.mat (3,000 and 1,840 columns, and labels)", "webkb.npz"],
        "the manifold regularization page of V. Sindhwani as the two-view WebKB",
    )


def _from_matlab(path: Path) -> Bundle:
    try:
        contents = scipy.io.loadmat(path)
    except (OSError, ValueError, IndexError, NotImplementedError, TypeError, MatReadError) as problem:
        raise DataError(f"{path} cannot be read as a MATLAB file: {problem}") from problem
    arrays = {name: value for name, value in contents.items() if not name.startswith("__")}
    views = {}
    for view, width in WIDTHS.items():
        match = [
            value for value in arrays.values() if getattr(value, "ndim", 0) == 2 and width in value.shape
        ]
        if not match:
            raise DataError(f"{path}: no matrix has {width} columns (the view {view!r}).")
        rows = match[0] if match[0].shape[1] == width else match[0].T
        views[view] = scipy.sparse.csr_array(rows, dtype=np.float64)
    n_rows = views["page"].shape[0]
    labels = _labels(arrays, n_rows)
    if labels is None or views["anchor"].shape[0] != n_rows:
        raise DataError(f"{path}: {n_rows} pages, but not as many labels (two kinds) or anchor texts.")
    return Bundle(dict(views), labels)


def _labels(arrays: dict[str, Any], n_rows: int) -> Any:
    for value in arrays.values():
        plain = value.toarray() if scipy.sparse.issparse(value) and 1 in value.shape else value
        if getattr(plain, "size", 0) == n_rows and 1 in np.shape(plain):
            kinds, labels = np.unique(np.ravel(plain), return_inverse=True)
            if len(kinds) == 2:
                return labels.astype(np.int64)
    return None
