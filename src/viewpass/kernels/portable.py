"""Arithmetic that gives the same bits on every machine: basic operations alone, in a fixed order.

The last bits of a library's sums, norms and logarithms differ between machines.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from viewpass.kernels.grid import GRID, PARTIAL_SUMS, Array, Floats, Integers

LN2_HIGH, LN2_LOW = float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33")  # together log 2


def log(x: ArrayLike) -> Floats:
    """The natural logarithm of positive, finite numbers, to about one unit in the last place.

    x = 2^e (1 + f) with 1 + f next to 1; then log(1 + f) = 2 s + 2 s^3 / 3 + 2 s^5 / 5 + ... where
    s = f / (2 + f), written so that f, which is exact, is added last.

    >>> log([0.5, 1.0, 2.0])
    array([-0.69314718,  0.        ,  0.69314718])
    """
    mantissa, exponent = np.frexp(np.asarray(x, dtype=np.float64))
    small = mantissa < np.sqrt(0.5)
    f = np.where(small, 2.0 * mantissa, mantissa) - 1.0
    e = (exponent - small).astype(np.float64)
    s = f / (2.0 + f)
    square = s * s
    series = np.zeros_like(square)
    for k in range(10, 0, -1):  # terms beyond are smaller than the last place
        series = square * (2.0 / (2 * k + 1) + series)
    half = 0.5 * f * f
    found: Floats = e * LN2_HIGH - ((half - (s * (half + series) + e * LN2_LOW)) - f)
    return found


def ordered_sum(terms: Floats) -> Floats:
    """Sum the last axis: column j in partial sum j % PARTIAL_SUMS, which are then added in halves."""
    # Of few columns most partial sums would be 0, and adding 0 changes no bit: no sum that begins at 0 is -0.
    n_sums = min(PARTIAL_SUMS, 1 << max(terms.shape[-1] - 1, 0).bit_length())
    sums = np.zeros((*terms.shape[:-1], n_sums))
    for start in range(0, terms.shape[-1], PARTIAL_SUMS):
        part = terms[..., start : start + PARTIAL_SUMS]
        sums[..., : part.shape[-1]] += part
    half = n_sums // 2
    while half:
        sums = sums[..., :half] + sums[..., half : 2 * half]
        half //= 2
    return sums[..., 0]


def unit_rows(x: Array, inverse: Floats) -> Integers:
    """Count each row in grid steps after scaling it to unit length; absent rows are zero."""
    present = inverse > 0
    scaled = np.zeros(x.shape)
    scaled[present] = np.asarray(x[present], dtype=np.float64) * inverse[present, None]
    steps: Integers = np.rint(scaled * GRID).astype(np.int64)
    return steps


def directions(points: Floats) -> Floats:
    """Points divided by their lengths; one of length 0 stays."""
    squares = np.zeros(len(points))
    for column in points.T:
        squares += column * column
    long = np.sqrt(squares)[:, None]
    found: Floats = np.divide(points, long, out=np.array(points, dtype=np.float64), where=long > 0)
    return found


def farness(points: Floats, centres: Floats) -> Floats:
    """|c|^2 - 2 p.c for every point p and centre c."""
    squares, sums = np.zeros(len(centres)), np.zeros((len(points), len(centres)))
    for mine, theirs in zip(points.T, centres.T, strict=True):
        squares += theirs * theirs
        sums += mine[:, None] * theirs
    found: Floats = squares - 2.0 * sums
    return found
