"""Incomplete k-means++: seeds far apart, by distances averaged over the views two rows share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse

from viewpass.kernels.grid import Array, Floats, Labels, Matrix
from viewpass.kernels.threads import single_threaded_blas
from viewpass.views.rows import MeasuredRows


def seeded_labels(rows: MeasuredRows, n_clusters: int, n_sets: int, rng: np.random.Generator) -> list[Labels]:
    """Draw `n_sets` sets of seeds side by side; give each row the nearest seed of each set.

    A row is drawn in proportion to its distance from the seeds so far times the number of its
    views (or their weight). Rows that share no view with any seed count as averagely far from them.
    """
    units = [rows.unit(v) for v in range(rows.n_views)]
    stacked = all(unit is None or scipy.sparse.issparse(unit) for unit in units)
    products: _Products = (_Stacked if stacked else _Products)(units, rows.n_rows)
    present = (rows.inverse > 0).T.astype(np.float32)
    weights = (present * rows.squares).sum(axis=1)
    weighed = present * rows.squares.astype(np.float32)
    nearest = np.full((rows.n_rows, n_sets), np.inf)
    labels = np.zeros((rows.n_rows, n_sets), dtype=np.int32)
    with single_threaded_blas():
        for k in range(n_clusters):
            seeds = [_draw(nearest[:, c], weights, rng) for c in range(n_sets)]
            far = _shared_distance(products(seeds, present), present, weighed, rows.squares, seeds)
            closer = far < nearest
            np.copyto(nearest, far, where=closer)
            np.copyto(labels, np.int32(k), where=closer)
    return [np.ascontiguousarray(labels[:, c]) for c in range(n_sets)]


def _draw(nearest: Floats, weights: Floats, rng: np.random.Generator) -> int:
    known = np.isfinite(nearest)
    if not known.all():
        nearest = np.where(known, nearest, nearest[known].mean() if known.any() else 1.0)
    odds = nearest * weights
    reach = np.cumsum(odds)
    point = rng.random()
    if not reach[-1] > 0:  # every row coincides with a seed: any row that has a view will do
        reach = np.cumsum(weights)
    return int(min(np.searchsorted(reach, point * reach[-1], side="right"), len(reach) - 1))


class _Products:
    """x_i.x_seed in each view."""

    def __init__(self, units: Sequence[Matrix | None], n_rows: int) -> None:
        self._units = units
        self._n_rows = n_rows

    def __call__(self, seeds: Sequence[int], present: Array) -> Array:
        """Views x rows x seeds; 0 where either lacks the view."""
        dots = np.zeros((len(self._units), self._n_rows, len(seeds)), dtype=np.float32)
        for v, unit in enumerate(self._units):
            if unit is not None and present[seeds, v].any():
                chosen = unit[seeds]
                dots[v] = unit @ (chosen.toarray() if scipy.sparse.issparse(chosen) else chosen).T
        return dots


class _Stacked(_Products):
    """The same of sparse views: one below another in one matrix, each in columns of its own.

    To call for a product and to lay out a seed takes longer than the product: once for all views, then.
    """

    def __init__(self, units: Sequence[Matrix | None], n_rows: int) -> None:
        super().__init__(units, n_rows)
        there = [scipy.sparse.csr_array((n_rows, 0), dtype=np.float32) if x is None else x for x in units]
        widths = np.cumsum([0, *(x.shape[1] for x in there)])
        starts = np.cumsum([0, *(x.nnz for x in there)])
        self._data = np.concatenate([x.data for x in there])
        self._columns = np.concatenate([x.indices + first for x, first in zip(there, widths, strict=False)])
        ends = [x.indptr[1:] + first for x, first in zip(there, starts, strict=False)]
        self._starts = np.concatenate([[0], *ends])
        parts = (self._data, self._columns, self._starts)
        self._whole = scipy.sparse.csr_array(parts, shape=(len(units) * n_rows, widths[-1]))

    def __call__(self, seeds: Sequence[int], present: Array) -> Array:
        laid = np.zeros((self._whole.shape[1], len(seeds)), dtype=np.float32)
        for place, seed in enumerate(seeds):
            for row in range(seed, self._whole.shape[0], self._n_rows):
                mine = slice(self._starts[row], self._starts[row + 1])
                laid[self._columns[mine], place] = self._data[mine]
        dots: Array = (self._whole @ laid).reshape(-1, self._n_rows, len(seeds))
        return dots


def _shared_distance(
    dots: Array, present: Array, weighed: Array, squares: Floats, seeds: Sequence[int]
) -> Floats:
    """Mean over shared views of |x_i - x_seed|^2, for each seed; inf where no view is shared.

    `squares` are |x|^2 in each view: 1, or the view's weight, by which the mean is taken; `weighed` is
    `present` times these.
    """
    theirs = present[seeds]
    both = present.T[:, :, None] * theirs.T[:, None, :]
    total: Floats = (both * np.maximum(2.0 * squares[:, None, None] - 2.0 * dots, 0.0)).sum(axis=0)
    shared = (weighed @ theirs.T).astype(np.float64)
    return np.divide(total, shared, out=np.full_like(total, np.inf), where=shared > 0)
