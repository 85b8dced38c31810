"""Dense rows, compiled: the float32 look that filters, the float64 look that decides, exact sums.

Each function is the counterpart of one in `reference.py`. IN, OUT and INOUT say what happens to an
argument; no two arguments may share memory.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import njit, types

from viewpass.kernels.compiling import compiled
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
    Array,
    Floats,
    Integers,
    Labels,
    Mask,
)
from viewpass.kernels.lanes import fold, new_lanes
from viewpass.kernels.scratch import Scratch

TILE_ROWS = 256  # rows of one BLAS call: a tile of this height and a few hundred columns stays in L2
TILE_STEP = 16  # tiles are padded with zero rows to a multiple of this


@njit(nogil=True)
def _norm(x, i, lanes):  # type: ignore[no-untyped-def]
    """(1 / |x_i|, what the row is).  IN x; OUT lanes: room to work."""
    width = x.shape[1]
    if width and np.isnan(x[i, 0]):  # most often the whole row is NaN: do not square it first
        n_nan = 0
        for j in range(width):
            n_nan += np.isnan(x[i, j])
        return 0.0, ABSENT if n_nan == width else PARTLY_NAN
    whole = width // LANES * LANES
    lanes[:] = 0.0
    for j in range(0, whole, LANES):
        for lane in range(LANES):
            value = np.float64(x[i, j + lane])
            lanes[lane] += value * value
    for j in range(whole, width):
        value = np.float64(x[i, j])
        lanes[j - whole] += value * value
    square = fold(lanes)
    if SMALLEST_SQUARE <= square <= LARGEST_SQUARE:
        return 1.0 / np.sqrt(square), PRESENT
    n_nan = 0
    n_inf = 0
    n_zero = 0
    for j in range(width):
        value = np.float64(x[i, j])
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
            inverse[i], status[i] = _norm(x, i, lanes)


@njit(nogil=True)
def _finish_tile(tile, height, places, columns, squares, error, product, distance, slack):  # type: ignore[no-untyped-def]
    """Multiply a tile of unit rows with the centres; add to the distances of the rows at `places`."""
    padded = (height + TILE_STEP - 1) // TILE_STEP * TILE_STEP
    tile[height:padded] = np.float32(0.0)
    np.dot(tile[:padded], columns, product[:padded])
    for h in range(height):
        r = places[h]
        slack[r] += error
        for k in range(columns.shape[1]):
            distance[r, k] += squares[k] - 2.0 * np.float64(product[h, k])


def _read(  # type: ignore[no-untyped-def]
    x, start, stop, wanted, inverse, status, columns, squares, error, tile, places, product, distance, slack
):
    """Measure rows start..stop and look at them while they are in cache: `_measure`, then `_look`.

    IN x, wanted, columns, squares; OUT inverse, status, tile, places, product; INOUT distance,
    slack: a row for each of start..stop.
    """
    width = x.shape[1]
    lanes = new_lanes()
    height = 0
    for i in range(start, stop):
        inverse[i] = 0.0
        status[i] = ABSENT
        if not wanted[i]:
            continue
        scale, kind = _norm(x, i, lanes)
        inverse[i] = scale
        status[i] = kind
        if scale > 0.0:
            for j in range(width):
                tile[height, j] = np.float32(np.float64(x[i, j]) * scale)
            places[height] = i - start
            height += 1
            if height == TILE_ROWS:
                _finish_tile(tile, height, places, columns, squares, error, product, distance, slack)
                height = 0
    if height > 0:
        _finish_tile(tile, height, places, columns, squares, error, product, distance, slack)


def _look(x, rows, inverse, columns, squares, error, tile, places, product, distance, slack):  # type: ignore[no-untyped-def]
    """Add |u_k|^2 - 2 x_i.u_k by float32 products.

    IN x, rows, inverse, columns (d x K float32), squares; error bounds what float32 may be off by;
    OUT tile, places, product: room to work; INOUT distance, slack: a row for each of `rows`.
    """
    width = x.shape[1]
    height = 0
    for r in range(rows.shape[0]):
        i = rows[r]
        scale = inverse[i]
        if scale > 0.0:
            for j in range(width):
                tile[height, j] = np.float32(np.float64(x[i, j]) * scale)
            places[height] = r
            height += 1
            if height == TILE_ROWS:
                _finish_tile(tile, height, places, columns, squares, error, product, distance, slack)
                height = 0
    if height > 0:
        _finish_tile(tile, height, places, columns, squares, error, product, distance, slack)


def _settle(x, rows, clusters, inverse, centres, squares, out):  # type: ignore[no-untyped-def]
    """Add |u_k|^2 - 2 x_i.u_k of given (row, cluster) pairs in float64, column after column.

    IN x, rows, clusters, inverse, centres (K x d float64), squares; INOUT out.
    """
    width = x.shape[1]
    for p in range(rows.shape[0]):
        i = rows[p]
        k = clusters[p]
        scale = inverse[i]
        if scale > 0.0:
            dot = 0.0
            for j in range(width):
                value = (np.float64(x[i, j]) * scale + ROUNDER) - ROUNDER
                dot += value * centres[k, j]
            out[p] += squares[k] - 2.0 * dot


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


def _unit(x, rows, inverse, out):  # type: ignore[no-untyped-def]
    """Unit rows on the grid.  IN x, rows (all present), inverse; OUT out (float64, a row each)."""
    for r in range(rows.shape[0]):
        scale = inverse[rows[r]]
        for j in range(x.shape[1]):
            out[r, j] = (np.float64(x[rows[r], j]) * scale + ROUNDER) - ROUNDER


def read_only(dtype: Any, n_dimensions: int) -> Any:
    """The type of a C-contiguous array that a kernel only reads, so that it may be read-only."""
    return types.Array(dtype, n_dimensions, "C", readonly=True)


_F64, _F32, _I64, _I32 = types.float64, types.float32, types.int64, types.int32
_ROWS, _FLAGS = read_only(_I64, 1), read_only(types.boolean, 1)
_FLOATS, _MATRIX = read_only(_F64, 1), read_only(_F64, 2)


def _arguments(name: str, values: Any) -> tuple[Any, ...]:
    return {
        "measure": (values, _I64, _I64, _FLAGS, _F64[::1], _I64[::1]),
        "read": (
            *(values, _I64, _I64, _FLAGS, _F64[::1], _I64[::1], read_only(_F32, 2), _FLOATS, _F64),
            *(_F32[:, ::1], _I64[::1], _F32[:, ::1], _F64[:, ::1], _F64[::1]),
        ),
        "unit": (values, _ROWS, _FLOATS, _F64[:, ::1]),
        "look": (
            *(values, _ROWS, _FLOATS, read_only(_F32, 2), _FLOATS, _F64),
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
    "unit": _unit,
    "settle": _settle,
    "distances": _distances,
    "add": _add,
}


@cache
def _kernel(name: str, dtype: str) -> Callable[..., Any]:
    values = read_only(_F32 if dtype == "float32" else _F64, 2)
    return compiled(_FUNCTIONS[name], types.void(*_arguments(name, values)))


class DenseCentres:
    """Centres of one view as the dense kernels want them.

    The error bounds |float32 product - exact product|: each of the d products and additions, and
    the rounding of both factors, loses at most 2^-24 of |x| |u|; rows lie on a grid of 2^-33.
    """

    def __init__(self, values: Floats, squares: Floats) -> None:
        self.values = values
        self.squares = squares
        self.columns = np.ascontiguousarray(values.T, dtype=np.float32)
        width = values.shape[1]
        longest = float(np.sqrt(squares.max(initial=0.0)))
        relative = (width + 4) * 2.0**-24
        if relative < 0.5:
            relative /= 1.0 - relative
            self.error = 2.0 * longest * (relative + np.sqrt(width) * 2.0**-34) * 1.001 + 1e-30
        else:  # float32 says nothing about rows this wide: everything is decided in float64
            self.error = np.inf


class DenseView:
    """The rows of one dense view, C-contiguous float32 or float64."""

    kind = "dense"

    def __init__(self, x: Array) -> None:
        self.values = x
        self.shape = x.shape
        self._dtype = x.dtype.name

    def measure(self, start: int, stop: int, wanted: Mask, inverse: Floats, status: Integers) -> None:
        _kernel("measure", self._dtype)(self.values, start, stop, wanted, inverse, status)

    def read(
        self,
        start: int,
        stop: int,
        wanted: Mask,
        inverse: Floats,
        status: Integers,
        centres: DenseCentres,
        distance: Floats,
        slack: Floats,
        scratch: Scratch,
    ) -> None:
        tile, places, product = self._room(centres, scratch)
        _kernel("read", self._dtype)(
            *(self.values, start, stop, wanted, inverse, status),
            *(centres.columns, centres.squares, centres.error),
            *(tile, places, product, distance, slack),
        )

    def look(
        self,
        rows: Integers,
        inverse: Floats,
        centres: DenseCentres,
        distance: Floats,
        slack: Floats,
        scratch: Scratch,
    ) -> None:
        tile, places, product = self._room(centres, scratch)
        _kernel("look", self._dtype)(
            *(self.values, rows, inverse, centres.columns, centres.squares, centres.error),
            *(tile, places, product, distance, slack),
        )

    def _room(self, centres: DenseCentres, scratch: Scratch) -> tuple[Array, Array, Array]:
        return (
            scratch.room("tile", (TILE_ROWS, self.shape[1]), np.float32),
            scratch.room("places", (TILE_ROWS,), np.int64),
            scratch.room("product", (TILE_ROWS, centres.columns.shape[1]), np.float32),
        )

    def settle(
        self,
        rows: Integers,
        clusters: Integers,
        inverse: Floats,
        centres: DenseCentres,
        out: Floats,
    ) -> None:
        _kernel("settle", self._dtype)(
            self.values, rows, clusters, inverse, centres.values, centres.squares, out
        )

    def distances(
        self, rows: Integers, inverse: Floats, centres: DenseCentres, out: Floats, scratch: Scratch
    ) -> None:
        dots = scratch.room("exact dots", (out.shape[1],), np.float64)
        columns = scratch.room("columns", centres.values.T.shape, np.float64)
        columns[:] = centres.values.T
        _kernel("distances", self._dtype)(self.values, rows, inverse, columns, centres.squares, dots, out)

    def add(
        self,
        rows: Integers,
        inverse: Floats,
        labels: Labels,
        sign: int,
        sums: Integers,
        counts: Integers,
    ) -> None:
        _kernel("add", self._dtype)(self.values, rows, inverse, labels, sign, sums, counts)

    def unit_rows(self, rows: Integers, inverse: Floats) -> Floats:
        out = np.empty((len(rows), self.shape[1]))
        _kernel("unit", self._dtype)(self.values, rows, inverse, out)
        return out
