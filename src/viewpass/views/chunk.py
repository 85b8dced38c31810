"""A chunk: consecutive rows of every view, which of them are observed, and their place in the data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, TypeVar

import numpy as np
import scipy.sparse

from viewpass.errors import DataError
from viewpass.kernels.grid import Array, Integers, Mask, Matrix
from viewpass.views.checks import as_view, check_mask, common_length

T = TypeVar("T")


@dataclass(frozen=True)
class Schema:
    """Names and widths of the views; a width is None until a row of the view has been read.

    `columns` holds the column names of each view that has them; it is () if no view has.
    """

    names: tuple[str, ...]
    widths: tuple[int | None, ...]
    columns: tuple[tuple[Any, ...] | None, ...] = ()

    def columns_of(self, name: str) -> tuple[Any, ...] | None:
        """Names of the columns of a view, where it is known and has them."""
        return dict(zip(self.names, self.columns or (None,) * len(self.names), strict=True)).get(name)

    def arranged(self, names: tuple[str, ...]) -> Schema:
        """Views of these names: as they are here, or absent."""
        widths = dict(zip(self.names, self.widths, strict=True))
        columns = tuple(map(self.columns_of, names))
        known = columns if any(own is not None for own in columns) else ()
        return Schema(names, tuple(map(widths.get, names)), known)

    def merged(self, other: Schema) -> Schema:
        """Add the widths and columns that `other` knows; refuse those that contradict this schema."""
        if other.names != self.names:
            raise DataError(_other_views(self.names, other.names))
        for name, mine, theirs in zip(self.names, self.widths, other.widths, strict=True):
            if mine is not None and theirs is not None and mine != theirs:
                raise DataError(
                    f"view {name!r}: {theirs} columns where {mine} were expected. "
                    "Every chunk must have the columns the model was fitted with."
                )
        columns = self.columns or other.columns
        if self.columns and other.columns:
            for name, known, given in zip(self.names, self.columns, other.columns, strict=True):
                if known is not None and given is not None and known != given:
                    raise DataError(_other_columns(name, known, given))
            columns = _first_known(self.columns, other.columns)
        return Schema(self.names, _first_known(self.widths, other.widths), columns)


def _first_known(mine: tuple[T, ...], theirs: tuple[T, ...]) -> tuple[T, ...]:
    return tuple(b if a is None else a for a, b in zip(mine, theirs, strict=True))


def _other_columns(name: str, known: tuple[Any, ...], given: tuple[Any, ...]) -> str:
    column = next(column for column in range(len(known)) if known[column] != given[column])
    return (
        f"view {name!r}: column {column} is {given[column]!r} where {known[column]!r} was expected. "
        "Give the columns the model was fitted with, in the same order."
    )


def _other_views(expected: Sequence[str], given: Sequence[str]) -> str:
    known, found = ", ".join(map(repr, expected)), ", ".join(map(repr, given))
    unknown = [name for name in given if name not in expected]
    if unknown:
        return f"view {unknown[0]!r} is unknown; the views are {known}."
    if sorted(expected) == sorted(given):
        return f"views {found} come in another order than {known}."
    return (
        f"{len(given)} views ({found}) where {len(expected)} ({known}) were expected. "
        "Pass None for a view that is absent."
    )


@dataclass(frozen=True)
class Lengths:
    """Views whose rows keep their lengths, after scaling; rows of the others are brought to unit length.

    The kernels take rows no longer than 1, so they divide those of all views by `longest`, a power of two.
    """

    kept: tuple[bool, ...]  # per view
    longest: float  # that a row of any view may be
    reach: tuple[float, ...]  # per view: no row of this chunk is longer; 0 where lengths are not kept

    def joined(self, other: Lengths) -> Lengths:
        """Those of rows of both."""
        return replace(self, reach=tuple(map(max, self.reach, other.reach)))

    def at_most(self) -> Lengths:
        """Those of any rows."""
        return replace(self, reach=tuple(self.longest if kept else 0.0 for kept in self.kept))


@dataclass(frozen=True)
class Origin:
    """Where and when rows are from; no number of a model is computed from it."""

    start: int = 0  # number of the first row in the data
    ids: Array | None = None
    files: tuple[tuple[int, str], ...] = ()  # files the rows are from: number of its first row, name
    numbers: Integers | None = None  # of the rows in the data, where they do not follow each other
    kept: Any = None  # columns of the table that are kept as they are, an Arrow table of all rows
    times: Integers | None = None  # of the rows, in microseconds, where the source is `timed`

    def place(self, row: int) -> str:
        """Describe a row for an error message: its number in the data, its file, its id."""
        number = self.start + row if self.numbers is None else int(self.numbers[row])
        details = [f"row {number - first} of {file}" for first, file in self.files if first <= number][-1:]
        if self.ids is not None:
            details.append(f"id {format_id(self.ids[row])}")
        return f"row {number} ({', '.join(details)})" if details else f"row {number}"

    def cut(self, first: int, last: int) -> Origin:
        """That of rows `first` to `last - 1`."""
        return Origin(
            self.start + first,
            None if self.ids is None else self.ids[first:last],
            self.files,
            None if self.numbers is None else self.numbers[first:last],
            None if self.kept is None else self.kept.slice(first, last - first),
            None if self.times is None else self.times[first:last],
        )

    @classmethod
    def joined(cls, parts: Sequence[Origin]) -> Origin:
        """That of consecutive rows, without columns that are kept."""
        ids = None
        if all(part.ids is not None for part in parts):
            ids = np.concatenate([np.asarray(part.ids) for part in parts])
        return cls(parts[0].start, ids, tuple(dict.fromkeys(file for part in parts for file in part.files)))


@dataclass(frozen=True)
class Oddities:
    """What is odd about rows, which counts of rows report (sums/row_counts.py): rows x views each."""

    all_zero: Mask | None = None  # rows of zeros that count as missing, where scaling or joining found them
    shortened: Mask | None = None  # scaled rows that were longer than rows may be
    # How many values each row lacks, negative where so many that it lacks the view.
    lacking: Array | None = None

    def each(self, make: Callable[[Array], Array]) -> Oddities:
        """All of them changed alike."""
        return Oddities(*_each((self.all_zero, self.shortened, self.lacking), make))

    @classmethod
    def joined(cls, chunks: Sequence[Chunk]) -> Oddities:
        """Those of the rows of several chunks."""
        return cls(
            _filled([chunk.odd.all_zero for chunk in chunks], chunks, False),
            _filled([chunk.odd.shortened for chunk in chunks], chunks, False),
            _filled([chunk.odd.lacking for chunk in chunks], chunks, 0),
        )


@dataclass(frozen=True)
class Chunk:
    """Consecutive rows: one matrix per view, or None if none of the rows has the view.

    Use `Chunk.of` for data that has not been checked. The arrays are never written to.
    """

    views: tuple[Matrix | None, ...]
    names: tuple[str, ...]
    n_rows: int
    observed: Mask | None = None
    origin: Origin = field(default_factory=Origin)
    columns: tuple[tuple[Any, ...] | None, ...] = ()
    copies: Integers | None = None  # how many equal rows each one counts as (Plan.weight_unit); None: one
    stated: bool = False  # missing views were marked (a mask, nulls, absent ids), so a row of zeros is data
    odd: Oddities = Oddities()
    lengths: Lengths | None = None  # of scaled rows, where some views keep them; None: unit length in all
    # Per view: values missing inside rows, 0 in the view until the scale fills them (views/gaps.py); None:
    # none are. (): they were not looked for, and are refused.
    gaps: tuple[Mask | None, ...] = ()
    unmapped: Chunk | None = None  # the rows in their own columns, in views that were mapped (projection.py)

    @classmethod
    def of(
        cls,
        views: Sequence[Any],
        *,
        names: Sequence[str] | None = None,
        observed: Any = None,
        start: int = 0,
        row_ids: Any = None,
        columns: tuple[tuple[Any, ...] | None, ...] = (),
    ) -> Chunk:
        """Check shapes and types, and convert views that the kernels cannot read.

        A view without columns is absent.
        """
        names = default_names(len(views)) if names is None else tuple(names)
        ready = tuple(
            None if view is None else as_view(view, name, start)
            for view, name in zip(views, names, strict=True)
        )
        n_rows = common_length(ready, names)
        mask = None if observed is None else check_mask(observed, ready, names, n_rows, start)
        present = tuple(None if view is None or not view.shape[1] else view for view in ready)
        origin = Origin(start, row_ids)
        return cls(present, names, n_rows, mask, origin, columns, stated=mask is not None)

    @property
    def start(self) -> int:
        """Number of the first row in the data."""
        return self.origin.start

    @property
    def row_ids(self) -> Array | None:
        """Ids of the rows, where the data has them."""
        return self.origin.ids

    @property
    def schema(self) -> Schema:
        """Names and widths, as far as this chunk shows them: those of the data, before views are mapped."""
        return Schema(self.names, _each(self.own_views, lambda view: view.shape[1]), self.columns)

    @property
    def own_views(self) -> tuple[Matrix | None, ...]:
        """The views in their own columns."""
        if self.unmapped is None:
            return self.views
        return tuple(b if a is None else a for a, b in zip(self.unmapped.views, self.views, strict=True))

    @property
    def n_copies(self) -> int:
        """Number of rows, each as often as it counts."""
        return self.n_rows if self.copies is None else int(self.copies.sum())

    def wanted(self, v: int) -> Mask:
        """Which rows of view `v` the mask marks as observed; all of them without a mask."""
        if self.observed is None:
            return np.ones(self.n_rows, dtype=bool)
        return np.ascontiguousarray(self.observed[:, v])

    def views_there(self, known: Sequence[bool] = ()) -> list[bool]:
        """Which views some row has, or `known` to be there already."""
        return [before or self._has(v) for v, before in enumerate(known or [False] * len(self.views))]

    def _has(self, v: int) -> bool:
        view = self.views[v]
        if view is None or not (wanted := self.wanted(v)).any():
            return False
        return scipy.sparse.issparse(view) or not np.isnan(np.asarray(view)[wanted]).all()

    def gaps_of(self, v: int) -> Mask | None:
        """Which values are missing inside rows of view `v`; None: none are, or they were not looked for."""
        return self.gaps[v] if self.gaps else None

    def place(self, row: int) -> str:
        """Describe a row for an error message."""
        return self.origin.place(row)

    def numbered(self, numbers: Integers, start: int = 0) -> Chunk:
        """The same rows, with their numbers in the data for messages; they count from `start` on."""
        return replace(self, origin=replace(self.origin, start=start, numbers=numbers))

    def take(self, rows: Array) -> Chunk:
        """Copy some of the rows into a chunk of their own, numbered from 0."""
        return Chunk(
            _each(self.views, lambda view: view[rows]),
            self.names,
            len(rows),
            None if self.observed is None else self.observed[rows],
            copies=None if self.copies is None else self.copies[rows],
            stated=self.stated,
            gaps=_each(self.gaps, lambda mask: mask[rows]),
            lengths=self.lengths,
            unmapped=None if self.unmapped is None else self.unmapped.take(rows),
        )

    def cut(self, first: int, last: int) -> Chunk:
        """Return rows `first` to `last - 1` of the chunk, which keep their numbers, without copying."""
        return replace(
            self,
            views=_each(self.views, lambda view: cut_rows(view, first, last)),
            n_rows=last - first,
            observed=None if self.observed is None else self.observed[first:last],
            origin=self.origin.cut(first, last),
            copies=None if self.copies is None else self.copies[first:last],
            odd=self.odd.each(lambda values: values[first:last]),
            gaps=_each(self.gaps, lambda mask: mask[first:last]),
            unmapped=None if self.unmapped is None else self.unmapped.cut(first, last),
        )

    def zero_rows(self, v: int, among: Integers) -> Integers:
        """Those of the rows `among` that are all zero in view `v`; NaN is not zero."""
        x = self.views[v]
        if x is None or not len(among):
            return among[:0]
        if scipy.sparse.issparse(x):
            n_before = np.concatenate(([0], np.cumsum(x.data[: x.indptr[-1]] != 0)))
            zero = n_before[x.indptr[among]] == n_before[x.indptr[among + 1]]
        else:
            among = among[x[among, 0] == 0]
            zero = ~x[among].any(axis=1)
        found: Integers = among[zero]
        return found

    def hiding_zeros(self) -> Chunk:
        """The same rows, with rows of zeros marked as missing."""
        if self.stated:
            return self
        found = np.zeros((self.n_rows, len(self.names)), dtype=bool)
        for v in range(len(self.names)):
            found[self.zero_rows(v, np.flatnonzero(self.wanted(v))), v] = True
        known = np.ones_like(found) if self.observed is None else self.observed
        return replace(self, observed=known & ~found, odd=replace(self.odd, all_zero=found), stated=True)

    def without(self, hidden: Sequence[bool]) -> Chunk:
        """Return the same rows without the views that are `hidden`."""
        if not any(hidden):
            return self
        views = (None if hide else view for view, hide in zip(self.views, hidden, strict=True))
        unmapped = None if self.unmapped is None else self.unmapped.without(hidden)
        return replace(self, views=tuple(views), unmapped=unmapped)

    def copy(self) -> Chunk:
        """Copy the arrays, so that the caller may overwrite the originals."""
        return replace(
            self,
            views=_each(self.views, lambda view: view.copy()),
            observed=None if self.observed is None else self.observed.copy(),
            origin=replace(self.origin, ids=None if self.row_ids is None else self.row_ids.copy()),
            copies=None if self.copies is None else self.copies.copy(),
            odd=self.odd.each(lambda values: values.copy()),
            unmapped=None if self.unmapped is None else self.unmapped.copy(),
        )


def _each(views: Sequence[Matrix | None], make: Callable[[Matrix], Any]) -> tuple[Any, ...]:
    return tuple(None if view is None else make(view) for view in views)


def default_names(n_views: int) -> tuple[str, ...]:
    """Name views that were given without names."""
    return tuple(f"view{v}" for v in range(n_views))


def unique_names(names: Iterable[Any]) -> tuple[str, ...]:
    """Convert names to text; refuse duplicates."""
    texts = tuple(map(str, names))
    for text in texts:
        if texts.count(text) > 1:
            raise DataError(f"two views are named {text!r}: give each a name of its own.")
    return texts


def format_id(id: Any) -> str:
    """Format an id for a message: 7, 'a', 2026-01-31."""
    if isinstance(id, np.datetime64 | np.timedelta64):
        return str(id)
    return repr(id.item() if isinstance(id, np.generic) else id)


def cut_rows(x: Matrix, first: int, last: int) -> Matrix:
    """Return rows `first` to `last - 1` of a matrix without copying its values."""
    if not scipy.sparse.issparse(x):
        return x[first:last]
    begin, end = x.indptr[first], x.indptr[last]
    rows = scipy.sparse.csr_array((last - first, x.shape[1]), dtype=x.dtype)
    # Assigned one by one: the constructor would copy short slices of long arrays.
    rows.data, rows.indices = x.data[begin:end], x.indices[begin:end]
    if end - begin >= 2**31:
        rows.indices = rows.indices.astype(np.int64)
    rows.indptr = (x.indptr[first : last + 1] - begin).astype(rows.indices.dtype)
    return rows


def join(chunks: Sequence[Chunk]) -> Chunk:
    """Concatenate consecutive chunks."""
    if len(chunks) == 1:
        return chunks[0]
    if any(chunk.stated for chunk in chunks):
        chunks = [chunk.hiding_zeros() for chunk in chunks]
    names = chunks[0].names
    present = np.array([[view is not None for view in chunk.views] for chunk in chunks])
    masks = [  # a view that a chunk lacks becomes rows of zeros, which are not data
        np.broadcast_to(there, (chunk.n_rows, len(names)))
        & (True if chunk.observed is None else chunk.observed)
        for chunk, there in zip(chunks, present, strict=True)
    ]
    needless = all(chunk.observed is None for chunk in chunks) and (present == present[0]).all()
    lengths = [chunk.lengths for chunk in chunks if chunk.lengths is not None]
    unmapped = [chunk.unmapped for chunk in chunks if chunk.unmapped is not None]
    gaps = (_filled([chunk.gaps_of(v) for chunk in chunks], chunks, False) for v in range(len(names)))
    return Chunk(
        tuple(_stack([chunk.views[v] for chunk in chunks], chunks) for v in range(len(names))),
        names,
        sum(chunk.n_rows for chunk in chunks),
        None if needless else np.concatenate(masks),
        Origin.joined([chunk.origin for chunk in chunks]),
        copies=_filled([chunk.copies for chunk in chunks], chunks, 1),
        stated=chunks[0].stated,
        odd=Oddities.joined(chunks),
        lengths=reduce(Lengths.joined, lengths) if lengths else None,
        gaps=tuple(gaps) if any(chunk.gaps for chunk in chunks) else (),
        unmapped=None if not unmapped else join(unmapped),
    )


def _filled(parts: Sequence[Array | None], chunks: Sequence[Chunk], value: int) -> Array | None:
    """Values of rows, one part per chunk, joined; a chunk that has none gets `value`. None: none has any."""
    like = next((part for part in parts if part is not None), None)
    if like is None:
        return None
    found = (
        np.full((chunk.n_rows, *like.shape[1:]), value, dtype=like.dtype) if part is None else part
        for part, chunk in zip(parts, chunks, strict=True)
    )
    return np.concatenate(list(found))


def _stack(parts: Sequence[Matrix | None], chunks: Sequence[Chunk]) -> Matrix | None:
    present = [part for part in parts if part is not None]
    if not present:
        return None
    dtype = np.result_type(*(part.dtype for part in present))
    sparse = any(scipy.sparse.issparse(part) for part in present)
    empty = scipy.sparse.csr_array if sparse else np.zeros
    rows = [
        empty((chunk.n_rows, present[0].shape[1]), dtype=dtype) if part is None else part
        for part, chunk in zip(parts, chunks, strict=True)
    ]
    if not sparse:
        return np.concatenate(rows, dtype=dtype)
    return scipy.sparse.vstack([scipy.sparse.csr_array(part, dtype=dtype) for part in rows], format="csr")
