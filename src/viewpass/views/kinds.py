"""Statistics of the columns of a view, which scales are learnt from, and kinds of values.

Values of a kind are transformed row by row before their columns are scaled:

    counts       x -> log(1 + x s / t), where t is the total of the row and s the median total of the
                 sample (size factors); columns are then standardised, sparse views keep their zeros
    composition  x -> log x minus the mean of log x over the row (centred log-ratio), with zeros as half of
                 the smallest share of the sample; columns are then centred
    binary       marks of 0 and 1 (or between, where gaps were filled): not changed; columns are centred and
                 weighted by their rarity, so that a row without marks is data

Rows that are missing, partly missing or not finite stay as they are. Logarithms and sums are those of
kernels/portable.py and in a fixed order, so that every machine gets the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse

from viewpass.errors import DataError, SettingError, warn
from viewpass.kernels.grid import Array, Floats, Integers, Mask, Matrix, slices
from viewpass.kernels.portable import log, ordered_sum
from viewpass.views.chunk import Chunk

STATISTICS_ROWS = 256  # dense rows converted to float64 at a time; sums run over the rows in order


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
    """Undo the scaling by `factor`; set spreads that are only rounding, or of tiny values, to 0."""
    significant = (spread > 2.0**-40 * largest * factor) & (largest > 1e-280)
    return np.where(significant, spread / factor, 0.0)


KINDS = ("counts", "composition", "binary")
DENSE_ONLY = ("euclidean", "composition", "binary")
_EXPECTED = {
    "counts": "counts are 0 or larger. If these values are logarithms or centred, choose 'standard'",
    "composition": "parts are 0 or larger. If these are log-ratios, choose 'standard'",
    "binary": "marks are 0 or 1, or between. For others choose 'standard', for counts 'counts' or 'idf'",
}


def check_form(view: Matrix | None, name: str, view_name: str) -> None:
    """Refuse a sparse view in a scale that makes all of its values other than zero."""
    if name in DENSE_ONLY and view is not None and scipy.sparse.issparse(view):
        raise SettingError(
            f"scale {name!r}: view {view_name!r} is sparse, and centring would make it dense. Give it as a "
            "dense array, or choose 'unit', 'standard', 'idf' or 'counts' for it."
        )


def possible_kind(view: Matrix, present: Mask, columns: Columns) -> str | None:
    """The kind that the values of a view look like; None if they look like none."""
    if columns.whole and columns.largest == 1.0:
        return None if columns.sparse else "binary"
    if columns.whole:
        return "counts" if columns.largest >= 8 * columns.typical else None  # grey levels are not
    if columns.sparse or view.shape[1] < 3:
        return None
    totals = _totals(view[np.flatnonzero(present)])
    alike = bool((np.abs(totals - totals[0]) <= 1e-5 * totals[0]).all()) and totals[0] > 0
    return "composition" if alike and view[present].min() >= 0 else None


def learn_parameter(chunk: Chunk, v: int, name: str, present: Mask) -> float:
    """What a kind learns from the first rows: the median total, or what zeros are replaced by."""
    view = chunk.views[v]
    if name not in ("counts", "composition") or view is None:
        return 0.0
    _check_values(chunk, v, name)
    totals = _totals(view)
    whole = present & np.isfinite(totals) & (totals > 0)
    if not whole.any():
        return 1.0
    if name == "counts":
        return float(np.median(totals[whole]))
    shares = np.asarray(view[whole], dtype=np.float64) / totals[whole][:, None]
    return float(shares[shares > 0].min() / 2)


def transformed(chunk: Chunk, v: int, name: str, parameter: float) -> Matrix | None:
    """The rows of a view before its columns are scaled."""
    view = chunk.views[v]
    if view is None or name not in KINDS:
        return view
    _check_values(chunk, v, name)
    if name == "binary":
        return view
    totals = _totals(view)
    usable = np.isfinite(totals) & (totals > 0)
    divisor = np.where(usable, totals, 1.0)
    if scipy.sparse.issparse(view):
        made = scipy.sparse.csr_array(view)  # shares the indices
        n_stored = int(view.indptr[-1])
        each = np.repeat(np.arange(view.shape[0]), np.diff(view.indptr))
        values = view.data[:n_stored].astype(np.float64)
        changed = np.where(usable[each], _log_counts(values, divisor[each], parameter), values)
        made.data = changed.astype(view.dtype)
        if len(made.indices) > n_stored:
            made.indices = made.indices[:n_stored]
        return made
    out: Array = np.array(view)
    gaps = chunk.gaps_of(v)
    for some in slices(*view.shape):
        rows = some.start + np.flatnonzero(usable[some])
        values, total = view[rows].astype(np.float64), divisor[rows][:, None]
        if name == "counts":
            out[rows] = _log_counts(values, total, parameter)
        else:
            shares = values / total
            logs = log(np.where(shares > 0, shares, parameter))
            n_values = np.full(len(rows), logs.shape[1])
            if gaps is not None:
                logs[gaps[rows]] = 0.0
                n_values -= gaps[rows].sum(axis=1)
            out[rows] = logs - (ordered_sum(logs) / n_values)[:, None]
    return out


def _log_counts(values: Floats, totals: Floats, median: float) -> Floats:
    finite = np.isfinite(values)
    return np.where(finite, log(1.0 + np.where(finite, values, 0.0) * (median / totals)), values)


def _totals(view: Matrix) -> Floats:
    """The sum of every row, in a fixed order; not finite where a value is missing."""
    if not scipy.sparse.issparse(view):
        with np.errstate(invalid="ignore", over="ignore"):
            blocks = [ordered_sum(view[some].astype(np.float64)) for some in slices(*view.shape)]
        return np.concatenate([np.empty(0), *blocks])
    each = np.repeat(np.arange(view.shape[0]), np.diff(view.indptr))
    return np.bincount(each, view.data[: len(each)].astype(np.float64), view.shape[0]).astype(np.float64)


def without_unfit(chunk: Chunk, names: Sequence[str]) -> Chunk:
    """The rows, which lack a view where they hold values that are none of its kind; they count as all zero.

    For kinds that were chosen by the sample: another row must not end a fit that never asked for one.
    """
    hidden = np.zeros((chunk.n_rows, len(chunk.names)), dtype=bool)
    for v, name in enumerate(names):
        rows = _unfit(chunk, v, name)[0] if name in KINDS and chunk.views[v] is not None else ()
        if len(rows):
            hidden[rows, v] = True
            warn(
                f"view {chunk.names[v]!r}: its scale {name!r} was chosen by the sample, and other rows "
                f"hold other values: {_EXPECTED[name]}. Such rows count as lacking the view (n_all_zero_)."
            )
    if not hidden.any():
        return chunk
    observed = ~hidden if chunk.observed is None else chunk.observed & ~hidden
    all_zero = hidden if chunk.odd.all_zero is None else chunk.odd.all_zero | hidden
    return replace(chunk, observed=observed, odd=replace(chunk.odd, all_zero=all_zero))


def _check_values(chunk: Chunk, v: int, name: str) -> None:
    """Refuse values that are none of the kind, in rows that have the view."""
    rows, values = _unfit(chunk, v, name)
    if len(rows):
        raise DataError(
            f"view {chunk.names[v]!r}, {chunk.place(int(rows[0]))}: {values[0]:g} under the scale {name!r}; "
            f"{_EXPECTED[name]}."
        )


def _unfit(chunk: Chunk, v: int, name: str) -> tuple[Integers, Array]:
    """Values that are none of the kind in rows that have the view, and their rows."""
    view = chunk.views[v]
    sparse = scipy.sparse.issparse(view)
    assert view is not None
    values = view.data[: view.indptr[-1]] if sparse else view
    with np.errstate(invalid="ignore"):
        wrong = (values < 0) | (values > 1) if name == "binary" else values < 0
    if not wrong.any():
        return np.empty(0, dtype=np.int64), np.empty(0)
    rows = (
        np.repeat(np.arange(view.shape[0]), np.diff(view.indptr))[wrong] if sparse else np.nonzero(wrong)[0]
    )
    hit = np.flatnonzero(chunk.wanted(v)[rows])
    return rows[hit], values[wrong][hit]
