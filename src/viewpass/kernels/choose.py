"""Eq. 16 on a block of distances: the nearest cluster of each row, and which rows are too close to call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types

from viewpass.kernels.compiling import compiled, once
from viewpass.kernels.dense import read_only


def _choose(distance, at, rows, slack, n_seen, labels, margins, pair_rows, pair_clusters):  # type: ignore[no-untyped-def]
    """Label rows whose margin the float32 error cannot overturn; list the pairs that can win the others.

    IN distance, at (which row of it belongs to each of `rows`), rows, slack (twice it bounds the
    error of a difference), n_seen; OUT labels, margins (at most the true one): those of `rows`,
    pair_rows, pair_clusters. Returns the number of pairs.
    """
    n_clusters = distance.shape[1]
    n_pairs = 0
    for r in range(rows.shape[0]):
        i = rows[r]
        if n_seen[i] == 0:
            labels[i] = -1
            margins[i] = np.inf
            continue
        d = at[r]
        best = 0
        least = distance[d, 0]
        second = np.inf
        for k in range(1, n_clusters):
            value = distance[d, k]
            # Without branches: which is nearest is anyone's guess to the processor.
            second = min(second, max(least, value))
            best = k if value < least else best
            least = min(least, value)
        doubt = 2.0 * slack[i]
        labels[i] = best
        margins[i] = second - least - doubt
        if slack[i] > 0.0 and not second - least > doubt:
            for k in range(n_clusters):
                if not distance[d, k] > least + doubt:
                    pair_rows[n_pairs] = i
                    pair_clusters[n_pairs] = k
                    n_pairs += 1
    return n_pairs


def _resolve(pair_rows, pair_clusters, exact, labels, margins):  # type: ignore[no-untyped-def]
    """Let the float64 distances of the listed pairs decide, the lowest cluster among equals.

    IN pair_rows (grouped, clusters rising), pair_clusters, exact; OUT labels, margins (0: clusters
    that were not listed may be as close as the second of the list).
    """
    n_pairs = pair_rows.shape[0]
    p = 0
    while p < n_pairs:
        i = pair_rows[p]
        least = np.inf
        best = pair_clusters[p]
        while p < n_pairs and pair_rows[p] == i:
            if exact[p] < least:
                least = exact[p]
                best = pair_clusters[p]
            p += 1
        labels[i] = best
        margins[i] = 0.0


def _place(part, rows, clusters, distance):  # type: ignore[no-untyped-def]
    """Put distances to some clusters where they belong.  IN part, rows, clusters; OUT distance."""
    for r in range(rows.shape[0]):
        for c in range(clusters.shape[0]):
            distance[rows[r], clusters[c]] = part[r, c]


_F64, _I64, _I32 = types.float64, types.int64, types.int32
_FLOATS, _PLACES = read_only(_F64, 1), read_only(_I64, 1)
_SIGNATURES = {
    "choose": _I64(
        *(read_only(_F64, 2), _PLACES, _PLACES, _FLOATS, _PLACES),
        *(_I32[::1], _F64[::1], _I64[::1], _I64[::1]),
    ),
    "resolve": types.void(_PLACES, _PLACES, _FLOATS, _I32[::1], _F64[::1]),
    "place": types.void(read_only(_F64, 2), _PLACES, _PLACES, _F64[:, ::1]),
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {"choose": _choose, "resolve": _resolve, "place": _place}


@once
def kernel(name: str) -> Callable[..., Any]:
    """`choose`, `resolve` or `place`, compiled."""
    return compiled(_FUNCTIONS[name], _SIGNATURES[name])
