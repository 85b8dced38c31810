"""Rows as mixtures of their nearest anchors, z, and what anchors have in common, G = sum of z z'."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from viewpass.kernels.grid import UNIT, Array, Floats, Integers, Labels, neighbours
from viewpass.kernels.reference.distances import distances

Sparse = tuple[Integers, Integers, Integers]  # starts, columns, values


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
