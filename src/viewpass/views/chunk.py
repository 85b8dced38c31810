"""What travels: rows of every view, which of them are observed, and where in the data they stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from viewpass.errors import DataError
from viewpass.kernels.grid import Array, Mask, Matrix
from viewpass.views.checks import as_view, check_observed


@dataclass(frozen=True)
class Schema:
    """Names and widths of the views; a width is None until the view's first row is seen."""

    names: tuple[str, ...]
    widths: tuple[int | None, ...]

    def merged(self, other: Schema) -> Schema:
        """Take over widths that become known; refuse other names or widths."""
        if other.names != self.names:
            raise DataError(_other_views(self.names, other.names))
        for name, mine, theirs in zip(self.names, self.widths, other.widths, strict=True):
            if mine is not None and theirs is not None and mine != theirs:
                raise DataError(
                    f"view {name!r}: {theirs} columns where {mine} were expected. "
                    "Every chunk must have the columns the model was fitted with."
                )
        widths = tuple(
            theirs if mine is None else mine for mine, theirs in zip(self.widths, other.widths, strict=True)
        )
        return Schema(self.names, widths)


def _other_views(expected: Sequence[str], given: Sequence[str]) -> str:
    unknown = [name for name in given if name not in expected]
    if unknown:
        return f"view {unknown[0]!r} is unknown; the views are {', '.join(map(repr, expected))}."
    if sorted(expected) == sorted(given):
        return f"views {', '.join(map(repr, given))} come in another order than {', '.join(map(repr, expected))}."
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

    @classmethod
    def of(
        cls,
        views: Sequence[Any],
        *,
        names: Sequence[str] | None = None,
        observed: Any = None,
        start: int = 0,
        row_ids: Any = None,
    ) -> Chunk:
        """Check shapes and types and convert what the kernels cannot read as it is."""
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
        return cls(ready, names, n_rows, mask, start, row_ids)

    @property
    def schema(self) -> Schema:
        """Names and widths, as far as this chunk shows them."""
        return Schema(self.names, tuple(None if v is None else v.shape[1] for v in self.views))

    def wanted(self, v: int) -> Mask:
        """Which rows the caller lets view `v` have."""
        if self.observed is None:
            return np.ones(self.n_rows, dtype=bool)
        return np.ascontiguousarray(self.observed[:, v])

    def place(self, row: int) -> str:
        """Name a row for an error message."""
        number = f"row {self.start + row}"
        return number if self.row_ids is None else f"{number} (id {self.row_ids[row]!r})"

    def take(self, rows: Array) -> Chunk:
        """Some of the rows, as a chunk of its own (its row numbers are not those of the data)."""
        return Chunk(
            tuple(None if view is None else view[rows] for view in self.views),
            self.names,
            len(rows),
            None if self.observed is None else self.observed[rows],
        )

    def copy(self) -> Chunk:
        """Own the memory: the caller may write over his arrays."""
        return Chunk(
            tuple(None if view is None else view.copy() for view in self.views),
            self.names,
            self.n_rows,
            None if self.observed is None else self.observed.copy(),
            self.start,
            None if self.row_ids is None else self.row_ids.copy(),
        )


def default_names(n_views: int) -> tuple[str, ...]:
    """Names for views that have none."""
    return tuple(f"view{v}" for v in range(n_views))


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
