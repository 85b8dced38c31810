"""CSR rows, compiled: the float32 look that filters, the float64 look that decides, exact sums.

Each function is the counterpart of one in `reference.py`; where the order of adding matters it is the
same, since the zeros it passes over add nothing. IN, OUT and INOUT say what happens to an argument.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit, types

from viewpass.kernels.compiling import compiled, once, part
from viewpass.kernels.dense import read_only
from viewpass.kernels.grid import (
    ABSENT,
    EXTREME,
    INFINITE,
    LANES,
    LARGEST_SQUARE,
    OUTSIDE,
    PARTLY_NAN,
    PRESENT,
    ROUNDER,
    ROUNDER_BITS,
    SMALLEST_SQUARE,
    UNSORTED,
)
from viewpass.kernels.lanes import clear, fold, new_lanes

WIDEST = 100_000  # values a row; beyond, errors of float32 no longer just add up
FLOAT32_ERROR = 2.0 * 1.01 * 2.0**-24  # what each value of a row may add to the error of a distance


@part
def norm_of(data, indices, first, last, width, lanes):  # type: ignore[no-untyped-def]
    """(1 / |x|, what the row is) of the row data[first:last].  OUT lanes: room to work."""
    clear(lanes)
    before = -1
    kind = PRESENT
    for p in range(first, last):
        column = int(indices[p])
        if column < 0 or column >= width:
            kind = OUTSIDE
        elif column <= before and kind != OUTSIDE:
            kind = UNSORTED
        before = column
        value = np.float64(data[p])
        lanes[column & (LANES - 1)] += value * value
    if kind != PRESENT:
        return 0.0, kind
    square = fold(lanes)
    if SMALLEST_SQUARE <= square <= LARGEST_SQUARE:
        return 1.0 / np.sqrt(square), PRESENT
    n_nan = 0
    n_inf = 0
    n_zero = 0
    for p in range(first, last):
        n_nan += np.isnan(data[p])
        n_inf += np.isinf(data[p])
        n_zero += data[p] == 0
    if n_nan == width or n_zero == last - first:
        return 0.0, ABSENT
    if n_nan > 0:
        return 0.0, PARTLY_NAN
    return 0.0, INFINITE if n_inf > 0 else EXTREME


def _measure(data, indices, indptr, width, start, stop, wanted, inverse, status):  # type: ignore[no-untyped-def]
    """|x_i|^-1 and the kind of rows start..stop.  IN data ... wanted; OUT inverse, status."""
    lanes = new_lanes()
    for i in range(start, stop):
        inverse[i] = 0.0
        status[i] = ABSENT
        if wanted[i] and indptr[i + 1] > indptr[i]:
            inverse[i], status[i] = norm_of(data, indices, indptr[i], indptr[i + 1], width, lanes)


@njit(nogil=True)
def _glance(data, indices, first, last, scale, eights, squares, longest, distance, slack, r):  # type: ignore[no-untyped-def]
    """Add one row's |u_k|^2 - 2 x.u_k by float32 products, eight clusters at a time.

    The eight sums have names so that they stay in registers.
    """
    slack[r] += longest * (last - first + 6) * FLOAT32_ERROR if last - first < WIDEST else np.inf
    factor = np.float32(scale)
    for e in range(eights.shape[0]):
        a = b = c = d = np.float32(0.0)
        f = g = h = i = np.float32(0.0)
        for p in range(first, last):
            value = np.float32(data[p]) * factor if data.itemsize == 4 else np.float32(data[p] * scale)
            j = np.uintp(indices[p])
            a += value * eights[e, j, 0]
            b += value * eights[e, j, 1]
            c += value * eights[e, j, 2]
            d += value * eights[e, j, 3]
            f += value * eights[e, j, 4]
            g += value * eights[e, j, 5]
            h += value * eights[e, j, 6]
            i += value * eights[e, j, 7]
        dots = (a, b, c, d, f, g, h, i)
        k = 8 * e
        for place in range(min(8, squares.shape[0] - k)):
            distance[r, k + place] += squares[k + place] - 2.0 * np.float64(dots[place])


def _read(  # type: ignore[no-untyped-def]
    data,
    indices,
    indptr,
    width,
    start,
    stop,
    wanted,
    inverse,
    status,
    eights,
    squares,
    longest,
    distance,
    slack,
):
    """Measure rows start..stop and look at them while they are in cache: `_measure`, then `_look`."""
    lanes = new_lanes()
    for i in range(start, stop):
        inverse[i] = 0.0
        status[i] = ABSENT
        first, last = indptr[i], indptr[i + 1]
        if not wanted[i] or first == last:
            continue
        scale, kind = norm_of(data, indices, first, last, width, lanes)
        inverse[i] = scale
        status[i] = kind
        if scale > 0.0:
            r = i - start
            _glance(data, indices, first, last, scale, eights, squares, longest, distance, slack, r)


def _look(data, indices, indptr, rows, inverse, eights, squares, longest, distance, slack):  # type: ignore[no-untyped-def]
    """Add |u_k|^2 - 2 x_i.u_k by float32 products.

    IN data ... inverse, eights (eight clusters of float32 centres, column by column, after eight
    others), squares, longest |u_k|; INOUT distance, slack: a row for each of `rows`.
    """
    for r in range(rows.shape[0]):
        i = rows[r]
        if inverse[i] > 0.0:
            first, last = indptr[i], indptr[i + 1]
            _glance(data, indices, first, last, inverse[i], eights, squares, longest, distance, slack, r)


def _distances(data, indices, indptr, rows, inverse, centres, squares, dots, distance):  # type: ignore[no-untyped-def]
    """The same for all clusters in float64, in the order of `_settle`.

    IN data ... inverse, centres (d x K float64), squares; OUT dots: room for K; INOUT distance.
    """
    n_clusters = centres.shape[1]
    for r in range(rows.shape[0]):
        i = rows[r]
        scale = inverse[i]
        if scale > 0.0:
            dots[:] = 0.0
            for p in range(indptr[i], indptr[i + 1]):
                value = (np.float64(data[p]) * scale + ROUNDER) - ROUNDER
                column = np.uintp(indices[p])
                for k in range(n_clusters):
                    dots[k] += value * centres[column, k]
            for k in range(n_clusters):
                distance[r, k] += squares[k] - 2.0 * dots[k]


def _settle(data, indices, indptr, rows, clusters, inverse, centres, squares, out):  # type: ignore[no-untyped-def]
    """Add |u_k|^2 - 2 x_i.u_k of given (row, cluster) pairs in float64, column after column.

    IN data ... inverse, centres (K x d float64), squares; INOUT out.
    """
    for q in range(rows.shape[0]):
        i = rows[q]
        k = clusters[q]
        scale = inverse[i]
        if scale > 0.0:
            dot = 0.0
            for p in range(indptr[i], indptr[i + 1]):
                value = (np.float64(data[p]) * scale + ROUNDER) - ROUNDER
                dot += value * centres[k, indices[p]]
            out[q] += squares[k] - 2.0 * dot


def _add(data, indices, indptr, rows, inverse, labels, sign, sums, counts):  # type: ignore[no-untyped-def]
    """Add (sign = 1) or take away (-1) rows in grid steps.  IN data ... labels; INOUT sums, counts."""
    for r in range(rows.shape[0]):
        i = rows[r]
        k = labels[i]
        scale = inverse[i]
        if scale > 0.0 and k >= 0:
            counts[k] += sign
            for p in range(indptr[i], indptr[i + 1]):
                rounded = np.float64(np.float64(data[p]) * scale + ROUNDER)
                sums[k, np.uintp(indices[p])] += sign * (rounded.view(np.int64) - ROUNDER_BITS)


def _weigh(data, indices, indptr, rows, inverse, memberships, out):  # type: ignore[no-untyped-def]
    """Add x_i v_i' of rows on the grid, row after row.  IN data ... memberships (a line a row); INOUT out."""
    n_clusters = memberships.shape[1]
    for r in range(rows.shape[0]):
        i = rows[r]
        scale = inverse[i]
        for p in range(indptr[i], indptr[i + 1]):
            value = (np.float64(data[p]) * scale + ROUNDER) - ROUNDER
            column = np.uintp(indices[p])
            for k in range(n_clusters):
                out[column, k] += value * memberships[r, k]


_F64, _F32, _I64, _I32 = types.float64, types.float32, types.int64, types.int32
_ROWS, _FLAGS = read_only(_I64, 1), read_only(types.boolean, 1)
_FLOATS, _MATRIX = read_only(_F64, 1), read_only(_F64, 2)
_EIGHTS = read_only(_F32, 3)
_REST = {
    "measure": (_I64, _I64, _I64, _FLAGS, _F64[::1], _I64[::1]),
    "read": (
        *(_I64, _I64, _I64, _FLAGS, _F64[::1], _I64[::1]),
        *(_EIGHTS, _FLOATS, _F64, _F64[:, ::1], _F64[::1]),
    ),
    "look": (_ROWS, _FLOATS, _EIGHTS, _FLOATS, _F64, _F64[:, ::1], _F64[::1]),
    "distances": (_ROWS, _FLOATS, _MATRIX, _FLOATS, _F64[::1], _F64[:, ::1]),
    "settle": (_ROWS, _ROWS, _FLOATS, _MATRIX, _FLOATS, _F64[::1]),
    "add": (_ROWS, _FLOATS, read_only(_I32, 1), _I64, _I64[:, ::1], _I64[::1]),
    "weigh": (_ROWS, _FLOATS, _MATRIX, _F64[:, ::1]),
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "measure": _measure,
    "read": _read,
    "look": _look,
    "distances": _distances,
    "settle": _settle,
    "add": _add,
    "weigh": _weigh,
}


@once
def kernel(name: str, dtype: str, index: str) -> Callable[..., Any]:
    """One of the functions above, compiled for values and indices of a type."""
    data = read_only(_F32 if dtype == "float32" else _F64, 1)
    places = read_only(_I32 if index == "int32" else _I64, 1)
    return compiled(_FUNCTIONS[name], types.void(data, places, places, *_REST[name]))
