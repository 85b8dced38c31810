"""From products of rows with centres to the own distance and the margin, compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types

from viewpass.kernels.compiling import compiled, once
from viewpass.kernels.dense import read_only


def _gain(product, inverse, square, squares, total):  # type: ignore[no-untyped-def]
    """Add |x - u_k|^2 = |x|^2 + |u_k|^2 - 2 x.u_k of rows that have the view.

    IN product (of the rows as they are), inverse (what scales them; 0: absent), square (|x|^2 of all of
    them), squares; INOUT total.
    """
    for i in range(product.shape[0]):
        if inverse[i] > 0.0:
            twice = 2.0 * inverse[i]
            for k in range(product.shape[1]):
                total[i, k] += square + squares[k] - twice * np.float64(product[i, k])


def _lift(distance, slack, inverse, squares):  # type: ignore[no-untyped-def]
    """Add |x|^2 to distances that lack it, view after view; NaN where float32 was too narrow for a row.

    IN slack (not finite: too narrow), inverse (0: absent), squares (|x|^2 in a view; 0: not looked at);
    INOUT distance.
    """
    for i in range(distance.shape[0]):
        if not np.isfinite(slack[i]):
            distance[i] = np.nan
            continue
        for v in range(len(squares)):
            if inverse[v, i] > 0.0 and squares[v] > 0.0:
                for k in range(distance.shape[1]):
                    distance[i, k] += squares[v]


def _nearest(total, labels, n_seen, distance, margin):  # type: ignore[no-untyped-def]
    """The own distance, and the least of the others less that.

    IN total, labels, n_seen; OUT distance, margin: rows without a view, and the margins of a single
    cluster, are left as they are. Returns how many rows have a distance that is not finite.
    """
    n_wild = 0
    for i in range(total.shape[0]):
        if n_seen[i] == 0:
            continue
        own = total[i, labels[i]]
        second = np.inf
        finite = True
        for k in range(total.shape[1]):
            finite &= np.isfinite(total[i, k])
            second = min(second, np.inf if k == labels[i] else total[i, k])
        n_wild += not finite
        distance[i] = max(own, 0.0)
        if total.shape[1] > 1:
            margin[i] = max(second - own, 0.0)
    return n_wild


_F32, _F64 = types.float32, types.float64
_ROWS, _LABELS, _SEEN = read_only(_F64, 1), read_only(types.int32, 1), read_only(types.int64, 1)
_SIGNATURES = {
    "gain": types.void(read_only(_F32, 2), _ROWS, _F64, _ROWS, _F64[:, ::1]),
    "lift": types.void(_F64[:, ::1], _ROWS, read_only(_F64, 2), _ROWS),
    "nearest": types.int64(read_only(_F64, 2), _LABELS, _SEEN, _F32[::1], _F32[::1]),
}


@once
def kernel(name: str) -> Callable[..., Any]:
    """`gain`, `lift` or `nearest`, compiled."""
    kernels: dict[str, Callable[..., Any]] = {"gain": _gain, "lift": _lift, "nearest": _nearest}
    return compiled(kernels[name], _SIGNATURES[name])
