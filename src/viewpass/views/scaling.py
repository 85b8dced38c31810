"""Views in a scale learnt from the first rows and then frozen; unit length follows, as always.

    unit      nothing but unit length: the paper
    standard  every column less its mean, divided by its spread; sparse rows keep their zeros (no mean)
    idf       every column times log((1 + n) / (1 + rows that have it)) + 1; zeros are kept

A row that is absent stays absent. One that equals the mean in every column has no direction: it
counts as missing in that view.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse

from viewpass.kernels.backend import backend
from viewpass.kernels.grid import Array, Floats, Mask, Matrix
from viewpass.kernels.pool import Pool
from viewpass.kernels.portable import log
from viewpass.views.checks import check_columns
from viewpass.views.chunk import Chunk
from viewpass.views.columns import Columns, columns_of
from viewpass.views.rows import MeasuredRows

logger = logging.getLogger("viewpass")

LEARNT = ("standard", "idf")
NAMES = ("auto", "unit", *LEARNT)
MOSTLY_ZERO = 0.5  # a dense view holds counts, not measurements, if a smaller share is not zero


@dataclass(frozen=True)
class Scale:
    """How one view is scaled: (x - mean) * weights, or x * weights where there is no mean."""

    name: str
    weights: Floats
    mean: Floats | None = None


@dataclass(frozen=True)
class Scaling:
    """How each view is scaled; None: by nothing but unit length."""

    views: tuple[Scale | None, ...]

    @classmethod
    def none(cls, n_views: int) -> Scaling:
        """Unit length alone."""
        return cls((None,) * n_views)

    @classmethod
    def learn(cls, rows: MeasuredRows, names: Sequence[str]) -> Scaling:
        """Learn from rows as they came, measured; `names` says how each view is to be scaled.

        A view that none of the rows has, or in which they are all the same, is left at unit length.
        """
        views: list[Scale | None] = []
        for v, (view, name) in enumerate(zip(rows.chunk.views, names, strict=True)):
            if name == "unit":
                views.append(None)
                continue
            present = rows.present(v)
            learnt = None
            if view is not None and present.any():
                learnt = learn_scale(columns_of(view, present), name)
            views.append(learnt)
            told = "unit" if learnt is None else learnt.name
            logger.info("view %r: scale %s, learnt from %d rows", rows.chunk.names[v], told, present.sum())
        return cls(tuple(views))

    @property
    def names(self) -> tuple[str, ...]:
        """What was learnt, a name a view."""
        return tuple("unit" if scale is None else scale.name for scale in self.views)

    def same(self, other: Scaling) -> bool:
        """Whether both do the same to every row."""
        pairs = zip(self.views, other.views, strict=True)
        return self.names == other.names and all(
            mine is None
            or theirs is None
            or (np.array_equal(mine.weights, theirs.weights) and _equal(mine.mean, theirs.mean))
            for mine, theirs in pairs
        )

    @property
    def plain(self) -> bool:
        """Whether nothing is done to any view."""
        return not any(self.views)

    def apply(self, chunk: Chunk, *, n_threads: int = 1, pool: Pool | None = None) -> Chunk:
        """The chunk with its views scaled, in arrays of their own; the same chunk if there is nothing to do.

        Rows that are partly NaN or hold inf are passed on as they are: whoever measures them names them.
        """
        if self.plain:
            return chunk
        worker = _Worker(n_threads, pool or Pool())
        views = list(chunk.views)
        present: dict[int, Mask] = {}
        for v, (view, scale) in enumerate(zip(chunk.views, self.views, strict=True)):
            if view is None or scale is None:
                continue
            if scale.mean is None:
                views[v] = worker.weighed(view, scale.weights)
                continue
            if scipy.sparse.issparse(view):  # of a view that was dense when its mean was learnt
                check_columns(view, f"view {chunk.names[v]!r}", chunk.start)
                view = view.toarray()
            views[v], present[v] = worker.standardised(view, chunk.wanted(v), scale.mean, scale.weights)
        return replace(chunk, views=tuple(views), observed=_observed(chunk, present))


def _equal(one: Floats | None, other: Floats | None) -> bool:
    return one is other if one is None or other is None else np.array_equal(one, other)


def _observed(chunk: Chunk, present: dict[int, Mask]) -> Mask | None:
    """The mask of a scaled chunk, which also says which rows its centred views have."""
    if not present:
        return chunk.observed
    masks = [present[v] if v in present else chunk.wanted(v) for v in range(len(chunk.names))]
    return np.column_stack(masks)


def learn_scale(columns: Columns, name: str) -> Scale | None:
    """The scale of one view; None is unit length."""
    name = suited(columns) if name == "auto" else name
    if name == "idf":
        n_rows = np.float64(columns.n_rows)
        # A common factor means nothing before unit length: with the largest at 1 nothing overflows.
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


def suited(columns: Columns) -> str:
    """The scale that goes with what the data is, as far as its values tell ("auto").

    Counts and marks (whole numbers, most often 1 where they are not 0) are weighed, other dense
    views standardised. Other sparse views stay as they are: most often they were weighed already.
    """
    if columns.counts and (columns.sparse or columns.density < MOSTLY_ZERO):
        return "idf"
    return "unit" if columns.sparse else "standard"


class _Worker:
    """Scales the views of one chunk."""

    def __init__(self, n_threads: int, pool: Pool) -> None:
        self._n_threads, self._pool = n_threads, pool

    def _room(self, x: Array) -> Array:
        return self._pool.lend(x.size, x.dtype).reshape(x.shape)

    def standardised(self, x: Array, wanted: Mask, mean: Floats, weights: Floats) -> tuple[Array, Mask]:
        """Dense rows less the mean, weighed; and which of them are present."""
        out = self._room(x)
        present: Mask = backend().standardise(x, wanted, mean, weights, out, self._n_threads)
        return out, present

    def weighed(self, x: Matrix, weights: Floats) -> Matrix:
        """Rows of any kind, weighed: what is zero or NaN stays so."""
        if scipy.sparse.issparse(x):
            data, n_stored = self._room(x.data), int(x.indptr[-1])
            parts = x.data[:n_stored], x.indices[:n_stored], weights, data[:n_stored]
            backend().weigh_entries(*parts, self._n_threads)
            return _like(x, data)
        out = self._room(x)
        backend().weigh_rows(x, weights, out, self._n_threads)
        return out


def _like(x: Matrix, data: Array) -> Matrix:
    """A CSR matrix of other values in the same places, which it shares."""
    other = scipy.sparse.csr_array(x)
    other.data = data
    return other
