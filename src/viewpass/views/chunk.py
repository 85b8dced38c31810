"""What travels: rows of every view, which of them are observed, and where in the data they stand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import scipy.sparse

from viewpass.errors import DataError
from viewpass.kernels.grid import Array, Mask, Matrix
from viewpass.views.checks import as_view, check_columns, check_observed

T = TypeVar("T")


@dataclass(frozen=True)
class Schema:
    """Names and widths of the views; a width is None until the view's first row is seen.

    Views that come with names for their columns have them in `columns`; () if none does.
    """

    names: tuple[str, ...]
    widths: tuple[int | None, ...]
    columns: tuple[tuple[Any, ...] | None, ...] = ()

    def merged(self, other: Schema) -> Schema:
        """Take over widths and columns that become known; refuse others than those that are."""
        if other.names != self.names:
            raise DataError(_other_views(self.names, other.names))
        for name, mine, theirs in zip(self.names, self.widths, other.widths, strict=True):
            if mine is not None and theirs is not None and mine != theirs:
                raise DataError(
                    f"view {name!r}: {theirs} columns where {mine} were expected. "
                    "Every chunk must have the columns the model was fitted with."
                )
        if self.columns and other.columns:
            for name, known, given in zip(self.names, self.columns, other.columns, strict=True):
                if known is not None and given is not None and known != given:
                    raise DataError(_other_columns(name, known, given))
        return Schema(self.names, _known(self.widths, other.widths), self._known_columns(other))

    def _known_columns(self, other: Schema) -> tuple[tuple[Any, ...] | None, ...]:
        if self.columns and other.columns:
            return _known(self.columns, other.columns)
        return self.columns or other.columns


def _known(mine: tuple[T, ...], theirs: tuple[T, ...]) -> tuple[T, ...]:
    return tuple(b if a is None else a for a, b in zip(mine, theirs, strict=True))


def _other_columns(name: str, known: tuple[Any, ...], given: tuple[Any, ...]) -> str:
    place = next(place for place in range(len(known)) if known[place] != given[place])
    return (
        f"view {name!r}: column {place} is {given[place]!r} where {known[place]!r} was expected. "
        "Give the columns the model was fitted with, in the same order."
    )


def _other_views(expected: Sequence[str], given: Sequence[str]) -> str:
    unknown = [name for name in given if name not in expected]
    if unknown:
        return f"view {unknown[0]!r} is unknown; the views are {', '.join(map(repr, expected))}."
    if sorted(expected) == sorted(given):
        order = ", ".join(map(repr, expected))
        return f"views {', '.join(map(repr, given))} come in another order than {order}."
    return (
        f"{len(given)} views ({', '.join(map(repr, given))}) where {len(expected)} "
        f"({', '.join(map(repr, expected))}) were expected. Pass None for a view that is absent."
    )


@dataclass(frozen=True)
class Chunk:
    """Some consecutive rows: a matrix a view (None where the view is absent from all of them).

    Build it with `Chunk.of`, which checks and converts; the arrays are read, never written.
    """

    views: tuple[Matrix | None, ...]
    names: tuple[str, ...]
    n_rows: int
    observed: Mask | None = None
    start: int = 0
    row_ids: Array | None = None
    columns: tuple[tuple[Any, ...] | None, ...] = ()
    files: tuple[tuple[int, str], ...] = ()  # the row of the data at which a file begins, and the file

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
        """Check shapes and types and convert what the kernels cannot read as it is.

        A view without columns is absent.
        """
        names = default_names(len(views)) if names is None else tuple(names)
        ready = tuple(
            None if view is None else as_view(view, name) for view, name in zip(views, names, strict=True)
        )
        lengths = [(name, v.shape[0]) for name, v in zip(names, ready, strict=True) if v is not None]
        if not lengths:
            raise DataError("every view of the chunk is None: there are no rows to read.")
        name, n_rows = lengths[0]
        for other, length in lengths[1:]:
            if length != n_rows:
                raise DataError(
                    f"view {other!r} has {length} rows, view {name!r} has {n_rows}. Row i of every "
                    "view must be the same item; mark absent ones with NaN or observed=."
                )
        mask = None if observed is None else check_observed(observed, n_rows, len(names))
        if mask is not None:  # the kernels pass over what the mask hides; others must be able to read it
            for name, view in zip(names, ready, strict=True):
                if scipy.sparse.issparse(view):
                    check_columns(view, f"view {name!r}", start)
        present = tuple(None if view is None or not view.shape[1] else view for view in ready)
        return cls(present, names, n_rows, mask, start, row_ids, columns)

    @property
    def schema(self) -> Schema:
        """Names and widths, as far as this chunk shows them."""
        widths = tuple(None if v is None else v.shape[1] for v in self.views)
        return Schema(self.names, widths, self.columns)

    def wanted(self, v: int) -> Mask:
        """Which rows the caller lets view `v` have."""
        if self.observed is None:
            return np.ones(self.n_rows, dtype=bool)
        return np.ascontiguousarray(self.observed[:, v])

    def place(self, row: int) -> str:
        """Name a row for an error message."""
        number = self.start + row
        told = [f"row {number - first} of {file}" for first, file in self.files if first <= number][-1:]
        if self.row_ids is not None:
            told.append(f"id {told_id(self.row_ids[row])}")
        return f"row {number} ({', '.join(told)})" if told else f"row {number}"

    def take(self, rows: Array) -> Chunk:
        """Some of the rows, as a chunk of its own (its row numbers are not those of the data)."""
        return Chunk(
            tuple(None if view is None else view[rows] for view in self.views),
            self.names,
            len(rows),
            None if self.observed is None else self.observed[rows],
        )

    def cut(self, first: int, last: int) -> Chunk:
        """Consecutive rows, which keep their numbers."""
        return Chunk(
            tuple(None if view is None else cut_rows(view, first, last) for view in self.views),
            self.names,
            last - first,
            None if self.observed is None else self.observed[first:last],
            self.start + first,
            None if self.row_ids is None else self.row_ids[first:last],
            self.columns,
            self.files,
        )

    def without(self, hidden: Sequence[bool]) -> Chunk:
        """The same rows as if they lacked some views."""
        if not any(hidden):
            return self
        views = (None if hide else view for view, hide in zip(self.views, hidden, strict=True))
        return replace(self, views=tuple(views))

    def copy(self) -> Chunk:
        """Own the memory: the caller may write over his arrays."""
        return Chunk(
            tuple(None if view is None else view.copy() for view in self.views),
            self.names,
            self.n_rows,
            None if self.observed is None else self.observed.copy(),
            self.start,
            None if self.row_ids is None else self.row_ids.copy(),
            self.columns,
            self.files,
        )


def default_names(n_views: int) -> tuple[str, ...]:
    """Names for views that have none."""
    return tuple(f"view{v}" for v in range(n_views))


def unique_names(names: Iterable[Any]) -> tuple[str, ...]:
    """Names as text; refuse two that are the same."""
    texts = tuple(map(str, names))
    for text in texts:
        if texts.count(text) > 1:
            raise DataError(f"two views are named {text!r}: give each a name of its own.")
    return texts


def told_id(id: Any) -> str:
    """An id as a message shows it: 7, 'a', 2026-01-31."""
    if isinstance(id, np.datetime64 | np.timedelta64):
        return str(id)
    return repr(id.item() if isinstance(id, np.generic) else id)


def cut_rows(x: Matrix, first: int, last: int) -> Matrix:
    """Consecutive rows of a matrix, without copying its values."""
    if not scipy.sparse.issparse(x):
        return x[first:last]
    begin, end = x.indptr[first], x.indptr[last]
    rows = scipy.sparse.csr_array((last - first, x.shape[1]), dtype=x.dtype)
    # Set one by one: a constructor that is given them copies short pieces of long arrays.
    rows.data, rows.indices = x.data[begin:end], x.indices[begin:end]
    if end - begin >= 2**31:
        rows.indices = rows.indices.astype(np.int64)
    rows.indptr = (x.indptr[first : last + 1] - begin).astype(rows.indices.dtype)
    return rows


def join(chunks: Sequence[Chunk]) -> Chunk:
    """Put consecutive chunks together into one."""
    if len(chunks) == 1:
        return chunks[0]
    n_views = len(chunks[0].names)
    n_rows = sum(chunk.n_rows for chunk in chunks)
    return Chunk(
        tuple(_stack([chunk.views[v] for chunk in chunks], chunks) for v in range(n_views)),
        chunks[0].names,
        n_rows,
        _stack_masks(chunks),
        chunks[0].start,
        None
        if any(chunk.row_ids is None for chunk in chunks)
        else np.concatenate([np.asarray(chunk.row_ids) for chunk in chunks]),
        files=tuple(dict.fromkeys(file for chunk in chunks for file in chunk.files)),
    )


def _stack(parts: Sequence[Matrix | None], chunks: Sequence[Chunk]) -> Matrix | None:
    present = [part for part in parts if part is not None]
    if not present:
        return None
    width = present[0].shape[1]
    dtype = np.result_type(*(part.dtype for part in present))
    if any(scipy.sparse.issparse(part) for part in present):
        return scipy.sparse.csr_array(
            scipy.sparse.vstack(
                [
                    scipy.sparse.csr_array((chunk.n_rows, width), dtype=dtype)
                    if part is None
                    else scipy.sparse.csr_array(part, dtype=dtype)
                    for part, chunk in zip(parts, chunks, strict=True)
                ],
                format="csr",
            )
        )
    return np.concatenate(
        [
            np.zeros((chunk.n_rows, width), dtype=dtype) if part is None else part
            for part, chunk in zip(parts, chunks, strict=True)
        ],
        dtype=dtype,
    )


def _stack_masks(chunks: Sequence[Chunk]) -> Mask | None:
    if all(chunk.observed is None for chunk in chunks):
        return None
    n_views = len(chunks[0].names)
    return np.concatenate(
        [
            np.ones((chunk.n_rows, n_views), dtype=bool) if chunk.observed is None else chunk.observed
            for chunk in chunks
        ]
    )
