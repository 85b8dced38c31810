"""The specification: every step on rows and centres in plain NumPy.

The compiled kernels are tested to give the same labels and the same sums, bit for bit. What is
written as a loop here is a loop because the order of adding is part of the specification.
Equations are those of the paper; rows are instances.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse

from viewpass.kernels.grid import (
    ABSENT,
    EXTREME,
    GRID,
    INFINITE,
    LANES,
    LARGEST_SCALED,
    LARGEST_SQUARE,
    PARTLY_NAN,
    PRESENT,
    SHRINK,
    SMALLEST_SCALED,
    SMALLEST_SQUARE,
    STEP,
    Array,
    Floats,
    Integers,
    Labels,
    Mask,
    Matrix,
)
from viewpass.kernels.scratch import Scratch


def lane_sum(terms: Floats) -> Floats:
    """Sum the last axis in the order every kernel uses for norms."""
    width = terms.shape[-1]
    lanes = np.zeros((*terms.shape[:-1], LANES))
    for start in range(0, width, LANES):
        part = terms[..., start : start + LANES]
        lanes[..., : part.shape[-1]] += part
    half = LANES // 2
    while half:
        lanes = lanes[..., :half] + lanes[..., half : 2 * half]
        half //= 2
    return lanes[..., 0]


def measure(x: Array, wanted: Mask) -> tuple[Floats, Integers]:
    """Give 1 / |x_i| of every row (0 where absent) and what each row is: one of grid's five words."""
    values = np.asarray(x, dtype=np.float64)
    n_missing = np.isnan(values).sum(axis=1)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        square = lane_sum(values * values)
        inverse = 1.0 / np.sqrt(square)
    status = np.full(len(values), PRESENT, dtype=np.int64)
    status[(square < SMALLEST_SQUARE) | (square > LARGEST_SQUARE)] = EXTREME
    status[~values.any(axis=1)] = ABSENT
    status[np.isinf(values).any(axis=1)] = INFINITE
    status[n_missing > 0] = PARTLY_NAN
    status[n_missing == values.shape[1]] = ABSENT
    status[~wanted] = ABSENT
    inverse[status != PRESENT] = 0.0
    return inverse, status


def unit_rows(x: Array, inverse: Floats) -> Integers:
    """Count each row in grid steps after scaling it to unit length; absent rows are zero."""
    present = inverse > 0
    scaled = np.zeros(x.shape)
    scaled[present] = np.asarray(x[present], dtype=np.float64) * inverse[present, None]
    steps: Integers = np.rint(scaled * GRID).astype(np.int64)
    return steps


def standardise(x: Array, wanted: Mask, mean: Floats, weights: Floats) -> tuple[Array, Mask]:
    """Centre and weigh the columns; gives the rows and which are present (others are zero)."""
    _, status = measure(x, wanted)
    wild = (status == PARTLY_NAN) | (status == INFINITE)  # left as they are, to be named
    present = status != ABSENT
    out = np.zeros_like(x)
    out[wild] = x[wild]
    for i in np.flatnonzero(present & ~wild):
        row = np.asarray(x[i], dtype=np.float64)
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
    return out, present


def squared_norms(centres: Floats) -> Floats:
    """|u_k|^2 of every centre."""
    return lane_sum(centres * centres)


def distances(steps: Integers, present: Mask, centres: Floats, squares: Floats) -> Floats:
    """One view's part of Eq. 15 without the |x_i|^2 all clusters share: |u_k|^2 - 2 x_i.u_k."""
    dots = np.zeros((len(steps), len(centres)))
    for j in range(steps.shape[1]):
        dots += (steps[:, j, None] * STEP) * centres[None, :, j]
    parts: Floats = np.where(present[:, None], squares[None, :] - 2.0 * dots, 0.0)
    return parts


def nearest(distance: Floats, n_seen: Integers) -> tuple[Labels, Floats]:
    """Eq. 16: the lowest index of the least distance (-1 for rows without any view), and by how much."""
    labels = distance.argmin(axis=1).astype(np.int32)
    if distance.shape[1] > 1:
        two = np.partition(distance, 1, axis=1)
        margin = two[:, 1] - two[:, 0]
    else:
        margin = np.full(len(distance), np.inf)
    labels[n_seen == 0] = -1
    margin[n_seen == 0] = np.inf
    return labels, margin


def group_sums(steps: Integers, present: Mask, labels: Labels, n_clusters: int) -> tuple[Integers, Integers]:
    """What rows add to R and T (Eq. 12): sums in grid steps and counts of each cluster."""
    sums = np.zeros((n_clusters, steps.shape[1]), dtype=np.int64)
    counts = np.zeros(n_clusters, dtype=np.int64)
    taken = present & (labels >= 0)
    np.add.at(sums, labels[taken], steps[taken])
    np.add.at(counts, labels[taken], 1)
    return sums, counts


def centre_terms(centres: Floats, sums: Integers) -> Floats:
    """u_k.R_k of every cluster: the trace of Eq. 17, cluster by cluster."""
    return lane_sum(centres * (sums * STEP))


class ReferenceView:
    """A view's rows behind the same methods as the compiled ones."""

    kind = "reference"

    def __init__(self, x: Matrix) -> None:
        self.values = x.toarray() if scipy.sparse.issparse(x) else np.asarray(x)
        self.shape = self.values.shape

    def measure(self, start: int, stop: int, wanted: Mask, inverse: Floats, status: Integers) -> None:
        inverse[start:stop], status[start:stop] = measure(self.values[start:stop], wanted[start:stop])

    def read(
        self,
        start: int,
        stop: int,
        wanted: Mask,
        inverse: Floats,
        status: Integers,
        centres: ReferenceCentres,
        distance: Floats,
        slack: Floats,
        scratch: Scratch,
    ) -> None:
        self.measure(start, stop, wanted, inverse, status)
        self.look(np.arange(start, stop), inverse, centres, distance, slack, scratch)

    def look(
        self,
        rows: Integers,
        inverse: Floats,
        centres: ReferenceCentres,
        distance: Floats,
        slack: Floats,
        scratch: Scratch,
    ) -> None:
        self.distances(rows, inverse, centres, distance, scratch)

    def distances(
        self,
        rows: Integers,
        inverse: Floats,
        centres: ReferenceCentres,
        out: Floats,
        scratch: Scratch,
    ) -> None:
        steps, present = self._steps(rows, inverse)
        out += distances(steps, present, centres.values, centres.squares)

    def settle(
        self,
        rows: Integers,
        clusters: Integers,
        inverse: Floats,
        centres: ReferenceCentres,
        out: Floats,
    ) -> None:
        steps, present = self._steps(rows, inverse)
        parts = distances(steps, present, centres.values, centres.squares)
        out += parts[np.arange(len(rows)), clusters]

    def add(
        self,
        rows: Integers,
        inverse: Floats,
        labels: Labels,
        sign: int,
        sums: Integers,
        counts: Integers,
    ) -> None:
        steps, present = self._steps(rows, inverse)
        more, number = group_sums(steps, present, labels[rows], len(counts))
        sums += sign * more
        counts += sign * number

    def unit_rows(self, rows: Integers, inverse: Floats) -> Floats:
        return np.multiply(self._steps(rows, inverse)[0], STEP, dtype=np.float64)

    def weighed_sums(self, rows: Integers, inverse: Floats, memberships: Floats) -> Floats:
        sums: Floats = self.unit_rows(rows, inverse).T @ memberships
        return sums

    def _steps(self, rows: Integers, inverse: Floats) -> tuple[Integers, Mask]:
        chosen = inverse[rows]
        return unit_rows(self.values[rows], chosen), chosen > 0


class ReferenceCentres:
    """Centres of one view as the reference looks at them."""

    def __init__(self, values: Floats, squares: Floats) -> None:
        self.values = values
        self.squares = squares
