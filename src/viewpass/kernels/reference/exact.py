"""Sums in the order every implementation uses, and rows on the grid."""

from __future__ import annotations

import numpy as np

from viewpass.kernels.grid import (
    ABSENT,
    EXTREME,
    GRID,
    INFINITE,
    LARGEST_SQUARE,
    PARTIAL_SUMS,
    PARTLY_NAN,
    PRESENT,
    SMALLEST_SQUARE,
    STEP,
    Array,
    Floats,
    Integers,
    Mask,
)


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


def measure(x: Array, wanted: Mask, *, kept: bool = False) -> tuple[Floats, Integers]:
    """Give 1 / |x_i| of every row (0 where absent) and the kind of every row.

    `kept`: rows keep their lengths, which may be 0: 1 where they are present.
    """
    values = np.asarray(x, dtype=np.float64)
    n_missing = np.isnan(values).sum(axis=1)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        square = ordered_sum(values * values)
        inverse = 1.0 / np.sqrt(square)
    status = np.full(len(values), PRESENT, dtype=np.int64)
    if not kept:
        status[(square < SMALLEST_SQUARE) | (square > LARGEST_SQUARE)] = EXTREME
        status[~values.any(axis=1)] = ABSENT
    status[np.isinf(values).any(axis=1)] = INFINITE
    status[n_missing > 0] = PARTLY_NAN
    status[n_missing == values.shape[1]] = ABSENT
    status[~wanted] = ABSENT
    if kept:
        inverse[:] = 1.0
    inverse[status != PRESENT] = 0.0
    return inverse, status


def unit_rows(x: Array, inverse: Floats) -> Integers:
    """Count each row in grid steps after scaling it to unit length; absent rows are zero."""
    present = inverse > 0
    scaled = np.zeros(x.shape)
    scaled[present] = np.asarray(x[present], dtype=np.float64) * inverse[present, None]
    steps: Integers = np.rint(scaled * GRID).astype(np.int64)
    return steps


def squared_norms(centres: Floats) -> Floats:
    """|u_k|^2 of every centre."""
    return ordered_sum(centres * centres)


def centre_terms(centres: Floats, sums: Integers) -> Floats:
    """u_k.R_k of every cluster: the trace of Eq. 17, cluster by cluster."""
    return ordered_sum(centres * (sums * STEP))


def distances(steps: Integers, present: Mask, centres: Floats, squares: Floats) -> Floats:
    """One view's part of Eq. 15 without the |x_i|^2 all clusters share: |u_k|^2 - 2 x_i.u_k."""
    dots = np.zeros((len(steps), len(centres)))
    for j in np.flatnonzero(steps.any(axis=0)):
        dots += (steps[:, j, None] * STEP) * centres[None, :, j]
    parts: Floats = np.where(present[:, None], squares[None, :] - 2.0 * dots, 0.0)
    return parts


def products(a: Floats, b: Floats) -> Floats:
    """a_i.b_j for every row of one and of the other."""
    found = np.empty((len(a), len(b)))
    for i, row in enumerate(a):
        found[i] = ordered_sum(row * b)
    return found
