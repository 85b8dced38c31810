"""The peers of the quality benchmarks: iMML's PIMVC and NEMO, and k-means of the concatenated views.

iMML's methods keep their default settings and get float64 arrays with NaN where a view is absent, their
rows of unit length as in iMML's guide to clustering. Both are also run with the features of dense views at
mean 0 and spread 1 instead, as columns of their own. Which of the two is better differs from set to
set, and choosing between them would take the classes.
MiniBatchKMeans gets rows of unit length, absent ones the mean of their view.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse

from benchmarks.data import Data, observed
from benchmarks.peers import concatenated, unit
from benchmarks.quality.sets import RealSet

PAIRS_ROWS = 3100  # matrices of rows x rows, of which these methods hold several
DENSE_VALUES = 100_000_000
STANDARD = "-standard"


def refuses(name: str, real: RealSet) -> str | None:
    if name != "kmeans" and real.n_rows > PAIRS_ROWS:
        return f"all pairs of {real.n_rows:,} rows"
    if name.endswith(STANDARD) and real.sparse:
        return "no dense view"
    return None


def pimvc(data: Data, n_clusters: int, seed: int, *, standard: bool = False) -> np.ndarray:
    from imml.cluster import PIMVC  # type: ignore[import-not-found,unused-ignore]

    model = PIMVC(n_clusters=n_clusters, random_state=seed)
    return _of_seen_rows(model, data, lambda view: _narrowed(_prepared(view, standard)))


def nemo(data: Data, n_clusters: int, seed: int, *, standard: bool = False) -> np.ndarray:
    from imml.cluster import NEMO  # type: ignore[import-not-found,unused-ignore]

    model = NEMO(n_clusters=n_clusters, random_state=seed)
    return _of_seen_rows(model, data, lambda view: _prepared(view, standard))


def kmeans(data: Data, n_clusters: int, seed: int) -> np.ndarray:
    """Of one dense matrix, or where that is too large of a sparse one, with zeros for absent views."""
    from sklearn.cluster import MiniBatchKMeans

    views = data.views
    small = data.n_rows * sum(view.shape[1] for view in views) <= DENSE_VALUES
    if small:
        views = [dense(view, np.float32) for view in views]
    joined = concatenated(views)
    return np.asarray(MiniBatchKMeans(n_clusters, random_state=seed).fit_predict(joined))


PEERS: dict[str, Callable[[Data, int, int], np.ndarray]] = {
    "pimvc": pimvc,
    "nemo": nemo,
    "pimvc" + STANDARD: partial(pimvc, standard=True),
    "nemo" + STANDARD: partial(nemo, standard=True),
    "kmeans": kmeans,
}


def dense(view: Any, dtype: Any = np.float64) -> np.ndarray:
    """A view as an array, NaN where a row lacks it."""
    if not scipy.sparse.issparse(view):
        return np.asarray(view, dtype=dtype)
    array = np.asarray(view.toarray(), dtype=dtype)
    array[np.diff(view.indptr) == 0] = np.nan
    return array


def _of_seen_rows(model: Any, data: Data, prepare: Callable[[Any], np.ndarray]) -> np.ndarray:
    """Labels of iMML's methods, which do not take rows without any view: those get -1."""
    seen = np.any([observed(view) for view in data.views], axis=0)
    labels = np.full(data.n_rows, -1)
    labels[seen] = model.fit_predict([prepare(view[seen]) for view in data.views])
    return labels


def _prepared(view: Any, standard: bool) -> np.ndarray:
    if scipy.sparse.issparse(view) or not standard:
        return dense(unit(view))
    array = dense(view)
    spread = np.nanstd(array, axis=0)
    return np.asarray((array - np.nanmean(array, axis=0)) / np.where(spread > 0, spread, 1.0))


def _narrowed(view: np.ndarray) -> np.ndarray:
    """A view with more columns than rows, rotated into the space its rows span.

    That changes no length and no angle, which is all PIMVC sees of the rows; without it the method
    would need the eigenvectors of a matrix of columns x columns.
    """
    there = ~np.isnan(view[:, 0])
    if view.shape[1] <= there.sum():
        return view
    turned = np.full((len(view), int(there.sum())), np.nan)
    turned[there] = np.asarray(np.linalg.qr(view[there].T, mode="r")).T
    return turned
