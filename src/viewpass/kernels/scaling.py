"""Rows in another scale, compiled: centred and weighed columns, or the weighed entries of CSR rows.

Element by element, so that tiles and threads change no bit; `reference.py` has the same in NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit, types

from viewpass.kernels.compiling import compiled, once
from viewpass.kernels.dense import read_only
from viewpass.kernels.grid import LARGEST_SCALED, SHRINK, SMALLEST_SCALED


@njit(nogil=True)
def _largest(x, i, mean, weights, shrink):  # type: ignore[no-untyped-def]
    """The largest |(x_ij - mean_j) weight_j|, all of it `shrink` times as large.  IN x, mean, weights."""
    largest = 0.0
    for j in range(x.shape[1]):
        value = abs((np.float64(x[i, j]) * shrink - mean[j] * shrink) * weights[j])
        if value > largest:
            largest = value
    return largest


def _standardise(x, start, stop, wanted, mean, weights, out, present):  # type: ignore[no-untyped-def]
    """(x_ij - mean_j) weight_j of rows start..stop; what is absent becomes zero and is not `present`.

    A row that is partly NaN or holds inf stays as it is, for `measure` to name. Rows whose numbers
    would leave the type's range are brought to size 1 by a power of two: only their direction counts.

    IN x, wanted, mean, weights; OUT out, present.
    """
    width = x.shape[1]
    for i in range(start, stop):
        n_zero, n_wild, n_nan = 0, 0, 0
        if wanted[i]:
            for j in range(width):
                value = x[i, j]
                n_zero += value == 0
                n_wild += value - value != 0  # NaN and inf
        if n_wild > 0:
            for j in range(width):
                n_nan += np.isnan(x[i, j])
        present[i] = wanted[i] and n_zero < width and n_nan < width
        if present[i] and n_wild > 0:
            for j in range(width):
                out[i, j] = x[i, j]
            continue
        if present[i]:
            shrink, factor = 1.0, 1.0
            largest = _largest(x, i, mean, weights, shrink)
            if not math.isfinite(largest):
                shrink = SHRINK
                largest = _largest(x, i, mean, weights, shrink)
            if largest > LARGEST_SCALED or shrink < 1.0:
                factor = math.ldexp(1.0, -math.frexp(largest)[1])
            present[i] = largest >= SMALLEST_SCALED or shrink < 1.0
        if not present[i]:
            for j in range(width):
                out[i, j] = 0
        elif factor == 1.0:
            for j in range(width):
                out[i, j] = (np.float64(x[i, j]) - mean[j]) * weights[j]
        else:
            for j in range(width):
                out[i, j] = (np.float64(x[i, j]) * shrink - mean[j] * shrink) * weights[j] * factor


def _weigh_rows(x, start, stop, weights, out):  # type: ignore[no-untyped-def]
    """x_ij weight_j of rows start..stop.  IN x, weights; OUT out."""
    for i in range(start, stop):
        for j in range(x.shape[1]):
            out[i, j] = np.float64(x[i, j]) * weights[j]


def _weigh_entries(data, columns, start, stop, weights, out):  # type: ignore[no-untyped-def]
    """The same of CSR entries start..stop. A column that does not exist is left for `measure` to name.

    IN data, columns, weights; OUT out.
    """
    for e in range(start, stop):
        j = columns[e]
        out[e] = np.float64(data[e]) * weights[j] if 0 <= j < weights.shape[0] else data[e]


_TYPES: dict[str, Any] = {
    "float32": types.float32,
    "float64": types.float64,
    "int32": types.int32,
    "int64": types.int64,
}
_VECTOR, _I64 = read_only(types.float64, 1), types.int64


@once
def standardise(dtype: str) -> Callable[..., Any]:
    """`_standardise` for rows of this type."""
    number, truth = _TYPES[dtype], types.boolean
    given = (read_only(number, 2), _I64, _I64, read_only(truth, 1), _VECTOR, _VECTOR)
    return compiled(_standardise, types.void(*given, number[:, ::1], truth[::1]))


@once
def weigh_rows(dtype: str) -> Callable[..., Any]:
    """`_weigh_rows` for rows of this type."""
    number = _TYPES[dtype]
    return compiled(_weigh_rows, types.void(read_only(number, 2), _I64, _I64, _VECTOR, number[:, ::1]))


@once
def weigh_entries(dtype: str, index: str) -> Callable[..., Any]:
    """`_weigh_entries` for entries and column numbers of these types."""
    number, column = _TYPES[dtype], _TYPES[index]
    given = (read_only(number, 1), read_only(column, 1), _I64, _I64, _VECTOR)
    return compiled(_weigh_entries, types.void(*given, number[::1]))
