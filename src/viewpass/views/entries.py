"""Rows with a mark for each value they have (`missing_entries="entrywise"`): W of the objective per value.

A row x that has n of d values becomes z = w [x, s m], where m is 1 for the values it has, w = d / n, and s is
a power of two near 1 / sqrt(d), so that values and marks are of one size. To the kernels it is a row of 2 d
columns that keeps its length: sums of such rows hold the sum and the count of every column, and centres have
values to multiply the marks with, so that distances are those over the values a row has, times w
(kernels/reference/centres.py). Rows that other scales bring to unit length get the length sqrt(n / d), so
that w |x|^2 is 1 whatever a row lacks.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from viewpass.kernels.grid import Array, Floats, Mask
from viewpass.kernels.reference.exact import ordered_sum

# How long rows can be with their marks, given that w <= 10 (gaps.LEAST_SHARE) and that all marks together are
# no longer than 1: sqrt(w (1 + 1)) at unit length; sqrt(w^2 l^2 + w) where rows are as long as l >= 1.
LONGEST_UNIT, TIMES_LONGER = 8.0, 16.0
BLOCK = 1024  # rows marked at a time


class Marked(NamedTuple):
    """Rows with their marks."""

    rows: Array
    present: Mask  # which of them have a length, or must be refused
    longest: float


def mark_size(width: int) -> float:
    """The mark of a value (s)."""
    return 2.0 ** -math.ceil(math.log2(max(width, 1)) / 2)


def marked(x: Array, gaps: Mask | None, *, kept: bool) -> Marked:
    """Scaled rows with their marks; `kept`: they keep their lengths. Rows that are not finite stay so."""
    n_rows, width = x.shape
    out, present, longest = np.empty((n_rows, 2 * width), dtype=x.dtype), np.ones(n_rows, dtype=bool), 0.0
    for start in range(0, n_rows, BLOCK):
        some = slice(start, start + BLOCK)
        held: Mask = np.ones(x[some].shape, dtype=bool) if gaps is None else ~gaps[some]
        values = np.where(held, x[some], 0.0).astype(np.float64)
        weights = width / np.maximum(held.sum(axis=1), 1)
        usable, nothing = (np.asarray(of(values).all(axis=1)) for of in (np.isfinite, np.isnan))
        factors = weights
        if not kept:
            lengths = _lengths(np.where(usable[:, None], values, 1.0))
            present[some] = ~usable | (lengths > 0)
            factors = np.sqrt(weights) / np.where(lengths > 0, lengths, 1.0)
        present[some] &= ~nothing
        made, marks = values * factors[:, None], held * (weights * mark_size(width))[:, None]
        squares = ordered_sum(made * made) + ordered_sum(marks * marks)
        longest = max(longest, float(squares[usable].max(initial=0.0)))
        out[some, :width] = np.where(usable[:, None], made, values)
        out[some, width:] = np.where(nothing[:, None], np.nan, marks)
    return Marked(out, present, math.sqrt(longest))


def _lengths(values: Floats) -> Floats:
    """|x| of every row, by way of magnitude 1, so that no square over- or underflows."""
    largest = np.abs(values).max(axis=1, initial=0.0)
    exponents = np.frexp(np.where(largest > 0, largest, 1.0))[1]
    near_one = np.ldexp(values, -exponents[:, None])
    lengths: Floats = np.ldexp(np.sqrt(ordered_sum(near_one * near_one)), exponents)
    return lengths
