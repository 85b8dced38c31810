"""Values missing inside a view (`missing_entries`): found before rows are measured, then filled.

A row with at least LEAST_HELD of the values of a dense view has the view; a row with fewer lacks it.
Missing values are replaced by the means of their columns (`"fill"`), which the scale has learnt from the
sample (views/scaling.py), or by the values of similar rows (`"local"`).

Similar rows are summed up by prototypes: small clusters of the sample, whose values are means over the rows
that have them (solve/completion.py). A row is compared with the prototypes over the values it has in
its dense views, by the mean squared difference per value in each view, in units of the columns' spreads. A
gap takes the mean of the nearest NEAREST_PROTOTYPES.

The same prototypes are chosen on every machine, by every BLAS and for any chunks, since differences are
computed without rounding. Values and prototypes are multiples of QUANTUM no larger than MOST_SPREADS. So all
products and sums of a view are whole numbers below 2^53 in units of QUANTUM^2, in whatever order they are
added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from viewpass.kernels.grid import Array, Floats, Mask, Matrix, slices
from viewpass.views.chunk import Chunk

LEAST_HELD = 0.1  # of a view's values; a row with fewer counts as lacking the view
GAP_RULES = ("refuse", "fill", "local")


def with_gaps(chunk: Chunk) -> Chunk:
    """The same rows with values that are missing marked (`Chunk.gaps`), set to 0 and counted."""
    views, gaps = list(chunk.views), list[Mask | None]()
    lacking, hidden = np.zeros((chunk.n_rows, len(views)), dtype=np.int32), dict[int, Mask]()
    for v, view in enumerate(chunk.views):
        missing = np.isnan(view) if isinstance(view, np.ndarray) else np.zeros((0, 0), dtype=bool)
        if not missing.any():
            gaps.append(None)
            continue
        assert isinstance(view, np.ndarray)
        width, n_held = view.shape[1], (~missing).sum(axis=1)
        partly = chunk.wanted(v) & (n_held > 0) & (n_held < width)
        few = partly & (n_held < LEAST_HELD * width)
        kept = partly & ~few
        if few.any():
            hidden[v] = few
        mask = missing & kept[:, None]
        lacking[:, v] = np.where(kept, width - n_held, 0) - np.where(few, width - n_held, 0)
        gaps.append(mask if kept.any() else None)
        if kept.any():
            views[v] = np.where(mask, view.dtype.type(0), view)
    counted = lacking if lacking.any() else None
    odd = replace(chunk.odd, lacking=counted)
    return hiding(replace(chunk, views=tuple(views), gaps=tuple(gaps), odd=odd), hidden)


def hiding(chunk: Chunk, rows: dict[int, Mask]) -> Chunk:
    """The same without these rows of some views."""
    if not rows:
        return chunk
    observed = np.ones((chunk.n_rows, len(chunk.names)), dtype=bool)
    if chunk.observed is not None:
        observed &= chunk.observed
    for v, hidden in rows.items():
        observed[hidden, v] = False
    return replace(chunk, observed=observed)


def filled(view: Matrix, gaps: Mask | None, values: Floats) -> Matrix:
    """A view with the values of its columns where it has gaps."""
    return view if gaps is None else np.where(gaps, values.astype(view.dtype), view)


QUANTUM, MOST_SPREADS = 2.0**-8, 8.0  # in units of a column's spread
NEAREST_PROTOTYPES = 3  # whose mean a gap takes


@dataclass(frozen=True)
class Prototypes:
    """Prototypes of one view: values in units of the spreads, around the means."""

    mean: Floats
    spread: Floats  # 1 for a column without any
    values: Floats  # prototypes x columns, multiples of QUANTUM

    def quantised(self, x: Array, held: Mask) -> Floats:
        """Rows in whole numbers of QUANTUM; 0 where a value is missing."""
        units = np.clip((x.astype(np.float64) - self.mean) / self.spread, -MOST_SPREADS, MOST_SPREADS)
        rounded: Floats = np.rint(np.where(held, units, 0.0) / QUANTUM)
        return rounded

    def differences(self, x: Array, held: Mask) -> Floats:
        """The mean squared difference of each row from each prototype, over the values that it has."""
        rows, own, mask = self.quantised(x, held), self.values / QUANTUM, held.astype(np.float64)
        total = (rows * rows).sum(axis=1)[:, None] - 2.0 * (rows @ own.T) + mask @ (own * own).T
        found: Floats = total / np.maximum(mask.sum(axis=1), 1.0)[:, None]
        return found

    def filled(self, x: Array, gaps: Mask, nearest: Array) -> Array:
        """Rows whose gaps take the mean of their nearest prototypes."""
        values = self.values[nearest[:, 0]].copy()
        for place in range(1, nearest.shape[1]):
            values += self.values[nearest[:, place]]
        means = self.mean + self.spread * (values / nearest.shape[1])
        made: Array = np.where(gaps, means.astype(x.dtype), x)
        return made


@dataclass(frozen=True)
class Completion:
    """Prototypes of every view; None for one that has none: sparse, or not in the sample."""

    views: tuple[Prototypes | None, ...]

    def apply(self, chunk: Chunk) -> Chunk:
        """The same rows without gaps; a row with gaps in a view without prototypes lacks that view."""
        if not any(gaps is not None for gaps in chunk.gaps):
            return replace(chunk, gaps=()) if chunk.gaps else chunk
        gapped = np.zeros(chunk.n_rows, dtype=bool)
        hidden: dict[int, Mask] = {}
        for v, gaps in enumerate(chunk.gaps):
            if gaps is not None and self.views[v] is not None:
                gapped |= np.asarray(gaps.any(axis=1))
            elif gaps is not None:
                hidden[v] = np.asarray(gaps.any(axis=1))
        views = list(chunk.views)
        for v, gaps in enumerate(chunk.gaps):
            if gaps is not None:
                views[v] = np.array(views[v])
        n_values = sum(sum(own.values.shape) for own in self.views if own is not None)  # and differences
        for some in slices(chunk.n_rows, n_values):
            rows = some.start + np.flatnonzero(gapped[some])
            if len(rows):
                self._fill(chunk, rows, views)
        return hiding(replace(chunk, views=tuple(views), gaps=()), hidden)

    def _fill(self, chunk: Chunk, rows: Array, views: Sequence[Any]) -> None:
        nearest = self.nearest(chunk, rows)
        for v, (own, gaps) in enumerate(zip(self.views, chunk.gaps, strict=True)):
            view = chunk.views[v]
            if own is not None and gaps is not None and isinstance(view, np.ndarray):
                views[v][rows] = own.filled(view[rows], gaps[rows], nearest)

    def nearest(self, chunk: Chunk, rows: Array) -> Array:
        """The nearest prototypes of some rows, over all values that they have."""
        total: Floats | None = None
        for v, own in enumerate(self.views):
            view, gaps = chunk.views[v], chunk.gaps[v]
            if own is None or not isinstance(view, np.ndarray):
                continue
            there = chunk.wanted(v)[rows] & ~np.isnan(view[rows]).any(axis=1)
            held = np.repeat(there[:, None], view.shape[1], axis=1)
            if gaps is not None:
                held &= ~gaps[rows]
            found = np.where(there[:, None], own.differences(view[rows], held), 0.0)
            total = found if total is None else total + found
        assert total is not None
        order: Array = np.argsort(total, axis=1, kind="stable")[:, :NEAREST_PROTOTYPES]
        return order
