"""The specification of native/links.cpp: sparse sums of links, as (starts, columns, values)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from viewpass.kernels.grid import Array, Integers

Sparse = tuple[Integers, Integers, Integers]


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
