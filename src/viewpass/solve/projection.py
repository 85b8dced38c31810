"""Learns a linear map of each dense view that keeps what separates the clusters of the first rows.

Anchors are made from the rows and cut into classes: the clusters asked for, or more where the map has more
columns than these can tell apart. In each view, with the means u_a of the unit rows of the anchors, their
shares p_a of the rows and the overall mean m,

    total    sum_a p_a (u_a - m)(u_a - m)'       its leading eigenvectors, at most MOST_COLUMNS, are kept
    between  the same of the classes
    within   total - between + NOISE s I,  s: the variance of rows around their anchors, per column

and the map has the directions that maximise between / within (Fisher's linear discriminants, shrunken by
the noise). Nothing but sums of the anchors is used, and every sum has a fixed order: the map has the same
bits on every machine.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from viewpass.graph import spectral as graph
from viewpass.graph.cut import merges
from viewpass.graph.soft_assignment import links_of, soft_assignment
from viewpass.kernels.backend import backend
from viewpass.kernels.grid import Floats, Integers
from viewpass.kernels.portable import ordered_sum
from viewpass.solve.centres import initialise_anchors
from viewpass.solve.few_columns import components, leading, turned
from viewpass.solve.plan import ROWS_PER_CENTRE, SMALL_PER_CLUSTER, Plan
from viewpass.sums.rules import Alpha, Workspace
from viewpass.sums.statistics import Statistics
from viewpass.views.projection import LEAST_COLUMNS, MOST_COLUMNS, Projection, ViewMap
from viewpass.views.rows import MeasuredRows

NOISE = 4.0  # times the noise of the components counts as scatter within clusters
ANCHORS = 400  # that a map is learnt from, or SMALL_PER_CLUSTER for each class
FILLED = 10  # one value in so many is not zero


def n_mapped(n_clusters: int) -> int:
    """Columns that views are mapped to where their number is chosen."""
    return min(max(2 * n_clusters, LEAST_COLUMNS), MOST_COLUMNS)


def learnt_projection(
    rows: MeasuredRows, plan: Plan, workspace: Workspace, rng: np.random.Generator
) -> Projection | None:
    """Learn the map to `plan.projection` columns from measured rows; None if there is nothing to map."""
    assert isinstance(plan.projection, int)
    n_columns, n_rows = plan.projection, int(rows.counted.sum())
    wide = [_width(rows, v) > n_columns for v in range(rows.n_views)]
    n_classes = max(plan.n_clusters or 1, n_columns + 1)
    n_anchors = min(max(ANCHORS, SMALL_PER_CLUSTER * n_classes), n_rows // ROWS_PER_CENTRE)
    if not any(wide) or n_anchors <= n_columns:
        return None
    outcome, alpha = initialise_anchors(rows, n_anchors, plan, workspace, rng)
    links = None
    if plan.consensus == "graph":
        links = links_of(soft_assignment(rows, outcome.centres, workspace), n_anchors, rows.chunk.copies)
    squares = np.where(wide, rows.squares, 0.0)
    return projection_of(outcome.total, links, alpha, squares, n_columns, plan.n_clusters or 1)


def _width(rows: MeasuredRows, v: int) -> int:
    """Columns of a view that can be mapped; 0 for a sparse view, unless it is as full as a dense one."""
    view = rows.chunk.views[v]
    if view is None or not (isinstance(view, np.ndarray) or is_filled(rows, v)):
        return 0
    return int(view.shape[1])


def is_filled(rows: MeasuredRows, v: int) -> bool:
    """Whether a tenth of the values of a view, or more, are not zero, however it is stored.

    So is a view that no row has.
    """
    view = rows.chunk.views[v]
    if view is None:
        return True
    there: Any = view[np.flatnonzero(rows.present(v))]
    n_values = np.count_nonzero(there.data if issparse(there) else there)
    return bool(FILLED * n_values >= there.shape[0] * there.shape[1])


def projection_of(
    total: Statistics, links: Integers | None, alpha: Alpha, squares: Floats, n_columns: int, n_clusters: int
) -> Projection | None:
    """The map to so many columns, given anchors: their statistics, and their links where these form classes.

    `squares`: the squared lengths of rows in each view (`MeasuredRows.squares`); 0: it is not to be mapped.
    """
    n_classes = min(max(n_clusters, n_columns + 1), total.n_clusters)
    if links is None:
        classes: Integers = merges(total, alpha).labels(n_classes)
    else:
        classes = graph.cut(links, n_classes).labels
    views = tuple(
        _view_map(total.sums(v) / np.sqrt(square), total.counts[v], classes, n_columns) if square else None
        for v, square in enumerate(squares)
    )
    return Projection(views) if any(views) else None


def _view_map(sums: Floats, counts: Integers, classes: Integers, n_columns: int) -> ViewMap | None:
    """The map of one view, given sums of unit rows and classes of the anchors; None if nothing separates."""
    there = counts > 0
    if there.sum() <= LEAST_COLUMNS:
        return None
    sums, classes, number = sums[there], classes[there], float(counts.sum())
    shares = counts[there] / number
    means = sums / counts[there][:, None]
    mean = ordered_sum(sums.T) / number
    noise = max(1.0 - float(ordered_sum(shares * ordered_sum(means * means))), 0.0) / len(mean)
    roots = np.sqrt(shares)[:, None]
    apart = np.ascontiguousarray((means - mean) * roots)
    values, axes = components(apart, MOST_COLUMNS)
    if len(values) < LEAST_COLUMNS:
        return None
    places = backend().products(apart, axes)
    between = _class_means(places, roots[:, 0], classes)
    scatter = np.diag(values + NOISE * noise) - backend().products(turned(between), turned(between))
    spreads, turns = leading(scatter, len(scatter))
    whitened = backend().products(between, turns) / np.sqrt(spreads)
    found, best = leading(backend().products(turned(whitened), turned(whitened)), n_columns)
    if len(found) < LEAST_COLUMNS:
        return None
    directions = backend().products(backend().products(best / np.sqrt(spreads), turned(turns)), turned(axes))
    size = np.sqrt(ordered_sum(ordered_sum(directions * directions)))
    return ViewMap(directions / size, mean)


def _class_means(places: Floats, roots: Floats, classes: Integers) -> Floats:
    """Per class the mean of its anchors, times the root of the class's share."""
    sums = np.zeros((int(classes.max()) + 1, places.shape[1]))
    shares = np.zeros(len(sums))
    for place, root, k in zip(places, roots, classes, strict=True):
        sums[k] += root * place
        shares[k] += root * root
    return sums[shares > 0] / np.sqrt(shares[shares > 0])[:, None]
