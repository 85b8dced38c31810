"""How far the movement of centres can have brought another centre in front, compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types

from viewpass.kernels.compiling import compiled, once
from viewpass.kernels.dense import read_only
from viewpass.kernels.grid import Floats, Integers, Labels


def _loosen(rises, falls, inverse, labels, margins, doubtful):  # type: ignore[no-untyped-def]
    """Lower each row's margin by what the move may cost it; list the rows it may have overturned.

    IN rises, falls (views x K): the most a distance can have risen, or fallen (negative), inverse
    (views x n), labels; INOUT margins; OUT doubtful. Returns the number of doubtful rows.
    """
    n_views, n_clusters = rises.shape
    n_doubtful = 0
    for i in range(labels.shape[0]):
        own = labels[i]
        if own < 0:
            continue
        rise = 0.0
        for v in range(n_views):
            if inverse[v, i] > 0.0:
                rise += rises[v, own]
        lowest = np.inf
        for k in range(n_clusters):
            if k != own:
                fall = 0.0
                for v in range(n_views):
                    if inverse[v, i] > 0.0:
                        fall += falls[v, k]
                lowest = min(lowest, fall)
        margins[i] += lowest - rise
        if not margins[i] > 0.0:
            doubtful[n_doubtful] = i
            n_doubtful += 1
    return n_doubtful


def _loosen_each(rises, falls, inverse, labels, slack, margins, distance, doubtful):  # type: ignore[no-untyped-def]
    """The same with the distances at hand: every cluster is held to what it moved itself.

    INOUT distance: the own one becomes the most it can be now, the others the least.
    """
    n_views, n_clusters = rises.shape
    n_patterns = 2**n_views
    rise = np.zeros((n_patterns, n_clusters))
    fall = np.zeros((n_patterns, n_clusters))
    for pattern in range(1, n_patterns):
        for v in range(n_views):
            if pattern >> v & 1:
                for k in range(n_clusters):
                    rise[pattern, k] += rises[v, k]
                    fall[pattern, k] += falls[v, k]
    n_doubtful = 0
    for i in range(labels.shape[0]):
        own = labels[i]
        if own < 0:
            continue
        pattern = 0
        for v in range(n_views):
            pattern |= int(inverse[v, i] > 0.0) << v
        mine = distance[i, own] + rise[pattern, own]
        lowest = np.inf
        for k in range(n_clusters):
            value = distance[i, k] + fall[pattern, k]
            distance[i, k] = value
            lowest = min(lowest, value if k != own else np.inf)
        distance[i, own] = mine
        margins[i] = lowest - mine - 2.0 * slack[i]
        if not margins[i] > 0.0:
            doubtful[n_doubtful] = i
            n_doubtful += 1
    return n_doubtful


MOST_VIEWS = 8  # whose patterns of presence are tabulated

_F64, _I64 = types.float64, types.int64
_MATRIX, _OWN = read_only(_F64, 2), read_only(types.int32, 1)
_SIGNATURE = _I64(_MATRIX, _MATRIX, _MATRIX, _OWN, _F64[::1], _I64[::1])
_SIGNATURE_EACH = _I64(
    *(_MATRIX, _MATRIX, _MATRIX, _OWN, read_only(_F64, 1)),
    *(_F64[::1], _F64[:, ::1], _I64[::1]),
)


@once
def _kernel(name: str) -> Callable[..., Any]:
    if name == "each":
        return compiled(_loosen_each, _SIGNATURE_EACH)
    return compiled(_loosen, _SIGNATURE)


def loosen(
    rises: Floats,
    falls: Floats,
    inverse: Floats,
    labels: Labels,
    slack: Floats,
    margins: Floats,
    distance: Floats | None,
) -> Integers:
    """Lower margins (and distances, where known), in place; give the rows to be looked at again."""
    doubtful = np.empty(len(labels), dtype=np.int64)
    if distance is not None and len(rises) <= MOST_VIEWS:
        each = _kernel("each")
        return doubtful[: each(rises, falls, inverse, labels, slack, margins, distance, doubtful)]
    return doubtful[: _kernel("all")(rises, falls, inverse, labels, margins, doubtful)]
