"""Distances of rows from centres over the views a row has (Eq. 15), labels and margins; nearest rows.

Rows as mixtures of their nearest anchors, z, and what anchors have in common, G = sum of z z'.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from viewpass.kernels.grid import STEP, UNIT, Array, Floats, Integers, Labels, Mask, neighbours
from viewpass.kernels.reference.centres import Centres
from viewpass.kernels.reference.rows import Rows

Sparse = tuple[Integers, Integers, Integers]  # starts, columns, values


def _of_view(steps: Integers, present: Mask, centres: Floats, squares: Floats) -> Floats:
    """One view's part of Eq. 15 without the |x_i|^2 all clusters share: |u_k|^2 - 2 x_i.u_k."""
    dots = np.zeros((len(steps), len(centres)))
    for j in np.flatnonzero(steps.any(axis=0)):
        dots += (steps[:, j, None] * STEP) * centres[None, :, j]
    parts: Floats = np.where(present[:, None], squares[None, :] - 2.0 * dots, 0.0)
    return parts


def distances(rows: Rows, centres: Centres) -> Floats:
    """Eq. 15 for every row and cluster, without |x|^2."""
    total = np.zeros((rows.n_rows, centres.n_clusters))
    for v, u in enumerate(centres.all_values):
        if u is not None and rows.views[v] is not None:
            total += _of_view(rows.steps(v), rows.inverse[v] > 0, u, centres.squares(v))
    return total


def assigned(rows: Rows, centres: Centres) -> tuple[Labels, Floats]:
    """Eq. 16: the lowest index of the least distance (-1 without any view), and by how much."""
    distance = distances(rows, centres)
    labels = distance.argmin(axis=1).astype(np.int32)
    margins = np.full(rows.n_rows, np.inf)
    if distance.shape[1] > 1:
        two = np.partition(distance, 1, axis=1)
        margins = two[:, 1] - two[:, 0]
    labels[~rows.has_any] = -1
    margins[~rows.has_any] = np.inf
    return labels, margins


def all_distances(rows: Rows, centres: Centres, relative: bool, n_threads: int) -> Floats:
    """Squared distances over the observed views; NaN for a row without any. `relative`: without |x|^2."""
    if relative:
        return distances(rows, centres)
    out = np.zeros((rows.n_rows, centres.n_clusters))
    for v, u in enumerate(centres.all_values):
        if u is not None and rows.views[v] is not None:
            present = rows.inverse[v] > 0
            out += _of_view(rows.steps(v), present, u, centres.squares(v))
            out += rows.squares(v)[:, None]
    np.maximum(out, 0.0, out=out)
    out[~rows.has_any] = np.nan
    return out


def nearest_two(rows: Rows, centres: Centres, n_threads: int) -> tuple[Labels, Array, Array]:
    """The nearest cluster (-1 without any view), its squared distance, and how much farther the next one is.

    NaN where there is none.
    """
    labels, _ = assigned(rows, centres)
    total, everyone = distances(rows, centres), np.arange(rows.n_rows)
    square = np.zeros(rows.n_rows)
    for v, u in enumerate(centres.all_values):
        if u is not None:
            square += rows.squares(v)
    own = total[everyone, labels]
    total[everyone, labels] = np.inf
    distance = np.maximum(own + square, 0.0).astype(np.float32)
    margin = np.maximum(total.min(axis=1) - own, 0.0).astype(np.float32)
    nothing: Mask = ~rows.has_any | (labels < 0)
    distance[nothing] = np.nan
    margin[nothing | (centres.n_clusters == 1)] = np.nan
    return labels, distance, margin


def near_rows(rows: Any, v: int, n_near: int, n_threads: int) -> Labels:
    """The nearest other rows of each row that has view v, the lowest among equals; 0 without the view."""
    there = np.flatnonzero(rows.inverse[v] > 0)
    x = rows.values(v)[there] * rows.inverse[v][there][:, None]
    products = np.zeros((len(there), len(there)))
    for column in x.T:  # in this order
        products += column[:, None] * column
    distances = np.diagonal(products) - 2.0 * products
    np.fill_diagonal(distances, np.inf)
    near = np.zeros((rows.n_rows, n_near), dtype=np.int32)
    near[there] = there[np.argsort(distances, axis=1, kind="stable")[:, :n_near]]
    return near


def soft_assign(rows: Any, anchors: Any, n_near: int, n_threads: int) -> tuple[Array, Integers]:
    """Each row's nearest anchors and their weights, in 1 / UNIT; all weights are 0 without any view."""
    n_anchors = anchors.n_clusters
    near = np.zeros((rows.n_rows, n_near), dtype=np.int32)
    weights = np.zeros((rows.n_rows, n_near), dtype=np.int64)
    near[:] = np.minimum(np.arange(n_near), n_anchors - 1)
    there = np.flatnonzero(rows.has_any)
    if n_anchors == 1:
        weights[there] = UNIT
        return near, weights
    near[there], weights[there], _ = _mixed(distances(rows, anchors)[there], n_near)
    return near, weights


def _mixed(distance: Floats, n_near: int) -> tuple[Array, Integers, Floats]:
    """The nearest anchors by these distances, the lowest of equals first, their weights, and the least."""
    order = np.argsort(distance, axis=1, kind="stable")[:, : n_near + 1]
    least = np.take_along_axis(distance, order, axis=1)
    gaps = least[:, n_near:] - least[:, :n_near]
    whole = np.zeros(len(distance))
    for j in range(n_near):  # in this order
        whole += gaps[:, j]
    shares = np.full(gaps.shape, 1.0 / n_near)
    np.divide(gaps, whole[:, None], out=shares, where=whole[:, None] > 0)
    return order[:, :n_near], np.rint(shares * UNIT).astype(np.int64), least[:, 0]


def _searched_groups(rows: Any, group_centres: Any, group_of: Labels, fewest: int) -> Array:
    """Groups searched per row: the nearest, until they hold `fewest` anchors; none without any view."""
    sizes = np.bincount(group_of, minlength=group_centres.n_clusters)
    order = np.argsort(distances(rows, group_centres), axis=1, kind="stable")
    before = np.cumsum(sizes[order], axis=1) - sizes[order]  # anchors of the groups that are nearer
    searched = np.zeros(order.shape, dtype=np.uint8)
    np.put_along_axis(searched, order, (before < fewest).astype(np.uint8), axis=1)
    searched[~rows.has_any] = 0
    return searched


def search_anchors(
    rows: Any, anchors: Any, group_centres: Any, group_of: Labels, fewest: int, n_threads: int
) -> tuple[Array, Integers, Array]:
    """The mixture of every row of the anchors searched, and the squared distance of the nearest."""
    n_near = neighbours(anchors.n_clusters)
    near = np.zeros((rows.n_rows, n_near), dtype=np.int32)
    near[:] = np.arange(n_near)
    weights = np.zeros((rows.n_rows, n_near), dtype=np.int64)
    distance = np.full(rows.n_rows, np.nan, dtype=np.float32)
    there = rows.has_any
    searched = _searched_groups(rows, group_centres, group_of, fewest)[:, group_of] != 0
    total = np.where(searched, distances(rows, anchors), np.inf)[there]
    near[there], weights[there], least = _mixed(total, n_near)
    square = np.zeros(rows.n_rows)
    for v, u in enumerate(anchors.all_values):
        if u is not None:
            square += rows.squares(v)
    distance[there] = np.maximum(least + square[there], 0.0).astype(np.float32)
    return near, weights, distance


def links_of(near: Array, weights: Integers, copies: Integers | None, n_anchors: int) -> Sparse:
    """G = sum of z z' over the rows, each as often as it counts."""
    n_near = near.shape[1]
    first, second = np.repeat(near, n_near, axis=1), np.tile(near, (1, n_near))
    values = np.repeat(weights, n_near, axis=1) * np.tile(weights, (1, n_near))
    if copies is not None:
        values *= copies[:, None]
    return _parts((values.ravel(), (first.ravel(), second.ravel())), n_anchors)


def _parts(given: Any, n_anchors: int) -> Sparse:
    links = csr_array(given, shape=(n_anchors, n_anchors), dtype=np.int64)
    links.sum_duplicates()
    links.eliminate_zeros()
    starts, columns, values = (part.astype(np.int64) for part in (links.indptr, links.indices, links.data))
    return starts, columns, values
