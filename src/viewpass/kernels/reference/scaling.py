"""Rows in a scale learnt from the first rows, element by element."""

from __future__ import annotations

import numpy as np

from viewpass.kernels.grid import SMALLEST_SCALED, Array, Floats, Mask, RowKind
from viewpass.kernels.portable import ordered_sum
from viewpass.kernels.reference.rows import measure

LARGEST_SCALED = 2.0**60  # a centred row beyond it is brought to size 1
SHRINK = 2.0**-1000  # what all is multiplied by where a row overflows


def standardise(rows: Array, wanted: Mask, mean: Floats, weights: Floats, out: Array, n_threads: int) -> Mask:
    """Centre and weigh the columns; gives which rows are present (others are zero).  OUT out."""
    _, kinds = measure(rows, wanted)
    wild = (kinds == RowKind.PARTLY_NAN) | (
        kinds == RowKind.INFINITE
    )  # left as they are, for measuring to name
    present: Mask = kinds != RowKind.ABSENT
    out[:] = 0.0
    out[wild] = rows[wild]
    for i in np.flatnonzero(present & ~wild):
        row = np.asarray(rows[i], dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            scaled = (row - mean) * weights
            extreme = not np.isfinite(scaled).all()
            if extreme:
                scaled = (row * SHRINK - mean * SHRINK) * weights
            largest = np.abs(scaled).max(initial=0.0)
            if extreme or largest > LARGEST_SCALED:
                scaled = scaled * np.ldexp(1.0, -int(np.frexp(largest)[1]))
            present[i] = extreme or largest >= SMALLEST_SCALED
            if present[i]:
                out[i] = scaled
    return present


def centre_rows(
    rows: Array, wanted: Mask, mean: Floats, weight: float, longest: float, out: Array, n_threads: int
) -> tuple[Mask, Floats]:
    """Centre rows that keep their lengths, and shorten those longer than `longest`.

    Gives which rows are present, and |x|^2 before that (infinite where it is beyond the type).  OUT out.
    """
    _, kinds = measure(rows, wanted)
    wild = (kinds == RowKind.PARTLY_NAN) | (
        kinds == RowKind.INFINITE
    )  # left as they are, for measuring to name
    present: Mask = kinds != RowKind.ABSENT
    squares = np.zeros(len(rows))
    out[:] = 0.0
    out[wild] = rows[wild]
    for i in np.flatnonzero(present & ~wild):
        row = np.asarray(rows[i], dtype=np.float64)
        half = row * 0.5 - mean * 0.5  # does not overflow
        with np.errstate(over="ignore", under="ignore"):
            far = not np.abs(half * weight).max(initial=0.0) <= LARGEST_SCALED
            if far:  # brought to size 1, then to its length: only its direction is known
                out[i] = np.ldexp(half, -int(np.frexp(np.abs(half).max())[1]))
            else:
                out[i] = (row - mean) * weight
        stored = np.asarray(out[i], dtype=np.float64)
        square = float(ordered_sum(stored * stored))
        if far or square > longest * longest:
            out[i] = stored * (longest / np.sqrt(square))
        squares[i] = np.inf if far else square
    return present, squares


def map_rows(
    rows: Array, inverse: Floats, directions: Floats, offsets: Floats, out: Array, n_threads: int
) -> Mask:
    """Inverse * (direction . x) - offset, for each direction; gives which rows have one left.  OUT out.

    `inverse` is 0 where a row is absent; `offsets` are those of the mean.
    """
    present = np.zeros(len(rows), dtype=bool)
    out[:] = 0.0
    there = np.flatnonzero(inverse > 0)
    dots = np.zeros((len(there), len(directions)))
    for j, of_column in enumerate(directions.T):  # column after column
        dots += np.asarray(rows[there, j], dtype=np.float64)[:, None] * of_column
    mapped = dots * inverse[there, None] - offsets
    present[there] = np.abs(mapped).max(axis=1, initial=0.0) >= SMALLEST_SCALED
    out[present] = mapped[present[there]]
    return present


def weigh_rows(rows: Array, weights: Floats, out: Array, n_threads: int) -> None:
    """Rows times the weights of their columns.  OUT out."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        out[:] = np.asarray(rows, dtype=np.float64) * weights


def weigh_entries(values: Array, columns: Array, weights: Floats, out: Array, n_threads: int) -> None:
    """The same of CSR entries; a column that does not exist is left unchanged.  OUT out."""
    exists = (columns >= 0) & (columns < len(weights))
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        factors = np.where(exists, weights[np.where(exists, columns, 0)], 1.0) if len(weights) else 1.0
        out[:] = np.asarray(values, dtype=np.float64) * factors


def products(a: Floats, b: Floats) -> Floats:
    """a_i.b_j for every row of one and of the other."""
    found = np.empty((len(a), len(b)))
    for i, row in enumerate(a):
        found[i] = ordered_sum(row * b)
    return found
