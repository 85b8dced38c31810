"""Scaling of views: learnt per column from the first rows, then fixed; rows get unit length afterwards.

    unit       no scaling of columns (the paper)
    standard   subtract the column mean, divide by the standard deviation; sparse views keep their
               zeros, so their mean is not subtracted
    idf        multiply each column by log((1 + n) / (1 + rows with a non-zero value in it)) + 1
    euclidean  subtract the column mean, divide the view by the root mean square of its rows' lengths:
               rows keep their lengths, so distances are Euclidean. Dense views only (not if views are mapped
               afterwards, which brings rows to unit length: views/projection.py)
    counts, composition, binary
               for values of these kinds: transformed row by row first (views/kinds.py)

A missing view stays missing. A row that equals the mean in every column has no direction after centring, so
it counts as missing in that view. So does a row of zeros, unless its columns are centred and missing views
are marked (`Chunk.stated`). Where lengths are kept, both are data: a length may be 0.

Sums are exact on a grid that takes rows of length 1 at most (kernels/grid.py). Where lengths are kept, the
kernels divide all views by one power of two, at least ROOM times the longest row that the scale was learnt
from. Later rows that are longer are shortened to it, and counted. The grid is then 2^-33 times this power, in
units of the root mean square length: with the usual 16, about 2e-9.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse

from viewpass.kernels.backend import backend
from viewpass.kernels.grid import SMALLEST_SCALED, Floats, Integers, Mask, Matrix
from viewpass.kernels.pool import Pool
from viewpass.kernels.portable import log, ordered_sum
from viewpass.views.checks import check_columns
from viewpass.views.chunk import Chunk, Lengths
from viewpass.views.gaps import Completion, filled
from viewpass.views.kinds import (
    KINDS,
    Columns,
    check_form,
    columns_of,
    euclidean,
    learn_parameter,
    transformed,
    without_unfit,
)
from viewpass.views.projection import Projection
from viewpass.views.rows import MeasuredRows

logger = logging.getLogger("viewpass")

LEARNT = ("standard", "idf", "euclidean", *KINDS)
ROOM = 4.0  # how much longer than the first rows others may be, at least, where lengths are kept
SCALE_NAMES = ("auto", "unit", *LEARNT)


@dataclass(frozen=True)
class Scale:
    """Scaling of one view: (x - mean) * weights, or x * weights if there is no mean."""

    name: str
    weights: Floats
    mean: Floats | None = None
    longest: float = 0.0  # that a row may be where lengths are kept; 0: rows are brought to unit length
    fill: Floats | None = None  # what values that rows lack take: the means of the columns
    parameter: float = 0.0  # of a kind of values (views/kinds.py)

    @property
    def zero(self) -> Floats | None:
        """A row of zeros in this scale; None if it has no direction there."""
        scaled = None if self.mean is None else -self.mean * self.weights
        if scaled is not None and self.longest:
            length = float(np.sqrt(ordered_sum(scaled * scaled)))
            return scaled * (self.longest / length) if length > self.longest else scaled
        return None if scaled is None or np.abs(scaled).max(initial=0.0) < SMALLEST_SCALED else scaled


@dataclass(frozen=True)
class Scaling:
    """Scaling of every view; None leaves the columns of a view as they are."""

    views: tuple[Scale | None, ...]
    completion: Completion | None = None  # fills values that rows lack before the columns are scaled
    projection: Projection | None = None  # maps views to fewer columns after they are scaled
    chosen: tuple[bool, ...] = ()  # views whose kind nobody asked for: rows that do not fit lack them

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
        for v, name in enumerate(names):
            learnt, n_rows = _learnt_scale(rows, v, name, weights)
            views.append(learnt)
            if name != "unit":
                chosen = "unit" if learnt is None else learnt.name
                logger.info("view %r: scale %s, learnt from %d rows", rows.chunk.names[v], chosen, n_rows)
        return cls(tuple(views)).with_common_length()

    def with_common_length(self) -> Scaling:
        """The same with one longest length for all views that keep lengths."""
        if self.lengths is None:
            return self
        longest = self.longest
        views = (s if s is None or not s.longest else replace(s, longest=longest) for s in self.views)
        return replace(self, views=tuple(views))

    def mapped(self, projection: Projection | None) -> Scaling:
        """The same with a map behind it; rows do not keep their lengths then."""
        views = (None if scale is None else replace(scale, longest=0.0) for scale in self.views)
        return replace(self, views=tuple(views), projection=projection)

    @property
    def longest(self) -> float:
        """The longest that a row may be, where some views keep their lengths; 0 where none does."""
        return max((scale.longest for scale in self.views if scale is not None), default=0.0)

    @property
    def unit(self) -> float:
        """What the kernels divide rows by: the longest that they get; 1 where all are of unit length."""
        return self.longest or 1.0

    @property
    def lengths(self) -> Lengths | None:
        """Which views keep their lengths; None if none does."""
        kept = tuple(scale is not None and scale.longest > 0 for scale in self.views)
        reach = tuple(self.unit if keeps else 0.0 for keeps in kept)
        return Lengths(kept, self.unit, reach) if any(kept) else None

    @property
    def names(self) -> tuple[str, ...]:
        """The name of the scale of each view."""
        return tuple("unit" if scale is None else scale.name for scale in self.views)

    @property
    def plain(self) -> bool:
        """Whether no view is scaled or mapped."""
        return not any(self.views) and self.projection is None

    def widths(self, widths: Sequence[int | None]) -> tuple[int | None, ...]:
        """Columns of each view as the kernels take it, given those of the data; None: not known."""
        return tuple(widths) if self.projection is None else self.projection.widths(widths)

    def apply(self, chunk: Chunk, *, n_threads: int = 1, pool: Pool | None = None) -> Chunk:
        """Scale (and map) the views into new arrays; return the same chunk if there is nothing to do.

        Rows that are partly NaN or hold inf stay as they are, to be refused when they are measured.
        """
        if any(self.chosen):
            pairs = zip(self.names, self.chosen, strict=True)
            chunk = without_unfit(chunk, [name if chosen else "unit" for name, chosen in pairs])
        if self.completion is not None:
            chunk = self.completion.apply(chunk)
        if self.plain and not chunk.gaps:
            return chunk
        pool = pool or Pool()
        views = [_scaled(chunk, v, scale, pool, n_threads) for v, scale in enumerate(self.views)]
        scaled = replace(
            chunk,
            views=tuple(own.values for own in views),
            observed=_observed(chunk, views),
            odd=replace(chunk.odd, all_zero=_all_zero(chunk, views)),
            gaps=(),
        )
        if self.projection is not None:
            return self.projection.apply(scaled, n_threads=n_threads)
        lengths = self.lengths
        return scaled if lengths is None else _with_squares(scaled, lengths, [own.squares for own in views])


@dataclass(frozen=True)
class _ScaledView:
    values: Matrix | None
    present: Mask | None = None  # which rows have the view; None: as before
    squares: Floats | None = None  # of their lengths before rows are shortened, where lengths are kept
    zeros: Integers | None = None  # rows that were all zero, where the columns were centred
    zeros_count: bool = False  # these rows are data; otherwise the view is missing in them


def _scaled(chunk: Chunk, v: int, scale: Scale | None, pool: Pool, n_threads: int) -> _ScaledView:
    """One view in its scale; a row with gaps that no means fill lacks the view."""
    view, gaps, present = chunk.views[v], chunk.gaps_of(v), None
    if gaps is not None and (scale is None or scale.fill is None):
        present = chunk.wanted(v) & ~gaps.any(axis=1)
    if view is None or scale is None:
        return _ScaledView(view, present)
    own = transformed(chunk, v, scale.name, scale.parameter)
    if scale.fill is not None:
        own = filled(own, gaps, scale.fill)
    if scale.mean is None:
        return _ScaledView(_weighed(own, scale.weights, pool, n_threads), present)
    return _centred(chunk, v, scale, own, pool, n_threads)


def _weighed(view: Matrix, weights: Floats, pool: Pool, n_threads: int) -> Matrix:
    """Rows times the weights of their columns; sparse rows share the indices."""
    if not scipy.sparse.issparse(view):
        out = pool.lend(view.size, view.dtype).reshape(view.shape)
        backend().weigh_rows(view, weights, out, n_threads)
        return out
    values, end = pool.lend(view.data.size, view.dtype), int(view.indptr[-1])
    backend().weigh_entries(view.data[:end], view.indices[:end], weights, values[:end], n_threads)
    rows = scipy.sparse.csr_array(view)
    rows.data = values
    return rows


def _centred(chunk: Chunk, v: int, scale: Scale, view: Matrix, pool: Pool, n_threads: int) -> _ScaledView:
    """Rows minus the mean, in the unit of their columns or of the view."""
    if scipy.sparse.issparse(view):  # it was dense when this was learnt
        check_columns(view, f"view {chunk.names[v]!r}", chunk.start)
        view = view.toarray()
    out = pool.lend(view.size, view.dtype).reshape(view.shape)
    wanted, zero, squares = chunk.wanted(v), scale.zero, None
    if scale.longest:
        given = wanted, scale.mean, float(scale.weights[0]), scale.longest
        present, squares = backend().centre_rows(view, *given, out, n_threads)
    else:
        present = backend().standardise(view, wanted, scale.mean, scale.weights, out, n_threads)
    zeros = chunk.zero_rows(v, np.flatnonzero(wanted & ~present))
    if scale.longest and chunk.odd.all_zero is not None:  # hidden by a join before the scale was known
        zeros = np.union1d(zeros, np.flatnonzero(chunk.odd.all_zero[:, v]))
    zeros_count = scale.longest > 0 or _zeros_are_data(scale.name, chunk)
    if zero is None:  # they have no direction
        zeros_count = False
    elif zeros_count:
        out[zeros], present[zeros] = zero, True
        if squares is not None:
            squares[zeros] = ordered_sum(zero * zero)
    gaps = chunk.gaps_of(v)
    if gaps is not None:
        out[gaps] = 0.0  # the mean is 0 in this scale, whatever its rounding
    return _ScaledView(out, present, squares, zeros, zeros_count)


def _zeros_are_data(name: str, chunk: Chunk) -> bool:
    """Whether rows of zeros are data where columns are centred."""
    return name == "binary" or (chunk.stated and name != "composition")


def _with_squares(chunk: Chunk, lengths: Lengths, squares: Sequence[Floats | None]) -> Chunk:
    """The scaled rows with their lengths, given their squares before they were shortened to the longest."""
    most = lengths.longest
    longest = [0.0 if own is None else float(np.sqrt(own.max(initial=0.0))) for own in squares]
    lengths = replace(lengths, reach=tuple(min(length, most) for length in longest))
    shortened = None
    if max(longest) > most:
        none = np.zeros(chunk.n_rows, dtype=bool)
        shortened = np.column_stack([none if own is None else own > most**2 for own in squares])
    return replace(chunk, lengths=lengths, odd=replace(chunk.odd, shortened=shortened))


def _learnt_scale(rows: MeasuredRows, v: int, name: str, weights: Floats | None) -> tuple[Scale | None, int]:
    """The scale of a view, and from how many rows it was learnt."""
    present, gaps = rows.present(v) & rows.counted, rows.chunk.gaps_of(v)
    check_form(rows.chunk.views[v], name, rows.chunk.names[v])
    parameter = learn_parameter(rows.chunk, v, name, present)
    view, learnt = transformed(rows.chunk, v, name, parameter), None
    if name != "unit" and view is not None and present.any():
        columns = columns_of(view, present, weights, gaps)
        learnt = learn_scale(columns, name)
        zeros = _zeros_that_are_data(rows, v, name)
        if learnt is not None and learnt.mean is not None and len(zeros):
            present[zeros] = True
            columns = columns_of(view, present, weights, gaps)
            learnt = learn_scale(columns, learnt.name)
        if learnt is not None and learnt.name == "euclidean":
            learnt = _with_lengths(learnt, columns, filled(view, gaps, columns.mean), present)
        if learnt is not None and parameter:
            learnt = replace(learnt, parameter=parameter)
    if rows.chunk.gaps and isinstance(view, np.ndarray) and present.any():
        unscaled = Scale("unit", np.ones(view.shape[1]))
        means = columns_of(view, present, weights, gaps).mean
        learnt = replace(unscaled if learnt is None else learnt, fill=means)
    return learnt, int(present.sum())


def _with_lengths(scale: Scale, columns: Columns, view: Matrix, present: Mask) -> Scale:
    """The scale with the factor of the view and the longest length that rows may have, a power of two."""
    factor, longest = euclidean(columns, view, present)
    largest = float(np.ldexp(1.0, int(np.frexp(ROOM * longest)[1])))
    return replace(scale, weights=np.full(len(columns.mean), factor), longest=largest)


def _zeros_that_are_data(rows: MeasuredRows, v: int, name: str) -> Integers:
    """Rows of zeros that count, should the scale have a mean."""
    zeros = rows.zeros(v)
    if name == "euclidean":
        hidden = rows.chunk.odd.all_zero
        return zeros if hidden is None else np.union1d(zeros, np.flatnonzero(hidden[:, v]))
    return zeros if _zeros_are_data(name, rows.chunk) else zeros[:0]


def _all_zero(chunk: Chunk, views: Sequence[_ScaledView]) -> Mask | None:
    """Rows of zeros that count as missing, those included that have lost their direction."""
    marked = chunk.odd.all_zero
    for v, own in enumerate(views):
        if own.zeros is not None and len(own.zeros) and not (marked is None and own.zeros_count):
            shape = chunk.n_rows, len(views)
            marked = np.zeros(shape, dtype=bool) if marked is None else marked.copy()
            marked[own.zeros, v] = not own.zeros_count
    return marked


def _observed(chunk: Chunk, views: Sequence[_ScaledView]) -> Mask | None:
    """The mask of a scaled chunk: rows without a direction after centring are missing."""
    if all(own.present is None for own in views):
        return chunk.observed
    masks = (chunk.wanted(v) if own.present is None else own.present for v, own in enumerate(views))
    return np.column_stack(list(masks))


def learn_scale(columns: Columns, name: str) -> Scale | None:
    """Learn the scale of one view; None leaves its columns as they are."""
    name = automatic(columns) if name == "auto" else name
    if name == "idf":
        # Unit length removes a common factor; with the largest weight at 1 nothing overflows.
        weights = _rarity(columns)
        return Scale("idf", weights / weights.max())
    spread = columns.spread
    if name == "unit" or not spread.any():
        return None
    weights = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
    if name == "composition":
        return Scale(name, np.ones_like(spread), columns.mean)
    if name == "binary":
        rarity = _rarity(columns)
        return Scale(name, rarity / rarity.max(), columns.mean)
    if name == "euclidean":  # its factor and longest length come from the rows
        return Scale(name, np.ones_like(spread), columns.mean)
    if columns.sparse:
        weights /= weights.max()
        return Scale(name, np.where(spread > 0, weights, 1.0))
    return Scale(name, np.where(spread > 0, weights, 1.0), columns.mean)


def _rarity(columns: Columns) -> Floats:
    return log((1.0 + columns.n_values) / (1.0 + columns.n_nonzero)) + 1.0


def automatic(columns: Columns) -> str:
    """Choose the scale that fits the values of a view (`scale="auto"`).

    Counts and indicators (whole numbers, mostly 1 where not 0, and half of a dense view 0) get idf weights,
    other dense views are standardised. Other sparse views stay: usually they are weighted already.
    """
    if columns.counts and (columns.sparse or columns.density < 0.5):
        return "idf"
    return "unit" if columns.sparse else "standard"
