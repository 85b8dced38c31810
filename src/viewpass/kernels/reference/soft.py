"""Rows as mixtures of their nearest anchors, z, and what anchors have in common, G = sum of z z'."""

from __future__ import annotations

from typing import Any

import numpy as np

from viewpass.kernels.grid import NEIGHBOURS, UNIT, Array, Integers
from viewpass.kernels.reference.distances import distances


def soft_assign(rows: Any, anchors: Any, n_threads: int) -> tuple[Array, Integers]:
    """Each row's nearest anchors and their weights, in 1 / UNIT; all weights are 0 without any view."""
    n_anchors = anchors.n_clusters
    n_near = max(1, min(NEIGHBOURS, n_anchors - 1))
    near = np.zeros((rows.n_rows, n_near), dtype=np.int32)
    weights = np.zeros((rows.n_rows, n_near), dtype=np.int64)
    near[:] = np.minimum(np.arange(n_near), n_anchors - 1)
    there = np.flatnonzero(rows.has_any)
    if n_anchors == 1:
        weights[there] = UNIT
        return near, weights
    distance = distances(rows, anchors)[there]
    order = np.argsort(distance, axis=1, kind="stable")[:, : n_near + 1]
    least = np.take_along_axis(distance, order, axis=1)
    gaps = least[:, n_near:] - least[:, :n_near]
    whole = np.zeros(len(there))
    for j in range(n_near):  # in this order
        whole += gaps[:, j]
    shares = np.full(gaps.shape, 1.0 / n_near)
    np.divide(gaps, whole[:, None], out=shares, where=whole[:, None] > 0)
    near[there] = order[:, :n_near]
    weights[there] = np.rint(shares * UNIT).astype(np.int64)
    return near, weights


def add_links(near: Array, weights: Integers, links: Integers, copies: Integers | None = None) -> None:
    """Add z z' of every row, as often as it counts (None: once).  INOUT links."""
    times = np.ones(len(near), dtype=np.int64) if copies is None else copies
    for a in range(near.shape[1]):
        for b in range(near.shape[1]):
            np.add.at(links, (near[:, a], near[:, b]), times * weights[:, a] * weights[:, b])
