"""How far the movement of centres can have brought another centre in front, compiled."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import types

from viewpass.kernels.compiling import compiled
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


_F64, _I64 = types.float64, types.int64
_SIGNATURE = _I64(
    *(read_only(_F64, 2), read_only(_F64, 2), read_only(_F64, 2), read_only(types.int32, 1)),
    *(_F64[::1], _I64[::1]),
)


@cache
def _kernel() -> Callable[..., Any]:
    return compiled(_loosen, _SIGNATURE)


def loosen(rises: Floats, falls: Floats, inverse: Floats, labels: Labels, margins: Floats) -> Integers:
    """Lower margins, in place; give the rows that must be looked at again."""
    doubtful = np.empty(len(labels), dtype=np.int64)
    return doubtful[: _kernel()(rises, falls, inverse, labels, margins, doubtful)]
