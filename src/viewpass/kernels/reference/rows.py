"""Rows of several views and their norms, and exact sums of them (Eq. 12)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse

from viewpass.kernels.grid import STEP, Array, Floats, Integers, Labels, Mask, RowKind
from viewpass.kernels.portable import ordered_sum, unit_rows

LARGEST_SQUARE = 2.0**900  # sums of squares beyond it, or below its inverse, have lost digits


class Rows:
    """Consecutive rows; `measure` computes their norms."""

    def __init__(
        self,
        views: Sequence[Any],
        observed: Mask | None,
        weights: Any,
        inverse: Floats,
        kinds: Array,
        measured: bool,
        copies: Integers | None = None,
        reaches: Sequence[float] = (),
    ) -> None:
        self.views = list(views)
        self.observed = observed
        self.weights = np.asarray(weights)  # |x|^2 of rows that are present
        # 0 where rows are brought to that length; else they keep theirs, times the root of the weight.
        self.reaches = list(reaches) or [0.0] * len(self.views)
        self.inverse, self.kinds = inverse, kinds
        self.measured = measured
        # How many equal rows each one counts as.
        self.copies = np.ones(self.n_rows, dtype=np.int64) if copies is None else copies

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.inverse.shape[1])

    @property
    def n_views(self) -> int:
        """Number of views, given or not."""
        return len(self.views)

    @property
    def has_any(self) -> Mask:
        """Whether a row has any view."""
        return np.asarray((self.inverse > 0).any(axis=0))

    @property
    def seen(self) -> Mask:
        """Whether any row that counts has a view, for each view."""
        return np.asarray(((self.inverse > 0) & (self.copies > 0)).any(axis=1))

    def mean(self, v: int, *, zeros_too: bool) -> Floats:
        """The mean of a view's rows, each as often as it counts; `zeros_too`: absent ones are zeros."""
        number = int(self.copies[self.has_any if zeros_too else self.inverse[v] > 0].sum())
        mean: Floats = (self.copies[:, None] * self.steps(v)).sum(axis=0) * STEP / number
        return mean

    def measure(self, n_threads: int) -> int:
        """Norms and kinds of all rows. Gives the worst kind."""
        for v, view in enumerate(self.views):
            self.inverse[v], self.kinds[v] = 0.0, 0
            if view is None:
                continue
            wanted = np.ones(self.n_rows, dtype=bool) if self.observed is None else self.observed[:, v]
            odd = _odd_columns(view, self.n_rows)
            inverse, kinds = measure(
                self._dense(v), wanted & (odd == RowKind.PRESENT), kept=self.reaches[v] > 0
            )
            self.inverse[v] = inverse * np.sqrt(self.weights[v])
            self.kinds[v] = np.where(wanted & (odd != RowKind.PRESENT), odd, kinds)
        self.measured = True
        return int(self.kinds.max(initial=0))

    def part(self, begin: int, end: int) -> Rows:
        """Some of the rows, in the same memory."""
        cut = [
            None if x is None else (*x[:2], x[2][begin : end + 1], x[3]) if _is_csr(x) else x[begin:end]
            for x in self.views
        ]
        observed = None if self.observed is None else self.observed[begin:end]
        known = self.inverse[:, begin:end], self.kinds[:, begin:end]
        copies = self.copies[begin:end]
        return Rows(cut, observed, self.weights, *known, self.measured, copies, self.reaches)

    def width(self, v: int) -> int:
        """Columns of a view; 0 if it was not given."""
        view = self.views[v]
        return 0 if view is None else int(view[3] if _is_csr(view) else view.shape[1])

    def squares(self, v: int) -> Floats:
        """|x|^2 of every row in a view; 0 where it is absent."""
        if self.reaches[v] == 0:
            return np.where(self.inverse[v] > 0, self.weights[v], 0.0)
        if self.views[v] is None:
            return np.zeros(self.n_rows)
        x, scale = self.values(v), self.inverse[v]
        squares: Floats = ordered_sum(x * x) * (scale * scale)
        return squares

    def steps(self, v: int) -> Integers:
        """The unit rows of a view in grid steps; absent ones are zero."""
        return unit_rows(self._dense(v), self.inverse[v])

    def values(self, v: int) -> Floats:
        """A view's rows, not scaled, in float64; absent ones are zero."""
        return np.where((self.inverse[v] > 0)[:, None], self._dense(v), 0.0).astype(np.float64)

    def _dense(self, v: int) -> Array:
        view = self.views[v]
        if not _is_csr(view):
            return np.asarray(view)
        values, columns, starts, width = view
        first, last = int(starts[0]), int(starts[-1])
        inside = (columns[first:last] >= 0) & (columns[first:last] < width)
        parts = values[first:last], np.where(inside, columns[first:last], 0), starts - first
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(scipy.sparse.csr_array(parts, shape=(self.n_rows, max(width, 1))).toarray())


def measure(x: Array, wanted: Mask, *, kept: bool = False) -> tuple[Floats, Integers]:
    """Give 1 / |x_i| of every row (0 where absent) and the kind of every row.

    `kept`: rows keep their lengths, which may be 0: 1 where they are present.
    """
    values = np.asarray(x, dtype=np.float64)
    n_missing = np.isnan(values).sum(axis=1)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        square = ordered_sum(values * values)
        inverse = 1.0 / np.sqrt(square)
    status = np.full(len(values), RowKind.PRESENT, dtype=np.int64)
    if not kept:
        status[(square < 1.0 / LARGEST_SQUARE) | (square > LARGEST_SQUARE)] = RowKind.EXTREME
        status[~values.any(axis=1)] = RowKind.ABSENT
    status[np.isinf(values).any(axis=1)] = RowKind.INFINITE
    status[n_missing > 0] = RowKind.PARTLY_NAN
    status[n_missing == values.shape[1]] = RowKind.ABSENT
    status[~wanted] = RowKind.ABSENT
    if kept:
        inverse[:] = 1.0
    inverse[status != RowKind.PRESENT] = 0.0
    return inverse, status


def _is_csr(view: Any) -> bool:
    return isinstance(view, tuple)


def _odd_columns(view: Any, n_rows: int) -> Integers:
    """Whether the columns of CSR rows lie outside, or do not rise."""
    odd = np.full(n_rows, RowKind.PRESENT, dtype=np.int64)
    if _is_csr(view):
        _, columns, starts, width = view
        for i in range(n_rows):
            mine = columns[starts[i] : starts[i + 1]]
            if len(mine) and (mine.min() < 0 or mine.max() >= width):
                odd[i] = RowKind.OUTSIDE
            elif (np.diff(mine) <= 0).any():
                odd[i] = RowKind.UNSORTED
    return odd


def accumulate(
    rows: Rows,
    which: Array | None,
    labels: Labels,
    sign: int,
    sums: Sequence[Integers],
    counts: Integers,
    n_threads: int,
) -> None:
    """Add rows to the sums and counts of their clusters, each as often as it counts; sign = -1: subtract.

    INOUT sums, counts.
    """
    chosen = np.arange(rows.n_rows) if which is None else which
    for v in range(rows.n_views):
        if rows.views[v] is None:
            continue
        taken = chosen[(rows.inverse[v, chosen] > 0) & (labels[chosen] >= 0)]
        times = sign * rows.copies[taken]
        np.add.at(sums[v], labels[taken], times[:, None] * rows.steps(v)[taken])
        np.add.at(counts[v], labels[taken], times)
