"""From sums to centres and what the objective needs of them (Eq. 13, 17), compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types

from viewpass.kernels.compiling import compiled, once
from viewpass.kernels.dense import read_only
from viewpass.kernels.grid import LANES, STEP, Array, Floats, Integers, Mask
from viewpass.kernels.lanes import clear, fold, new_lanes
from viewpass.kernels.reference import lane_sum

NORM_VALUES = 2**17  # of centres that are squared at a time


def _refresh(steps, counts, alpha, changed, before, centres, squares, traces, shifts):  # type: ignore[no-untyped-def]
    """u_k = R_k / (T_k + alpha) of clusters that changed and have rows, with what follows from it.

    IN steps, counts, changed, before (the centres until now); OUT centres, squares |u_k|^2, traces
    u_k.R_k, shifts |u_k - before_k|^2;
    clusters not refreshed are left as they are.
    """
    width = steps.shape[1]
    whole = width // LANES * LANES
    square, shift = new_lanes(), new_lanes()
    for k in range(steps.shape[0]):
        if not changed[k] or counts[k] == 0:
            continue
        weight = np.float64(counts[k]) + alpha
        clear(square)
        clear(shift)
        factor = STEP / weight
        for j in range(width):
            centres[k, j] = np.float64(steps[k, j]) * factor
        for j in range(0, whole, LANES):
            for lane in range(LANES):
                value = centres[k, j + lane]
                move = value - before[k, j + lane]
                square[lane] += value * value
                shift[lane] += move * move
        for j in range(whole, width):
            value = centres[k, j]
            move = value - before[k, j]
            square[j - whole] += value * value
            shift[j - whole] += move * move
        squares[k] = fold(square)
        traces[k] = weight * squares[k]  # u.R = u.u (T + alpha)
        shifts[k] = fold(shift)


def _dots(centres, others, clusters, out):  # type: ignore[no-untyped-def]
    """u_k.y of some clusters, whose y follow one another.  IN centres, others, clusters; OUT out."""
    width = centres.shape[1]
    whole = width // LANES * LANES
    lanes = new_lanes()
    for c in range(clusters.shape[0]):
        k = clusters[c]
        clear(lanes)
        for j in range(0, whole, LANES):
            for lane in range(LANES):
                lanes[lane] += centres[k, j + lane] * others[c, j + lane]
        for j in range(whole, width):
            lanes[j - whole] += centres[k, j] * others[c, j]
        out[c] = fold(lanes)


def _in_eights(values, out):  # type: ignore[no-untyped-def]
    """IN values (K x d); OUT out (K / 8 x d x 8, float32, what is over zero)."""
    n_clusters = values.shape[0]
    for e in range(out.shape[0]):
        for j in range(values.shape[1]):
            for place in range(8):
                k = 8 * e + place
                out[e, j, place] = np.float32(values[k, j]) if k < n_clusters else np.float32(0.0)


_F64, _I64 = types.float64, types.int64
_SUMS, _MATRIX = read_only(_I64, 2), read_only(_F64, 2)
_SIGNATURES = {
    "refresh": types.void(
        *(_SUMS, read_only(_I64, 1), _F64, read_only(types.boolean, 1), _MATRIX),
        *(_F64[:, ::1], _F64[::1], _F64[::1], _F64[::1]),
    ),
    "in_eights": types.void(_MATRIX, types.float32[:, :, ::1]),
    "dots": types.void(_MATRIX, _MATRIX, read_only(_I64, 1), _F64[::1]),
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "refresh": _refresh,
    "in_eights": _in_eights,
    "dots": _dots,
}


@once
def _kernel(name: str) -> Callable[..., Any]:
    return compiled(_FUNCTIONS[name], _SIGNATURES[name])


def refresh(
    steps: Integers,
    counts: Integers,
    alpha: float,
    changed: Mask,
    before: Floats,
    centres: Floats,
    squares: Floats,
    traces: Floats,
    shifts: Floats,
) -> None:
    """Eq. 13 for clusters that changed and have rows, into `centres`; and their norms, traces, moves."""
    _kernel("refresh")(steps, counts, alpha, changed, before, centres, squares, traces, shifts)


def squared_norms(centres: Floats) -> Floats:
    """|u_k|^2 of every centre."""
    out, size = np.empty(len(centres)), max(1, NORM_VALUES // max(centres.shape[1], 1))
    for first in range(0, len(centres), size):
        some = centres[first : first + size]
        out[first : first + size] = lane_sum(some * some)
    return out


def in_eights(values: Floats, out: Array) -> None:
    """Lay centres (K x d) out as float32, eight clusters side by side in each column."""
    _kernel("in_eights")(values, out)


def centre_terms(centres: Floats, steps: Integers, clusters: Integers) -> Floats:
    """u_k.R_k of some clusters."""
    out = np.empty(len(clusters))
    sums = np.multiply(steps[clusters], STEP, dtype=np.float64)
    _kernel("dots")(np.ascontiguousarray(centres), sums, clusters, out)
    return out
