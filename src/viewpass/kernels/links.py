"""Rows as mixtures of their nearest anchors, and what these have in common, compiled.

Weights are whole numbers of 1 / UNIT: their products can be summed in any order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types

from viewpass.kernels.compiling import compiled, once
from viewpass.kernels.dense import read_only

UNIT = 2**15


def _mix(distance, n_seen, near, weights):  # type: ignore[no-untyped-def]
    """The r nearest anchors of each row, and w_j = (d_{r+1} - d_j) / (r d_{r+1} - the sum of r distances).

    IN distance, n_seen; OUT near, weights: (rows, r). Ties go to the lowest index; a row without a
    view gets weights of 0.
    """
    n_near = near.shape[1]
    best = np.empty(n_near + 1)
    who = np.empty(n_near + 1, dtype=np.int32)
    for i in range(distance.shape[0]):
        n_held = 0
        for k in range(distance.shape[1]):
            value = distance[i, k]
            if n_held > n_near and not value < best[n_near]:
                continue
            at = min(n_held, n_near)
            while at > 0 and value < best[at - 1]:
                best[at], who[at] = best[at - 1], who[at - 1]
                at -= 1
            best[at], who[at] = value, k
            n_held = min(n_held + 1, n_near + 1)
        whole = 0.0
        for j in range(n_near):
            whole += best[n_near] - best[j]
        for j in range(n_near):
            near[i, j] = who[j]
            share = (best[n_near] - best[j]) / whole if whole > 0.0 else 1.0 / n_near
            weights[i, j] = np.int64(np.rint(share * UNIT)) if n_seen[i] > 0 else 0


def _link(near, weights, links):  # type: ignore[no-untyped-def]
    """Add z z' of every row.  IN near, weights; INOUT links."""
    for i in range(near.shape[0]):
        for a in range(near.shape[1]):
            for b in range(near.shape[1]):
                links[near[i, a], near[i, b]] += weights[i, a] * weights[i, b]


_NEAR, _WEIGHTS = types.int32[:, ::1], types.int64[:, ::1]
_SIGNATURES = {
    "mix": types.void(read_only(types.float64, 2), read_only(types.int64, 1), _NEAR, _WEIGHTS),
    "link": types.void(read_only(types.int32, 2), read_only(types.int64, 2), _WEIGHTS),
}


@once
def kernel(name: str) -> Callable[..., Any]:
    """`mix` or `link`, compiled."""
    return compiled(_mix if name == "mix" else _link, _SIGNATURES[name])
