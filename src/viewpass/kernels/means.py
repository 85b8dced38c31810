"""From sums to centres and what the objective needs of them (Eq. 13, 17), compiled."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import types

from viewpass.kernels.compiling import compiled
from viewpass.kernels.dense import read_only
from viewpass.kernels.grid import LANES, STEP, Floats, Integers
from viewpass.kernels.lanes import fold, new_lanes


def _divide(sums, counts, alpha, centres):  # type: ignore[no-untyped-def]
    """u_k = R_k / (T_k + alpha) of clusters that have rows.  IN sums, counts; OUT centres, others kept."""
    for k in range(sums.shape[0]):
        if counts[k] > 0:
            weight = np.float64(counts[k]) + alpha
            for j in range(sums.shape[1]):
                centres[k, j] = np.float64(sums[k, j]) * STEP / weight


def _squares(centres, out):  # type: ignore[no-untyped-def]
    """|u_k|^2.  IN centres; OUT out."""
    width = centres.shape[1]
    whole = width // LANES * LANES
    lanes = new_lanes()
    for k in range(centres.shape[0]):
        lanes[:] = 0.0
        for j in range(0, whole, LANES):
            for lane in range(LANES):
                lanes[lane] += centres[k, j + lane] * centres[k, j + lane]
        for j in range(whole, width):
            lanes[j - whole] += centres[k, j] * centres[k, j]
        out[k] = fold(lanes)


def _traces(centres, sums, out):  # type: ignore[no-untyped-def]
    """u_k.R_k.  IN centres, sums; OUT out."""
    width = centres.shape[1]
    whole = width // LANES * LANES
    lanes = new_lanes()
    for k in range(centres.shape[0]):
        lanes[:] = 0.0
        for j in range(0, whole, LANES):
            for lane in range(LANES):
                lanes[lane] += centres[k, j + lane] * (np.float64(sums[k, j + lane]) * STEP)
        for j in range(whole, width):
            lanes[j - whole] += centres[k, j] * (np.float64(sums[k, j]) * STEP)
        out[k] = fold(lanes)


_F64, _I64 = types.float64, types.int64
_SUMS, _MATRIX = read_only(_I64, 2), read_only(_F64, 2)
_SIGNATURES = {
    "divide": types.void(_SUMS, read_only(_I64, 1), _F64, _F64[:, ::1]),
    "squares": types.void(_MATRIX, _F64[::1]),
    "traces": types.void(_MATRIX, _SUMS, _F64[::1]),
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {"divide": _divide, "squares": _squares, "traces": _traces}


@cache
def _kernel(name: str) -> Callable[..., Any]:
    return compiled(_FUNCTIONS[name], _SIGNATURES[name])


def divide(sums: Integers, counts: Integers, alpha: float, centres: Floats) -> None:
    """Eq. 13 into `centres`, for clusters that have rows; the others keep what they hold."""
    _kernel("divide")(sums, counts, alpha, centres)


def squared_norms(centres: Floats) -> Floats:
    """|u_k|^2 of every centre."""
    out = np.empty(len(centres))
    _kernel("squares")(centres, out)
    return out


def centre_terms(centres: Floats, sums: Integers) -> Floats:
    """u_k.R_k of every cluster."""
    out = np.empty(len(centres))
    _kernel("traces")(centres, sums, out)
    return out
