"""CSR rows, compiled. Few values a row: everything is looked at in float64, so nothing is left to settle.

Each function is the counterpart of one in `reference.py` and adds in the same order, since the zeros
it passes over add nothing. IN, OUT and INOUT say what happens to an argument.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse
from numba import types

from viewpass.kernels.compiling import compiled
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
    Floats,
    Integers,
    Labels,
    Mask,
)
from viewpass.kernels.lanes import fold, new_lanes
from viewpass.kernels.scratch import Scratch


def _measure(data, indices, indptr, width, start, stop, wanted, inverse, status):  # type: ignore[no-untyped-def]
    """|x_i|^-1 and the kind of rows start..stop.  IN data ... wanted; OUT inverse, status."""
    lanes = new_lanes()
    for i in range(start, stop):
        inverse[i] = 0.0
        status[i] = ABSENT
        if not wanted[i]:
            continue
        lanes[:] = 0.0
        before = -1
        for p in range(indptr[i], indptr[i + 1]):
            column = int(indices[p])
            if column < 0 or column >= width:
                status[i] = OUTSIDE
            elif column <= before and status[i] != OUTSIDE:
                status[i] = UNSORTED
            before = column
            value = np.float64(data[p])
            lanes[column % LANES] += value * value
        if status[i] != ABSENT:
            continue
        square = fold(lanes)
        if SMALLEST_SQUARE <= square <= LARGEST_SQUARE:
            inverse[i] = 1.0 / np.sqrt(square)
            status[i] = PRESENT
            continue
        n_nan = 0
        n_inf = 0
        n_other = 0
        for p in range(indptr[i], indptr[i + 1]):
            value = np.float64(data[p])
            if np.isnan(value):
                n_nan += 1
            elif np.isinf(value):
                n_inf += 1
            elif value != 0.0:
                n_other += 1
        if n_nan == width or n_nan + n_inf + n_other == 0:
            status[i] = ABSENT
        elif n_nan > 0:
            status[i] = PARTLY_NAN
        elif n_inf > 0:
            status[i] = INFINITE
        else:
            status[i] = EXTREME


def _look(data, indices, indptr, rows, inverse, centres, squares, dots, distance):  # type: ignore[no-untyped-def]
    """Add |u_k|^2 - 2 x_i.u_k.

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
                column = indices[p]
                for k in range(n_clusters):
                    dots[k] += value * centres[column, k]
            for k in range(n_clusters):
                distance[r, k] += squares[k] - 2.0 * dots[k]


def _settle(data, indices, indptr, rows, clusters, inverse, centres, squares, out):  # type: ignore[no-untyped-def]
    """The same for given (row, cluster) pairs.  IN all but INOUT out."""
    for q in range(rows.shape[0]):
        i = rows[q]
        k = clusters[q]
        scale = inverse[i]
        if scale > 0.0:
            dot = 0.0
            for p in range(indptr[i], indptr[i + 1]):
                value = (np.float64(data[p]) * scale + ROUNDER) - ROUNDER
                dot += value * centres[indices[p], k]
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
                sums[k, indices[p]] += sign * (rounded.view(np.int64) - ROUNDER_BITS)


_F64, _F32, _I64, _I32 = types.float64, types.float32, types.int64, types.int32
_ROWS, _FLAGS = read_only(_I64, 1), read_only(types.boolean, 1)
_FLOATS, _MATRIX = read_only(_F64, 1), read_only(_F64, 2)
_REST = {
    "measure": (_I64, _I64, _I64, _FLAGS, _F64[::1], _I64[::1]),
    "look": (_ROWS, _FLOATS, _MATRIX, _FLOATS, _F64[::1], _F64[:, ::1]),
    "settle": (_ROWS, _ROWS, _FLOATS, _MATRIX, _FLOATS, _F64[::1]),
    "add": (_ROWS, _FLOATS, read_only(_I32, 1), _I64, _I64[:, ::1], _I64[::1]),
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "measure": _measure,
    "look": _look,
    "settle": _settle,
    "add": _add,
}


@cache
def _kernel(name: str, dtype: str, index: str) -> Callable[..., Any]:
    data = read_only(_F32 if dtype == "float32" else _F64, 1)
    places = read_only(_I32 if index == "int32" else _I64, 1)
    return compiled(_FUNCTIONS[name], types.void(data, places, places, *_REST[name]))


class SparseCentres:
    """Centres of one view as the sparse kernels want them: a row a column of the data."""

    def __init__(self, values: Floats, squares: Floats) -> None:
        self.columns = np.ascontiguousarray(values.T)
        self.squares = squares


class SparseView:
    """The rows of one CSR view: float32 or float64 values, sorted columns without repeats."""

    kind = "sparse"

    def __init__(self, x: scipy.sparse.csr_array) -> None:
        self.matrix = x
        self.shape = x.shape
        self._arrays = (x.data, x.indices, x.indptr)
        self._types = (x.data.dtype.name, x.indices.dtype.name)

    def measure(self, start: int, stop: int, wanted: Mask, inverse: Floats, status: Integers) -> None:
        _kernel("measure", *self._types)(*self._arrays, self.shape[1], start, stop, wanted, inverse, status)

    def look(
        self,
        rows: Integers,
        inverse: Floats,
        centres: SparseCentres,
        distance: Floats,
        slack: Floats,
        scratch: Scratch,
    ) -> None:
        self.distances(rows, inverse, centres, distance, scratch)

    def distances(
        self, rows: Integers, inverse: Floats, centres: SparseCentres, out: Floats, scratch: Scratch
    ) -> None:
        dots = scratch.room("dots", (out.shape[1],), np.float64)
        _kernel("look", *self._types)(
            *self._arrays, rows, inverse, centres.columns, centres.squares, dots, out
        )

    def settle(
        self,
        rows: Integers,
        clusters: Integers,
        inverse: Floats,
        centres: SparseCentres,
        out: Floats,
    ) -> None:
        _kernel("settle", *self._types)(
            *self._arrays, rows, clusters, inverse, centres.columns, centres.squares, out
        )

    def add(
        self,
        rows: Integers,
        inverse: Floats,
        labels: Labels,
        sign: int,
        sums: Integers,
        counts: Integers,
    ) -> None:
        _kernel("add", *self._types)(*self._arrays, rows, inverse, labels, sign, sums, counts)

    def soft_sums(self, inverse: Floats, memberships: Floats) -> Floats:
        lengths = np.diff(self.matrix.indptr)
        scaled = self.matrix.data.astype(np.float64) * np.repeat(inverse, lengths)
        scaled[np.repeat(inverse == 0.0, lengths)] = 0.0  # absent rows may hold NaN
        scaled = (scaled + ROUNDER) - ROUNDER
        rows = scipy.sparse.csr_array((scaled, self.matrix.indices, self.matrix.indptr), shape=self.shape)
        sums: Floats = np.ascontiguousarray((rows.T @ memberships).T)
        return sums
