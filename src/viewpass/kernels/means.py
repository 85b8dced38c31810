"""From sums to centres and what the objective needs of them (Eq. 13, 17), compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types

from viewpass.kernels.chunk.desk import address_of
from viewpass.kernels.chunk.step import run
from viewpass.kernels.compiling import compiled, once
from viewpass.kernels.dense import read_only
from viewpass.kernels.grid import LANES, STEP, Array, Floats, Integers, Mask
from viewpass.kernels.lanes import clear, fold, new_lanes

TOGETHER = 64  # columns that are laid out at a time: they stay in cache


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


def _in_eights(values, out):  # type: ignore[no-untyped-def]
    """IN values (K x d); OUT out (K / 8 x d x 8, float32, what is over zero)."""
    n_clusters = values.shape[0]
    for e in range(out.shape[0]):
        for j in range(values.shape[1]):
            for place in range(8):
                k = 8 * e + place
                out[e, j, place] = np.float32(values[k, j]) if k < n_clusters else np.float32(0.0)


def _in_columns(steps, counts, alpha, columns, squares):  # type: ignore[no-untyped-def]
    """u_k = R_k / (T_k + alpha) of clusters that have rows, column by column, and |u_k|^2.

    IN steps (K x d), counts; OUT columns (d x K), squares; clusters without rows are left as they are.
    """
    width = steps.shape[1]
    lanes = new_lanes()
    for k in range(steps.shape[0]):
        if counts[k] > 0:
            factor = STEP / (np.float64(counts[k]) + alpha)
            clear(lanes)
            for first in range(0, width, LANES):
                for j in range(first, min(first + LANES, width)):
                    value = np.float64(steps[k, j]) * factor
                    lanes[j - first] += value * value
            squares[k] = fold(lanes)
    for first in range(0, width, TOGETHER):
        for k in range(steps.shape[0]):
            if counts[k] > 0:
                factor = STEP / (np.float64(counts[k]) + alpha)
                for j in range(first, min(first + TOGETHER, width)):
                    columns[j, k] = np.float64(steps[k, j]) * factor


_F64, _I64 = types.float64, types.int64
_SUMS, _MATRIX = read_only(_I64, 2), read_only(_F64, 2)
_SIGNATURES = {
    "refresh": types.void(
        *(_SUMS, read_only(_I64, 1), _F64, read_only(types.boolean, 1), _MATRIX),
        *(_F64[:, ::1], _F64[::1], _F64[::1], _F64[::1]),
    ),
    "in_eights": types.void(_MATRIX, types.float32[:, :, ::1]),
    "in_columns": types.void(_SUMS, read_only(_I64, 1), _F64, _F64[:, ::1], _F64[::1]),
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "refresh": _refresh,
    "in_eights": _in_eights,
    "in_columns": _in_columns,
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
    values, both = np.ascontiguousarray(centres), np.empty((len(centres), 2))
    width, here, out = values.shape[1], address_of(values), address_of(both)
    for k in range(len(values)):
        centre = here + 8 * k * width
        run("lengths", 0, centre, centre, width, out + 16 * k)
    return both[:, 0].copy()


def in_eights(values: Floats, out: Array) -> None:
    """Lay centres (K x d) out as float32, eight clusters side by side in each column."""
    _kernel("in_eights")(values, out)


def in_columns(steps: Integers, counts: Integers, alpha: float, columns: Floats, squares: Floats) -> None:
    """Eq. 13 for clusters that have rows, laid out column by column (d x K); and their norms."""
    _kernel("in_columns")(steps, counts, alpha, columns, squares)


def centre_terms(centres: Floats, steps: Integers, clusters: Integers) -> Floats:
    """u_k.R_k of some clusters."""
    values, sums, out = np.ascontiguousarray(centres), np.ascontiguousarray(steps), np.empty(len(clusters))
    width, here, there, target = values.shape[1], address_of(values), address_of(sums), address_of(out)
    for place, k in enumerate(clusters.tolist()):
        at = 8 * k * width
        run("trace", 0, here + at, there + at, width, target + 8 * place)
    return out
