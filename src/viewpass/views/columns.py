"""Statistics of the columns of a view over the rows that have it; scales are learnt from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse

from viewpass.kernels.grid import Array, Floats, Mask, Matrix
from viewpass.kernels.portable import ordered_sum

STATISTICS_ROWS = 256  # dense rows converted to float64 at a time; sums run over the rows in order
NO_SPREAD = 2.0**-40  # a standard deviation below this share of the largest value is rounding
SMALLEST_VALUE = 1e-280  # columns whose values are all smaller count as constant


@dataclass(frozen=True)
class Columns:
    """Computed over the present rows in float64, in the order of the rows, for any number of threads."""

    n_rows: float  # the sum of their weights, where they have any
    n_values: Floats  # of each column: the same, without rows that lack the value
    mean: Floats
    spread: Floats  # standard deviation; 0 where a column is constant
    n_nonzero: Array
    n_ones: float
    whole: bool  # all values are whole numbers and none is negative
    sparse: bool
    largest: float  # of all magnitudes

    @property
    def density(self) -> float:
        """Share of values that are not zero."""
        return float(self.n_nonzero.sum()) / max(self.n_rows * len(self.mean), 1)

    @property
    def typical(self) -> float:
        """The mean of the values that are not zero; of whole numbers."""
        total = float((self.mean * self.n_values).sum())
        return total / max(float(self.n_nonzero.sum()), 1.0)

    @property
    def counts(self) -> bool:
        """Whether these are counts of rare events, or indicators: whole numbers, mostly 1 where not 0."""
        return self.whole and 2 * self.n_ones >= int(self.n_nonzero.sum())


def euclidean(columns: Columns, x: Array, present: Mask) -> tuple[float, float]:
    """The factor that brings centred rows to a root mean square length of 1, and the longest row then."""
    largest = columns.spread.max()
    factor = float(1.0 / largest / np.sqrt(np.cumsum((columns.spread / largest) ** 2)[-1]))
    longest = 0.0
    for block, _ in _blocks(x, present, None):
        halves = (block * 0.5 - columns.mean * 0.5) * factor  # whose difference does not overflow
        longest = max(longest, float(np.sqrt(ordered_sum(halves * halves).max())))
    return factor, 2.0 * longest


def columns_of(x: Matrix, present: Mask, weights: Floats | None = None, gaps: Mask | None = None) -> Columns:
    """Compute the statistics of a view over its present rows, all of which must be finite.

    `weights`: sample weights of the rows; None: all 1. `gaps`: values that rows lack, which are 0 in x.
    """
    if weights is not None:
        present = present & (weights > 0)
    if scipy.sparse.issparse(x):
        return _of_sparse(x, present, weights)
    n_rows, width = _total(present, weights), x.shape[1]
    largest, n_nonzero = np.zeros(width), np.zeros(width)
    n_ones, whole = 0.0, True
    n_values = np.full(width, n_rows)
    if gaps is not None:
        for missing, weight in _blocks(gaps, present, weights):
            n_values -= _sum(missing, weight)
    divisor = np.where(n_values > 0, n_values, 1.0)
    for block, weight in _blocks(x, present, weights):
        np.maximum(largest, np.abs(block).max(axis=0), out=largest)
        n_nonzero += _sum(block != 0, weight)
        n_ones += float(_sum(block == 1, weight).sum())
        whole = whole and _whole(block)
    factor = _towards_one(largest)
    mean, square = np.zeros(width), np.zeros(width)
    for block, weight in _blocks(x, present, weights):
        mean += _sum(block * factor, weight)
    mean /= divisor
    held = None if gaps is None else _blocks(~gaps, present, None)
    for block, weight in _blocks(x, present, weights):
        apart = (block * factor - mean) ** 2
        square += _sum(apart if held is None else apart * next(held)[0], weight)
    spread = _significant(np.sqrt(square / divisor), largest, factor)
    most = float(largest.max(initial=0.0))
    return Columns(n_rows, n_values, mean / factor, spread, n_nonzero, n_ones, whole, False, most)


def _total(present: Mask, weights: Floats | None) -> float:
    return float(present.sum() if weights is None else weights[present].sum())


def _sum(values: Array, weights: Floats | None) -> Array:
    """Sum over rows."""
    total: Array = (values if weights is None else values * weights[:, None]).sum(axis=0)
    return total


def _blocks(x: Array, present: Mask, weights: Floats | None) -> Iterator[tuple[Floats, Floats | None]]:
    for start in range(0, len(x), STATISTICS_ROWS):
        rows = start + np.flatnonzero(present[start : start + STATISTICS_ROWS])
        if len(rows):
            yield x[rows].astype(np.float64), None if weights is None else weights[rows]


def _of_sparse(x: Matrix, present: Mask, weights: Floats | None) -> Columns:
    if not x.has_canonical_format:
        x = x.copy()
        x.sum_duplicates()
    kept = np.repeat(present, np.diff(x.indptr))
    n_entries = len(kept)
    data, indices = x.data[:n_entries][kept].astype(np.float64), x.indices[:n_entries][kept]
    n_rows, width = _total(present, weights), x.shape[1]
    times = np.ones(n_entries) if weights is None else np.repeat(weights, np.diff(x.indptr))
    times = times[kept]
    n_stored = np.bincount(indices, times, width)
    largest = np.zeros(width)
    np.maximum.at(largest, indices, np.abs(data))
    factor = _towards_one(largest)
    scaled = data * factor[indices]
    mean = np.bincount(indices, scaled * times, width) / (n_rows or 1)
    stored = np.bincount(indices, (scaled - mean[indices]) ** 2 * times, width)
    square = stored + (n_rows - n_stored) * mean**2
    spread = _significant(np.sqrt(square / (n_rows or 1)), largest, factor)
    n_nonzero = np.bincount(indices[data != 0], times[data != 0], width)
    n_ones = float(times[data == 1].sum())
    n_values = np.full(width, n_rows)
    most = float(largest.max(initial=0.0))
    return Columns(n_rows, n_values, mean / factor, spread, n_nonzero, n_ones, _whole(data), True, most)


def _whole(values: Floats) -> bool:
    return bool((values == np.rint(values)).all() and (values >= 0).all())


def _towards_one(largest: Floats) -> Floats:
    """Return powers of two that scale columns to magnitude 1, so that no square over- or underflows."""
    exponents = np.clip(np.frexp(largest)[1], -1000, 1000)
    factor: Floats = np.where(largest > 0, np.ldexp(1.0, -exponents), 1.0)
    return factor


def _significant(spread: Floats, largest: Floats, factor: Floats) -> Floats:
    """Undo the scaling by `factor`; set spreads that are only rounding to 0."""
    significant = (spread > NO_SPREAD * largest * factor) & (largest > SMALLEST_VALUE)
    return np.where(significant, spread / factor, 0.0)
