"""The nearest rows to each row in one view."""

from __future__ import annotations

from typing import Any

import numpy as np

from viewpass.kernels.grid import Labels


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
