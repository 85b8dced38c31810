"""The peers: iMML's PIMVC and NEMO, and k-means of the views side by side.

iMML's methods keep their default settings and get float64 arrays with NaN where a view is absent: dense
views with every feature at mean 0 and spread 1, as its guides prepare them (on Digit and aloi10 better for
both methods than unit rows or the data as it is), sparse ones with rows of unit length.
MiniBatchKMeans gets rows of unit length, absent ones the mean of their view.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse

from benchmarks.data import Data, observed
from benchmarks.peers import side_by_side, unit

PAIRS_ROWS = 3100  # matrices of rows x rows, of which these methods hold several
DENSE_VALUES = 100_000_000


def refuses(name: str, n_rows: int) -> str | None:
    if name != "kmeans" and n_rows > PAIRS_ROWS:
        return f"all pairs of {n_rows:,} rows"
    return None


def pimvc(data: Data, n_clusters: int, seed: int) -> np.ndarray:
    from imml.cluster import PIMVC

    return _of_seen_rows(PIMVC(n_clusters=n_clusters, random_state=seed), data, _narrowed)


def nemo(data: Data, n_clusters: int, seed: int) -> np.ndarray:
    from imml.cluster import NEMO

    return _of_seen_rows(NEMO(n_clusters=n_clusters, random_state=seed), data, lambda view: view)


def kmeans(data: Data, n_clusters: int, seed: int) -> np.ndarray:
    """Of one dense matrix, or where that is too large of a sparse one, with zeros for absent views."""
    from sklearn.cluster import MiniBatchKMeans

    views = data.views
    small = data.n_rows * sum(view.shape[1] for view in views) <= DENSE_VALUES
    if small:
        views = [dense(view, np.float32) for view in views]
    joined = side_by_side(views)
    return np.asarray(MiniBatchKMeans(n_clusters, random_state=seed).fit_predict(joined))


PEERS = {"pimvc": pimvc, "nemo": nemo, "kmeans": kmeans}


def dense(view: Any, dtype: Any = np.float64) -> np.ndarray:
    """A view as an array, NaN where a row lacks it."""
    if not scipy.sparse.issparse(view):
        return np.asarray(view, dtype=dtype)
    array = np.asarray(view.toarray(), dtype=dtype)
    array[np.diff(view.indptr) == 0] = np.nan
    return array


def _of_seen_rows(model: Any, data: Data, turned: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """The labels of iMML's methods, which know no row without any view: -1."""
    seen = np.any([observed(view) for view in data.views], axis=0)
    labels = np.full(data.n_rows, -1)
    labels[seen] = model.fit_predict([turned(_prepared(view[seen])) for view in data.views])
    return labels


def _prepared(view: Any) -> np.ndarray:
    if scipy.sparse.issparse(view):
        return dense(unit(view))
    array = dense(view)
    spread = np.nanstd(array, axis=0)
    return (array - np.nanmean(array, axis=0)) / np.where(spread > 0, spread, 1.0)


def _narrowed(view: np.ndarray) -> np.ndarray:
    """A view wider than its rows are many, turned into the space its rows span.

    That changes no length and no angle, which is all PIMVC sees of the rows; without it the method
    would need the eigenvectors of a matrix of columns x columns.
    """
    there = ~np.isnan(view[:, 0])
    if view.shape[1] <= there.sum():
        return view
    turned = np.full((len(view), int(there.sum())), np.nan)
    turned[there] = np.linalg.qr(view[there].T, mode="r").T
    return turned
