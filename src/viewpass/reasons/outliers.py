"""Means of small clusters of the sample, which unusual rows are found by where a model has few centres.

The mean of a large cluster is shorter than its rows and far from all of them: noise is hardly farther. Rows
that are like others are near the mean of a small cluster. Clusters of very few rows do not count: they may be
made of unusual rows themselves.

How unusual a row is, against rows that have the same views.

    score = -log(share of the rows of its presence pattern that are farther out)

by the squared distance to the nearest centre, or anchor that has enough rows to be one, or (where centres are
few) mean of a small cluster (`small_clusters`). The shares are those of the sample, by quantiles; beyond
the last quantile they fall exponentially, at the rate of the rows there.

A row is an outlier if that distance is more than FARTHER times as far above the median of its presence
pattern as the lower quartile is below it. Even many outliers change these two little.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viewpass.kernels.backend import backend
from viewpass.kernels.grid import Array, Floats, Integers, Mask
from viewpass.kernels.portable import log
from viewpass.model.calibration import LEVELS, Calibration, interpolated
from viewpass.model.model import Model
from viewpass.reasons.imputation import spread_out
from viewpass.sums.centres import Centres
from viewpass.sums.chunk_step import ChunkStep, State
from viewpass.sums.row_counts import patterns_of
from viewpass.sums.rules import Rules, Workspace
from viewpass.views.rows import MeasuredRows
from viewpass.views.seeds import own_generator

MOST_SAMPLED = 1000  # that small clusters are made of, at most
FEWEST_PER_CENTRE = 2  # or centres do as well
FEW = 0.25  # of the mean number of rows: a centre with fewer may itself be made of unusual rows
FARTHER = 3.45  # of a normal distribution, 1 % is farther
SMALL_RULES = Rules(alpha=0.1, max_iter=2, tol=1e-3, fill="mean")


def small_clusters(rows: MeasuredRows, model: Model, workspace: Workspace) -> tuple[Array, ...]:
    """Their means in each view, of measured rows that count, in the scale of the model; () where centres do.

    They are rounded to float32, in which they are stored.
    """
    n_centres = model.centres.n_clusters
    most = min(rows.n_rows // 10, MOST_SAMPLED // 10, 2**18 // rows.n_columns)  # clusters
    if model.links is not None or rows.sparse:
        return ()
    if any(u is not None and not width for u, width in zip(model.centres.values, rows.widths, strict=True)):
        return ()  # these rows have nothing of a view
    if most < FEWEST_PER_CENTRE * n_centres:
        return ()
    rows = rows.sampled(spread_out(np.arange(rows.n_rows), MOST_SAMPLED))
    step, each = ChunkStep(SMALL_RULES, workspace), np.arange(most, dtype=np.int32)
    # Drawn at random: seeds far from each other would be unusual rows.
    drawn = np.sort(own_generator().choice(rows.n_rows, most, replace=False))
    first = step.from_labels(rows.sampled(drawn), each, most)
    found = step.from_centres(rows, State.without_rows(rows, first.centres))
    typical: Mask = np.ones(most, dtype=bool)
    for v in (v for v in range(rows.n_views) if rows.present(v).any()):
        sizes = np.bincount(found.labels[rows.present(v)], minlength=most)
        typical &= (sizes * most >= FEW * sizes.sum()) & (sizes > 2)  # a mean must not be a row
    if typical.sum() < FEWEST_PER_CENTRE * n_centres:
        return ()
    means = found.total.centres(SMALL_RULES.alpha)
    return tuple(u[typical].astype(np.float32) for u in means)


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
    _, distance, _ = backend().nearest_two(rows.handle, centres.suited(rows), workspace.n_threads)
    nearest: Floats = distance.astype(np.float64)
    return nearest


def outlier_scores(rows: MeasuredRows, model: Model, learnt: Calibration, workspace: Workspace) -> Floats:
    """How unusual each measured row is; NaN for a row without views, or with views new to the model."""
    distance, places, known = _compared(rows, model, learnt, workspace)
    scores = np.full(rows.n_rows, np.nan)
    scores[known] = _scores(distance[known], places[known], learnt.distances)
    return scores


def outliers(rows: MeasuredRows, model: Model, learnt: Calibration, workspace: Workspace) -> Mask:
    """Which measured rows are beyond the outlier limit of their presence pattern."""
    distance, places, known = _compared(rows, model, learnt, workspace)
    lower, median = (learnt.distances[:, LEVELS.index(level)] for level in (0.25, 0.5))
    limits = median + FARTHER * (median - lower)
    found: Mask = known & (distance > limits[places])
    return found


def _compared(
    rows: MeasuredRows, model: Model, learnt: Calibration, workspace: Workspace
) -> tuple[Floats, Integers, Mask]:
    """Distances of rows, the entries of the calibration that they go by, and which rows have both."""
    distance = nearest_distances(rows, measuring_centres(model, learnt.small), workspace)
    places = learnt.places(patterns_of(rows.inverse > 0))
    return distance, places, (places >= 0) & ~np.isnan(distance)


def _scores(distance: Floats, places: Integers, typical: Floats) -> Floats:
    knots, excess = typical[:, :-1], typical[places, -1]
    heights = np.broadcast_to(-log(1.0 - np.array(LEVELS)), knots.shape)
    within = interpolated(knots, heights, places, distance)
    beyond = np.maximum(distance - knots[places, -1], 0.0)
    below = np.maximum(knots[places, 0] - distance, 0.0)  # negative scores keep their order
    scale = np.where(excess > 0, excess, 1.0)
    found: Floats = within + (beyond - below) / scale
    return found
