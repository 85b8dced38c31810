"""Source of views whose rows are matched by id: frames, AnnData and MuData, in memory or in files."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse

from viewpass.errors import DataError
from viewpass.kernels.grid import Array, Integers, Matrix
from viewpass.sources.files import File
from viewpass.sources.ids import warn_apart
from viewpass.sources.source import Source, ahead, chunk_end
from viewpass.views.checks import as_view, number_type
from viewpass.views.chunk import Chunk, Schema, format_id, join

NEAR_ROWS = 64  # rows of a file this close to each other are read together
SEARCHED_ROWS = 4096  # rows read at a time in search of a value


class Rows(metaclass=ABCMeta):
    """Rows of one view, taken by their numbers."""

    shape: tuple[int, int]
    columns: tuple[Any, ...] | None = None
    sparse: bool = False
    row_bytes: float = 0.0
    part: str = ""
    """Which matrix of an object they are."""

    @abstractmethod
    def take(self, wanted: slice | Integers) -> Matrix:
        """Some of the rows."""

    def at(self, places: Integers) -> Matrix | None:
        """The rows at these places, without entries where a place is -1; None if all are."""
        held = places >= 0
        wanted = places[held]
        if not len(wanted):
            return None
        first, stop = int(wanted[0]), int(wanted[-1]) + 1
        consecutive = stop - first == len(wanted) and (np.diff(wanted) == 1).all()
        found = self.take(slice(first, stop) if consecutive else wanted)
        return found if held.all() else _spread(found, held)

    def suited(self, columns: Sequence[Any], name: str) -> Rows:
        """The same rows in the columns of a model, where they are made of others."""
        return self


class MatrixRows(Rows):
    """Rows of an array or CSR matrix, in memory or in a file (`stored`)."""

    def __init__(
        self, values: Any, name: str, columns: tuple[Any, ...] | None, part: str, *, stored: bool = False
    ) -> None:
        if getattr(values, "ndim", len(getattr(values, "shape", ()))) != 2:
            raise DataError(
                f"view {name!r} has shape {getattr(values, 'shape', None)}; expected rows x columns."
            )
        number_type(np.dtype(values.dtype), name)
        self.values, self.name, self.stored = values, name, stored
        self.columns, self.part = columns, part
        self.shape = int(values.shape[0]), int(values.shape[1])
        self.sparse = getattr(values, "format", None) == "csr"
        self.row_bytes = float(np.dtype(values.dtype).itemsize * self.shape[1])

    def take(self, wanted: slice | Integers) -> Matrix:
        """Some of the rows; those of a file that are near each other are read together."""
        if isinstance(wanted, slice) or not self.stored:
            start = wanted.start if isinstance(wanted, slice) else 0
            return as_view(self._read(wanted), self.name, start)
        order = np.argsort(wanted, kind="stable")
        runs = np.split(wanted[order], np.flatnonzero(np.diff(wanted[order]) > NEAR_ROWS) + 1)
        parts = [self.take(slice(int(run[0]), int(run[-1]) + 1))[run - run[0]] for run in runs]
        stack = scipy.sparse.vstack(parts, format="csr") if self.sparse else np.concatenate(parts)
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return stack[back]

    def _read(self, wanted: slice | Integers) -> Any:
        return self.values[wanted]

    def check_some_values(self, where: str) -> None:
        """Refuse a matrix without a single number: it is all NaN."""
        n_rows, width = self.shape
        for first in range(0, n_rows, SEARCHED_ROWS):
            part = self.take(slice(first, min(first + SEARCHED_ROWS, n_rows)))
            values = part.data if self.sparse else part
            if (self.sparse and part.nnz < part.shape[0] * width) or not np.isnan(values).all():
                return
        if n_rows and width:
            raise DataError(
                f"{where} holds NaN only: no observation has it. Leave the modality out, or name the layer "
                "or the embedding that holds its values (layer=, use_rep=)."
            )


def _spread(rows: Matrix, held: Array) -> Matrix:
    """Rows at the places that are held; those between have no entries."""
    if not scipy.sparse.issparse(rows):
        spread = np.zeros((len(held), rows.shape[1]), dtype=rows.dtype)
        spread[held] = rows
        return spread
    lengths = np.zeros(len(held), dtype=rows.indptr.dtype)
    lengths[held] = np.diff(rows.indptr)
    starts = np.concatenate((lengths[:1] * 0, np.cumsum(lengths, dtype=rows.indptr.dtype)))
    return scipy.sparse.csr_array((rows.data, rows.indices, starts), shape=(len(held), rows.shape[1]))


class View(NamedTuple):
    """What is known of one view without reading it, and where its rows are."""

    places: Integers  # per row of the piece: its row in the view, -1 where it is missing
    width: int
    columns: tuple[Any, ...] | None
    sparse: bool
    row_bytes: float
    part: str

    @classmethod
    def of(cls, rows: Rows, places: Integers) -> View:
        """That of some rows."""
        return cls(places, rows.shape[1], rows.columns, rows.sparse, rows.row_bytes, rows.part)


@dataclass(frozen=True)
class Piece:
    """Consecutive rows of all views: those of objects in memory, or of one file."""

    ids: Array
    views: dict[str, View]
    opened: Callable[[], AbstractContextManager[Mapping[str, Rows]]]
    file: File | None = None

    @classmethod
    def of(cls, ids: Array, rows: dict[str, Rows], places: Mapping[str, Integers]) -> Piece:
        """Rows in memory."""
        views = {name: View.of(own, places[name]) for name, own in rows.items()}
        return cls(ids, views, partial(_in_memory, rows))

    def suited(self, schema: Schema) -> Piece:
        """The same rows in the columns of a model."""
        if self.file is not None:
            return self
        with self.opened() as rows:
            fitted = {name: own.suited(schema.columns_of(name) or (), name) for name, own in rows.items()}
        return Piece.of(self.ids, fitted, {name: view.places for name, view in self.views.items()})


def _in_memory(rows: dict[str, Rows]) -> AbstractContextManager[Mapping[str, Rows]]:
    return nullcontext(rows)


class MatchedSource(Source):
    """Items whose views are matched by id (`row_ids`). Made by `vp.frames` and `vp.from_mudata`."""

    n_rows: int
    row_ids: Array

    def __init__(self, pieces: Sequence[Piece], kind: str, id_name: str | None = None) -> None:
        self._pieces, self._kind, self.id_name = list(pieces), kind, id_name
        _check_alike(pieces)
        _check_apart(pieces)
        self.row_ids = np.concatenate([piece.ids for piece in pieces])
        self._starts = np.cumsum([0, *(len(piece.ids) for piece in pieces)])
        self.n_rows = len(self.row_ids)
        places = {
            name: np.concatenate([piece.views[name].places for piece in pieces]) for name in pieces[0].views
        }
        warn_apart({name: self.row_ids[own >= 0] for name, own in places.items()}, places)
        self.in_memory = all(piece.file is None for piece in pieces)
        self.portable = not self.in_memory
        if not self.in_memory:
            sizes = (sum(view.row_bytes for view in piece.views.values()) for piece in pieces)
            self.row_bytes = int(max(sizes)) + 1
        self.sparse_widths = {
            name: view.width for piece in pieces for name, view in piece.views.items() if view.sparse
        }
        self.schema = self._own_schema()

    def _own_schema(self) -> Schema:
        views = self._pieces[0].views
        columns = tuple(view.columns for view in views.values())
        known = columns if any(own is not None for own in columns) else ()
        return Schema(tuple(views), tuple(view.width for view in views.values()), known)

    def _chunks(self, size: int, start: int) -> Iterator[Chunk]:
        made = self._joined(size, start)
        return made if self.in_memory else ahead(made)

    def _joined(self, size: int, start: int) -> Iterator[Chunk]:
        waiting: list[Chunk] = []
        columns = self._own_schema().columns
        for number, piece in enumerate(self._pieces):
            first, stop = int(self._starts[number]), int(self._starts[number + 1])
            if stop <= start and stop < self.n_rows:
                continue
            with piece.opened() as rows:
                while start < stop:
                    end = min(chunk_end(start, size), stop)
                    waiting.append(_chunk(piece, rows, start - first, end - first, start, columns))
                    if end == min(chunk_end(start, size), self.n_rows):
                        yield waiting[0] if len(waiting) == 1 else replace(join(waiting), columns=columns)
                        waiting = []
                    start = end

    def suited(self, schema: Schema) -> Self:
        """The same rows with the levels of encoded columns that a model was fitted with."""
        made = self._with(_pieces=[piece.suited(schema) for piece in self._pieces])
        return made._with(schema=made._own_schema().arranged(self.schema.names))

    def place(self, start: int, stop: int) -> str:
        """Describe rows by their numbers and files."""
        ends = zip(self._starts[:-1], self._starts[1:], self._pieces, strict=True)
        files = [p.file.name for first, last, p in ends if p.file and first < stop and last > start]
        return super().place(start, stop) + (f" ({', '.join(files)})" if files else "")

    def identity(self) -> dict[str, Any]:
        """The files, the width and columns of each view, and a hash of the ids."""
        return {
            "kind": self._kind,
            "rows": self.n_rows,
            "files": [piece.file.identity() for piece in self._pieces if piece.file is not None],
            "views": {
                name: [view.width, view.part, _hash(view.columns or ())]
                for name, view in self._pieces[0].views.items()
            },
            "ids": _hash(self.row_ids.tolist()),
        }


def _chunk(piece: Piece, rows: Mapping[str, Rows], first: int, stop: int, start: int, columns: Any) -> Chunk:
    places = {name: view.places[first:stop] for name, view in piece.views.items()}
    return Chunk.of(
        [rows[name].at(own) for name, own in places.items()],
        names=tuple(places),
        observed=np.column_stack([own >= 0 for own in places.values()]),
        start=start,
        row_ids=piece.ids[first:stop],
        columns=columns,
    )


def _hash(texts: Sequence[Any]) -> str:
    return sha256("\n".join(map(str, texts)).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _check_alike(pieces: Sequence[Piece]) -> None:
    """Refuse files that differ in views or columns."""
    first = pieces[0]
    for piece in pieces[1:]:
        assert first.file is not None
        assert piece.file is not None
        if list(piece.views) != list(first.views):
            raise DataError(
                f"{piece.file.name} has the modalities {', '.join(map(repr, piece.views))}, "
                f"{first.file.name} {', '.join(map(repr, first.views))}. "
                "Choose those that all files have (modalities=)."
            )
        for name, mine in first.views.items():
            other, differ = piece.views[name], ""
            if other.width != mine.width:
                differ = f" has {other.width} variables, in {first.file.name} there are {mine.width}"
            for number, both in enumerate(zip(mine.columns or (), other.columns or (), strict=False)):
                if both[0] != both[1] and not differ:
                    differ = f": variable {number} is {both[1]!r}, in {first.file.name} it is {both[0]!r}"
            if differ:
                raise DataError(
                    f"{piece.file.name}, modality {name!r}{differ}. Give files with the same variables, in "
                    "the same order."
                )


def _check_apart(pieces: Sequence[Piece]) -> None:
    """Refuse rows that occur in two files."""
    seen: dict[Any, File | None] = {}
    for piece in pieces if len(pieces) > 1 else ():
        for id in piece.ids.tolist():
            if (other := seen.get(id)) is not None:
                assert piece.file is not None
                raise DataError(
                    f"the observation {format_id(id)} is in {other.name} and in {piece.file.name}. Names "
                    "must be unique over all files; add a prefix to each."
                )
        seen.update(dict.fromkeys(piece.ids.tolist(), piece.file))
