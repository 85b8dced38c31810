"""How unusual a row is, against rows that have the same views.

    score = -log(share of the rows of its presence pattern that are farther out)

by the squared distance to the nearest centre, or anchor that has enough rows to be one, or (where centres are
few) mean of a small cluster (small_clusters.py). The shares are those of the sample, by quantiles; beyond
the last quantile they fall exponentially, at the rate of the rows there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viewpass.kernels.backend import backend
from viewpass.kernels.grid import Array, Floats, Integers, Mask
from viewpass.kernels.portable import log
from viewpass.model.calibration import LEVELS, Calibration, interpolated
from viewpass.model.model import Model
from viewpass.sums.centres import Centres
from viewpass.sums.row_counts import patterns_of
from viewpass.sums.rules import Workspace
from viewpass.views.rows import MeasuredRows

FEW = 0.25  # of the mean number of rows: an anchor with fewer may itself be made of unusual rows


def typical_centres(model: Model) -> Mask:
    """Which centres rows are measured by."""
    sizes = model.total.flat_counts.max(axis=0)
    if model.cut is None:
        return np.ones(len(sizes), dtype=bool)
    enough: Mask = sizes * len(sizes) >= FEW * sizes.sum()
    return enough if enough.any() else np.ones(len(sizes), dtype=bool)


def measuring_centres(model: Model, small: Sequence[Array]) -> Centres:
    """The typical centres and, if there are, means of small clusters, one array per view.

    Both, since the first rows need not be like the others: centres follow the stream.
    """
    typical = typical_centres(model)
    centres = model.centres if typical.all() else model.centres.take(np.flatnonzero(typical))
    return centres.joined(small) if small else centres


def nearest_distances(rows: MeasuredRows, centres: Centres, workspace: Workspace) -> Floats:
    """Squared distance of each measured row to the nearest of some centres; NaN without any view."""
    _, distance, _ = backend(rows.reference).nearest_two(
        rows.handle, centres.suited(rows), workspace.n_threads
    )
    nearest: Floats = distance.astype(np.float64)
    return nearest


def outlier_scores(rows: MeasuredRows, model: Model, learnt: Calibration, workspace: Workspace) -> Floats:
    """How unusual each measured row is; NaN for a row without views, or with views new to the model."""
    distance = nearest_distances(rows, measuring_centres(model, learnt.small), workspace)
    places = learnt.places(patterns_of(rows.inverse > 0))
    scores = np.full(rows.n_rows, np.nan)
    known = (places >= 0) & ~np.isnan(distance)
    scores[known] = _scores(distance[known], places[known], learnt.distances)
    return scores


def _scores(distance: Floats, places: Integers, typical: Floats) -> Floats:
    knots, excess = typical[:, :-1], typical[places, -1]
    heights = np.broadcast_to(-log(1.0 - np.array(LEVELS)), knots.shape)
    within = interpolated(knots, heights, places, distance)
    beyond = np.maximum(distance - knots[places, -1], 0.0)
    below = np.maximum(knots[places, 0] - distance, 0.0)  # negative scores keep their order
    scale = np.where(excess > 0, excess, 1.0)
    found: Floats = within + (beyond - below) / scale
    return found
