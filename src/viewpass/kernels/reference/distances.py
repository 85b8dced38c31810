"""Distances of rows from centres over the views a row has (Eq. 15), labels and margins; nearest rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from viewpass.kernels.grid import STEP, Array, Floats, Integers, Labels, Mask
from viewpass.kernels.reference.centres import Centres
from viewpass.kernels.reference.rows import Rows


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
