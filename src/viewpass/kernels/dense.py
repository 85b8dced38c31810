"""Dense rows, compiled: the float32 look that filters, the float64 look that decides, exact sums.

Each function is the counterpart of one in `reference.py`. IN, OUT and INOUT say what happens to an
argument; no two arguments may share memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit, types

from viewpass.kernels.compiling import compiled, once, part
from viewpass.kernels.grid import (
    ABSENT,
    EXTREME,
    INFINITE,
    LANES,
    LARGEST_SQUARE,
    PARTLY_NAN,
    PRESENT,
    ROUNDER,
    ROUNDER_BITS,
    SMALLEST_SQUARE,
)
from viewpass.kernels.lanes import clear, fold, new_lanes

TILE_ROWS = 256  # rows of one BLAS call: a tile of this height and a few hundred columns stays in L2
PAD = 8  # clusters are padded to a multiple of this: BLAS is slow on odd numbers of them


@part
def norm_of(row, width, lanes):  # type: ignore[no-untyped-def]
    """(1 / |x|, what the row is).  IN row; OUT lanes: room to work."""
    if width and np.isnan(row[0]):  # most often the whole row is NaN: do not square it first
        n_nan = 0
        for j in range(width):
            n_nan += np.isnan(row[j])
        return 0.0, ABSENT if n_nan == width else PARTLY_NAN
    whole = width // LANES * LANES
    clear(lanes)
    for j in range(0, whole, LANES):
        for lane in range(LANES):
            value = np.float64(row[j + lane])
            lanes[lane] += value * value
    for j in range(whole, width):
        value = np.float64(row[j])
        lanes[j - whole] += value * value
    square = fold(lanes)
    if SMALLEST_SQUARE <= square <= LARGEST_SQUARE:
        return 1.0 / np.sqrt(square), PRESENT
    n_nan = 0
    n_inf = 0
    n_zero = 0
    for j in range(width):
        value = np.float64(row[j])
        n_nan += np.isnan(value)
        n_inf += np.isinf(value)
        n_zero += value == 0.0
    if n_zero == width:
        return 0.0, ABSENT
    if n_nan > 0:
        return 0.0, PARTLY_NAN
    return 0.0, INFINITE if n_inf > 0 else EXTREME


def _measure(x, start, stop, wanted, inverse, status):  # type: ignore[no-untyped-def]
    """|x_i|^-1 and the kind of rows start..stop.  IN x, wanted; OUT inverse, status."""
    lanes = new_lanes()
    for i in range(start, stop):
        inverse[i] = 0.0
        status[i] = ABSENT
        if wanted[i]:
            inverse[i], status[i] = norm_of(x[i], x.shape[1], lanes)


@njit(nogil=True)
def _take(x, i, scale, row):  # type: ignore[no-untyped-def]
    """A unit row in float32.  IN x; OUT row."""
    if x.itemsize == 4:
        factor = np.float32(scale)
        for j in range(x.shape[1]):
            row[j] = np.float32(x[i, j]) * factor
    else:
        for j in range(x.shape[1]):
            row[j] = np.float32(x[i, j] * scale)


@njit(nogil=True)
def _multiply(unit, places, narrow, squares, error, product, distance, slack):  # type: ignore[no-untyped-def]
    """Multiply unit rows with the centres; add to the distances of the rows at `places`."""
    np.dot(unit, narrow.T, product)
    for h in range(unit.shape[0]):
        r = places[h]
        slack[r] += error
        for k in range(squares.shape[0]):
            distance[r, k] += squares[k] - 2.0 * np.float64(product[h, k])


def _read(  # type: ignore[no-untyped-def]
    x, start, stop, wanted, inverse, status, narrow, squares, error, tile, places, product, distance, slack
):
    """Measure rows start..stop and look at them while they are in cache: `_measure`, then `_look`.

    IN x, wanted, narrow, squares; OUT inverse, status, tile, places, product; INOUT distance,
    slack: a row for each of start..stop.
    """
    lanes = new_lanes()
    height = 0
    for i in range(start, stop):
        inverse[i] = 0.0
        status[i] = ABSENT
        if not wanted[i]:
            continue
        scale, kind = norm_of(x[i], x.shape[1], lanes)
        inverse[i] = scale
        status[i] = kind
        if scale > 0.0:
            _take(x, i, scale, tile[height])
            places[height] = i - start
            height += 1
            if height == TILE_ROWS:
                _multiply(tile, places, narrow, squares, error, product, distance, slack)
                height = 0
    if height > 0:
        _multiply(tile[:height], places, narrow, squares, error, product[:height], distance, slack)


def _look(x, rows, inverse, narrow, squares, error, tile, places, product, distance, slack):  # type: ignore[no-untyped-def]
    """Add |u_k|^2 - 2 x_i.u_k by float32 products.

    IN x, rows, inverse, narrow (the centres in float32, padded), squares; error bounds what
    float32 may be off by; OUT tile, places, product: room to work; INOUT distance, slack: a row for
    each of `rows`.
    """
    height = 0
    for r in range(rows.shape[0]):
        i = rows[r]
        scale = inverse[i]
        if scale > 0.0:
            _take(x, i, scale, tile[height])
            places[height] = r
            height += 1
            if height == TILE_ROWS:
                _multiply(tile, places, narrow, squares, error, product, distance, slack)
                height = 0
    if height > 0:
        _multiply(tile[:height], places, narrow, squares, error, product[:height], distance, slack)


def _settle(x, rows, clusters, inverse, centres, squares, out):  # type: ignore[no-untyped-def]
    """Add |u_k|^2 - 2 x_i.u_k of given (row, cluster) pairs in float64, column after column.

    IN x, rows, clusters, inverse, centres (K x d float64), squares; INOUT out. Pairs of the same row
    that follow one another are worked on four at a time: each sum must wait for its last addition.
    """
    width = x.shape[1]
    n_pairs = rows.shape[0]
    p = 0
    while p < n_pairs:
        i = rows[p]
        group = 1
        while group < 4 and p + group < n_pairs and rows[p + group] == i:
            group += 1
        scale = inverse[i]
        if scale > 0.0:
            a = clusters[p]
            b = clusters[p + min(1, group - 1)]
            c = clusters[p + min(2, group - 1)]
            d = clusters[p + group - 1]
            dots = (0.0, 0.0, 0.0, 0.0)
            for j in range(width):
                value = (np.float64(x[i, j]) * scale + ROUNDER) - ROUNDER
                dots = (
                    dots[0] + value * centres[a, j],
                    dots[1] + value * centres[b, j],
                    dots[2] + value * centres[c, j],
                    dots[3] + value * centres[d, j],
                )
            out[p] += squares[a] - 2.0 * dots[0]
            if group > 1:
                out[p + 1] += squares[b] - 2.0 * dots[1]
            if group > 2:
                out[p + 2] += squares[c] - 2.0 * dots[2]
            if group > 3:
                out[p + 3] += squares[d] - 2.0 * dots[3]
        p += group


def _distances(x, rows, inverse, columns, squares, dots, distance):  # type: ignore[no-untyped-def]
    """Add |u_k|^2 - 2 x_i.u_k for all clusters in float64, in the order of `_settle`.

    IN x, rows, inverse, columns (d x K float64), squares; OUT dots: room for K; INOUT distance.
    """
    n_clusters = columns.shape[1]
    for r in range(rows.shape[0]):
        i = rows[r]
        scale = inverse[i]
        if scale > 0.0:
            dots[:] = 0.0
            for j in range(x.shape[1]):
                value = (np.float64(x[i, j]) * scale + ROUNDER) - ROUNDER
                for k in range(n_clusters):
                    dots[k] += value * columns[j, k]
            for k in range(n_clusters):
                distance[r, k] += squares[k] - 2.0 * dots[k]


def _add(x, rows, inverse, labels, sign, sums, counts):  # type: ignore[no-untyped-def]
    """Add (sign = 1) or take away (-1) rows in grid steps.  IN x ... labels; INOUT sums, counts."""
    width = x.shape[1]
    for r in range(rows.shape[0]):
        i = rows[r]
        k = labels[i]
        scale = inverse[i]
        if scale > 0.0 and k >= 0:
            counts[k] += sign
            if sign > 0:
                for j in range(width):
                    rounded = np.float64(np.float64(x[i, j]) * scale + ROUNDER)
                    sums[k, j] += rounded.view(np.int64) - ROUNDER_BITS
            else:
                for j in range(width):
                    rounded = np.float64(np.float64(x[i, j]) * scale + ROUNDER)
                    sums[k, j] -= rounded.view(np.int64) - ROUNDER_BITS


def read_only(dtype: Any, n_dimensions: int) -> Any:
    """The type of a C-contiguous array that a kernel only reads, so that it may be read-only."""
    return types.Array(dtype, n_dimensions, "C", readonly=True)


_F64, _F32, _I64, _I32 = types.float64, types.float32, types.int64, types.int32
_ROWS, _FLAGS = read_only(_I64, 1), read_only(types.boolean, 1)
_FLOATS, _MATRIX = read_only(_F64, 1), read_only(_F64, 2)
_NARROW = read_only(_F32, 2)


def _arguments(name: str, values: Any) -> tuple[Any, ...]:
    """Argument types of a kernel on rows of type `values`."""
    return {
        "measure": (values, _I64, _I64, _FLAGS, _F64[::1], _I64[::1]),
        "read": (
            *(values, _I64, _I64, _FLAGS, _F64[::1], _I64[::1], _NARROW, _FLOATS, _F64),
            *(_F32[:, ::1], _I64[::1], _F32[:, ::1], _F64[:, ::1], _F64[::1]),
        ),
        "look": (
            *(values, _ROWS, _FLOATS, _NARROW, _FLOATS, _F64),
            *(_F32[:, ::1], _I64[::1], _F32[:, ::1], _F64[:, ::1], _F64[::1]),
        ),
        "settle": (values, _ROWS, _ROWS, _FLOATS, _MATRIX, _FLOATS, _F64[::1]),
        "distances": (values, _ROWS, _FLOATS, _MATRIX, _FLOATS, _F64[::1], _F64[:, ::1]),
        "add": (values, _ROWS, _FLOATS, read_only(_I32, 1), _I64, _I64[:, ::1], _I64[::1]),
    }[name]


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "measure": _measure,
    "read": _read,
    "look": _look,
    "settle": _settle,
    "distances": _distances,
    "add": _add,
}


@once
def kernel(name: str, dtype: str) -> Callable[..., Any]:
    """One of the functions above, compiled for rows of a type."""
    values = read_only(_F32 if dtype == "float32" else _F64, 2)
    return compiled(_FUNCTIONS[name], types.void(*_arguments(name, values)))
