"""Scaling of views: learnt per column from the first rows, then fixed; rows get unit length afterwards.

    unit      no scaling of columns (the paper)
    standard  subtract the column mean, divide by the standard deviation; sparse views keep their
              zeros, so their mean is not subtracted
    idf       multiply each column by log((1 + n) / (1 + rows with a non-zero value in it)) + 1

A missing view stays missing. A row that equals the mean in every column has no direction after
centring, and counts as missing in that view; so does a row of zeros, unless its columns are centred and it
was stated which views are missing (`Chunk.stated`).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse

from viewpass.kernels.backend import backend
from viewpass.kernels.grid import SMALLEST_SCALED, Floats, Integers, Mask
from viewpass.kernels.pool import Pool
from viewpass.kernels.portable import log
from viewpass.views.checks import check_columns
from viewpass.views.chunk import Chunk
from viewpass.views.columns import Columns, columns_of
from viewpass.views.rows import MeasuredRows

logger = logging.getLogger("viewpass")

LEARNT = ("standard", "idf")
NAMES = ("auto", "unit", *LEARNT)
MOSTLY_ZERO = 0.5  # a dense view of whole numbers is taken for counts below this share of non-zeros


@dataclass(frozen=True)
class Scale:
    """Scaling of one view: (x - mean) * weights, or x * weights if there is no mean."""

    name: str
    weights: Floats
    mean: Floats | None = None

    @property
    def zero(self) -> Floats | None:
        """A row of zeros in this scale; None if it has no direction there."""
        scaled = None if self.mean is None else -self.mean * self.weights
        return None if scaled is None or np.abs(scaled).max(initial=0.0) < SMALLEST_SCALED else scaled


@dataclass(frozen=True)
class Scaling:
    """Scaling of every view; None leaves the columns of a view as they are."""

    views: tuple[Scale | None, ...]

    @classmethod
    def none(cls, n_views: int) -> Scaling:
        """Return a scaling that changes no view."""
        return cls((None,) * n_views)

    @classmethod
    def learn(cls, rows: MeasuredRows, names: Sequence[str], weight_unit: int = 1) -> Scaling:
        """Learn from measured rows that were not scaled; `names` says how each view is to be scaled.

        A view that none of the rows has, or that is constant over them, is not scaled.
        """
        copies, views = rows.chunk.copies, list[Scale | None]()
        weights = None if copies is None else copies / weight_unit
        for v, (view, name) in enumerate(zip(rows.chunk.views, names, strict=True)):
            present = rows.present(v) & rows.counted
            learnt = None
            if name != "unit" and view is not None and present.any():
                learnt = learn_scale(columns_of(view, present, weights), name)
                zeros = rows.zeros(v) if rows.chunk.stated else ()
                if learnt is not None and learnt.mean is not None and len(zeros):
                    present[zeros] = True
                    learnt = learn_scale(columns_of(view, present, weights), learnt.name)
            views.append(learnt)
            if name != "unit":
                chosen = "unit" if learnt is None else learnt.name
                n_rows = present.sum()
                logger.info("view %r: scale %s, learnt from %d rows", rows.chunk.names[v], chosen, n_rows)
        return cls(tuple(views))

    @property
    def names(self) -> tuple[str, ...]:
        """The name of the scale of each view."""
        return tuple("unit" if scale is None else scale.name for scale in self.views)

    def same(self, other: Scaling) -> bool:
        """Return whether both scale every row in the same way."""
        pairs = zip(self.views, other.views, strict=True)
        return self.names == other.names and all(
            mine is None
            or theirs is None
            or (np.array_equal(mine.weights, theirs.weights) and _equal(mine.mean, theirs.mean))
            for mine, theirs in pairs
        )

    @property
    def plain(self) -> bool:
        """Whether no view is scaled."""
        return not any(self.views)

    def apply(self, chunk: Chunk, *, n_threads: int = 1, pool: Pool | None = None) -> Chunk:
        """Scale the views into new arrays; return the same chunk if there is nothing to scale.

        Rows that are partly NaN or hold inf stay as they are, to be refused when they are measured.
        """
        if self.plain:
            return chunk
        pool = pool or Pool()
        views = list(chunk.views)
        present: dict[int, Mask] = {}
        all_zero = chunk.all_zero
        for v, (view, scale) in enumerate(zip(chunk.views, self.views, strict=True)):
            if view is None or scale is None:
                continue
            sparse = scipy.sparse.issparse(view)
            if sparse and scale.mean is not None:  # the view was dense when its mean was learnt
                check_columns(view, f"view {chunk.names[v]!r}", chunk.start)
                view, sparse = view.toarray(), False
            values = view.data if sparse else view
            out = views[v] = pool.lend(values.size, values.dtype).reshape(values.shape)
            if scale.mean is not None:
                wanted, moments = chunk.wanted(v), (scale.mean, scale.weights)
                present[v] = backend().standardise(view, wanted, *moments, out, n_threads)
                zeros = chunk.zero_rows(v, np.flatnonzero(wanted & ~present[v]))
                if chunk.stated and scale.zero is not None:
                    out[zeros], present[v][zeros] = scale.zero, True
                elif len(zeros):
                    all_zero = _marked(all_zero, zeros, v, (chunk.n_rows, len(views)))
            elif sparse:
                end = int(view.indptr[-1])
                entries = view.data[:end], view.indices[:end]
                backend().weigh_entries(*entries, scale.weights, out[:end], n_threads)
                rows = views[v] = scipy.sparse.csr_array(view)  # shares the indices
                rows.data = out
            else:
                backend().weigh_rows(view, scale.weights, out, n_threads)
        return replace(chunk, views=tuple(views), observed=_observed(chunk, present), all_zero=all_zero)


def _marked(mask: Mask | None, rows: Integers, v: int, shape: tuple[int, int]) -> Mask:
    marked = np.zeros(shape, dtype=bool) if mask is None else mask.copy()
    marked[rows, v] = True
    return marked


def _equal(one: Floats | None, other: Floats | None) -> bool:
    return one is other if one is None or other is None else np.array_equal(one, other)


def _observed(chunk: Chunk, present: dict[int, Mask]) -> Mask | None:
    """Return the mask of a scaled chunk: rows without a direction after centring are missing."""
    if not present:
        return chunk.observed
    masks = [present[v] if v in present else chunk.wanted(v) for v in range(len(chunk.names))]
    return np.column_stack(masks)


def learn_scale(columns: Columns, name: str) -> Scale | None:
    """Learn the scale of one view; None leaves its columns as they are."""
    name = automatic(columns) if name == "auto" else name
    if name == "idf":
        n_rows = np.float64(columns.n_rows)
        # Unit length removes a common factor; with the largest weight at 1 nothing overflows.
        weights = log((1.0 + n_rows) / (1.0 + columns.n_nonzero)) + 1.0
        return Scale("idf", weights / weights.max())
    spread = columns.spread
    if name == "unit" or not spread.any():
        return None
    weights = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
    if columns.sparse:
        weights /= weights.max()
        return Scale("standard", np.where(spread > 0, weights, 1.0))
    return Scale("standard", np.where(spread > 0, weights, 1.0), columns.mean)


def automatic(columns: Columns) -> str:
    """Choose the scale that fits the values of a view (`scale="auto"`).

    Counts and indicators (whole numbers, mostly 1 where they are not 0) get idf weights, other dense
    views are standardised. Other sparse views are left as they are: usually they are weighted already.
    """
    if columns.counts and (columns.sparse or columns.density < MOSTLY_ZERO):
        return "idf"
    return "unit" if columns.sparse else "standard"
