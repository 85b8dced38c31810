"""Incomplete k-means++: seeds far apart, by distances averaged over the views two rows share."""

from __future__ import annotations

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
    present = (rows.inverse > 0).T.astype(np.float32)
    weights = (present * rows.squares).sum(axis=1)
    weighed = present * rows.squares.astype(np.float32)
    nearest = np.full((rows.n_rows, n_sets), np.inf)
    labels = np.zeros((rows.n_rows, n_sets), dtype=np.int32)
    with single_threaded_blas():
        for k in range(n_clusters):
            seeds = [_draw(nearest[:, c], weights, rng) for c in range(n_sets)]
            far = _shared_distance(units, present, weighed, rows.squares, np.array(seeds))
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


def _shared_distance(
    units: list[Matrix | None], present: Array, weighed: Array, squares: Floats, seeds: Array
) -> Floats:
    """Mean over shared views of |x_i - x_seed|^2, for each seed; inf where no view is shared.

    `squares` are |x|^2 in each view: 1, or the view's weight, by which the mean is taken; `weighed` is
    `present` times these.
    """
    total = np.zeros((len(present), len(seeds)))
    theirs = present[seeds]
    shared = (weighed @ theirs.T).astype(np.float64)
    for v, unit in enumerate(units):
        if unit is None or not theirs[:, v].any():
            continue
        chosen = unit[seeds]
        dots = unit @ (chosen.toarray() if scipy.sparse.issparse(chosen) else chosen).T
        both = present[:, v, None] * theirs[:, v]
        total += both * np.maximum(2.0 * squares[v] - 2.0 * dots, 0.0)
    return np.divide(total, shared, out=np.full_like(total, np.inf), where=shared > 0)
