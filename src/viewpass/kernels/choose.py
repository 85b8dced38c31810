"""Eq. 16 on a block of distances: the nearest cluster of each row, and which rows are too close to call."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import types

from viewpass.kernels.compiling import compiled
from viewpass.kernels.dense import read_only


def _choose(distance, slack, n_seen, labels, margins, pair_rows, pair_clusters):  # type: ignore[no-untyped-def]
    """Label rows whose margin the float32 error cannot overturn; list the pairs that can win the others.

    IN distance, slack (twice the slack bounds the error of a difference), n_seen; OUT labels,
    margins (at most the true one), pair_rows, pair_clusters. Returns the number of pairs.
    """
    n_clusters = distance.shape[1]
    n_pairs = 0
    for r in range(distance.shape[0]):
        if n_seen[r] == 0:
            labels[r] = -1
            margins[r] = np.inf
            continue
        best = 0
        least = distance[r, 0]
        second = np.inf
        for k in range(1, n_clusters):
            value = distance[r, k]
            if value < least:
                second = least
                least = value
                best = k
            elif value < second:
                second = value
        doubt = 2.0 * slack[r]
        labels[r] = best
        margins[r] = second - least - doubt
        if slack[r] > 0.0 and not second - least > doubt:
            for k in range(n_clusters):
                if not distance[r, k] > least + doubt:
                    pair_rows[n_pairs] = r
                    pair_clusters[n_pairs] = k
                    n_pairs += 1
    return n_pairs


def _resolve(n_pairs, pair_rows, pair_clusters, exact, labels, margins):  # type: ignore[no-untyped-def]
    """Let the float64 distances of the listed pairs decide, the lowest cluster among equals.

    IN n_pairs, pair_rows (grouped, clusters rising), pair_clusters, exact; OUT labels, margins
    (0: clusters that were not listed may be as close as the second of the list).
    """
    p = 0
    while p < n_pairs:
        r = pair_rows[p]
        least = np.inf
        best = pair_clusters[p]
        while p < n_pairs and pair_rows[p] == r:
            if exact[p] < least:
                least = exact[p]
                best = pair_clusters[p]
            p += 1
        labels[r] = best
        margins[r] = 0.0


_F64, _I64, _I32 = types.float64, types.int64, types.int32
_FLOATS, _PLACES = read_only(_F64, 1), read_only(_I64, 1)
_SIGNATURES = {
    "choose": _I64(
        *(read_only(_F64, 2), _FLOATS, read_only(_I64, 1)),
        *(_I32[::1], _F64[::1], _I64[::1], _I64[::1]),
    ),
    "resolve": types.void(_I64, _PLACES, _PLACES, _FLOATS, _I32[::1], _F64[::1]),
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {"choose": _choose, "resolve": _resolve}


@cache
def kernel(name: str) -> Callable[..., Any]:
    """`choose` or `resolve`, compiled."""
    return compiled(_FUNCTIONS[name], _SIGNATURES[name])
