"""Dask collections as sources: arrays, one per view, and data frames with columns of lists."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import dask
import numpy as np
import scipy.sparse

from viewpass.engines.parts import blocks
from viewpass.errors import DataError
from viewpass.kernels.grid import Array
from viewpass.sources.scan import scan
from viewpass.sources.source import Source, check_known, spans
from viewpass.views.chunk import Chunk, Schema, default_names, join, unique_names
from viewpass.views.gaps import with_gaps

Piece = tuple[Any, int, int]  # a delayed part of the data, and which of its rows


def is_array(x: Any) -> bool:
    """Whether something is a Dask array; imports nothing."""
    return type(x).__module__.startswith("dask.array")


def is_frame(x: Any) -> bool:
    """Whether something is a Dask DataFrame."""
    return type(x).__module__.startswith("dask.dataframe")


def source_of(data: Any, observed: Any, views: Any, id: str | None) -> Any:
    """A source for Dask collections; other data is returned unchanged."""
    if is_frame(data):
        return DaskFrameSource(data, views, id)
    parts = data.values() if isinstance(data, Mapping) else data
    several = isinstance(data, Mapping | list | tuple)
    if several and any(is_array(x) for x in parts):
        return DaskArraysSource(data, observed)
    if is_array(data):
        raise DataError("a single Dask array was given: pass a list or dict with one array per view.")
    return data


class CollectionSource(Source):
    """Rows in parts of known length, which Dask computes when they are needed.

    A subclass says where they end (`_ends`) and how they become a chunk (`recipe`).
    """

    row_ids = None
    in_memory = False
    n_rows: int
    _ends: Array

    @abstractmethod
    def recipe(self, start: int, stop: int) -> list[Any]:
        """A function that makes a chunk of these rows, and its arguments; parts of the data are delayed."""

    def edges(self) -> Iterator[tuple[int, int]]:
        """The first row and the row after the last of each part that has rows."""
        for start, stop in pairwise(self._ends.tolist()):
            if start < stop:
                yield start, stop

    def _chunks(self, size: int, start: int) -> Iterator[Chunk]:
        """Read the rows in this process, chunk by chunk."""
        for first, stop in spans(self.n_rows, size, start):
            build, *given = self.recipe(first, stop)
            yield dask.delayed(build, pure=True)(*given).compute()


class DaskArraysSource(CollectionSource):
    """One Dask array per view, with dense or sparse blocks; row i of every view is item i."""

    def __init__(self, views: Any, observed: Any = None) -> None:
        names = unique_names(views) if isinstance(views, Mapping) else default_names(len(views))
        given = list(views.values()) if isinstance(views, Mapping) else list(views)
        self._named = isinstance(views, Mapping)
        self._arrays = [
            None if x is None else _whole_rows(x, name) for x, name in zip(given, names, strict=True)
        ]
        lengths = [(name, len(x)) for x, name in zip(self._arrays, names, strict=True) if x is not None]
        for name, length in lengths[1:]:
            if length != lengths[0][1]:
                raise DataError(
                    f"view {name!r} has {length} rows, view {lengths[0][0]!r} has {lengths[0][1]}. Row i of "
                    "every view must be the same item; mark absent ones with NaN or observed=."
                )
        self.n_rows = lengths[0][1]
        self._parts = [None if x is None else x.to_delayed()[:, 0] for x in self._arrays]
        self._ends = next(_ends(x) for x in self._arrays if x is not None)
        self._observed = observed
        if observed is not None and tuple(observed.shape) != (self.n_rows, len(names)):
            raise DataError(
                f"observed has shape {tuple(observed.shape)}, ({self.n_rows}, {len(names)}) was expected."
            )
        widths = tuple(None if x is None else int(x.shape[1]) for x in self._arrays)
        self.schema = Schema(names, widths)

    def recipe(self, start: int, stop: int) -> list[Any]:
        """The blocks of every view that hold the rows."""
        views = [
            None if x is None or parts is None else _cut(parts, _ends(x), start, stop)
            for x, parts in zip(self._arrays, self._parts, strict=True)
        ]
        observed = None if self._observed is None else self._observed[start:stop]
        return [_chunk_of_arrays, start, self.schema.names, views, observed]

    def arranged(self, names: tuple[str, ...]) -> DaskArraysSource:
        """The same rows with the views in this order; views that are not there are absent."""
        if not self._named:
            if len(names) != len(self._arrays):
                raise DataError(f"{len(self._arrays)} views were given, the model has {len(names)}.")
            return DaskArraysSource(dict(zip(names, self._arrays, strict=True)), self._observed)
        check_known(self.schema.names, names)
        mine = dict(zip(self.schema.names, self._arrays, strict=True))
        observed = self._observed
        if observed is not None:
            place = [self.schema.names.index(name) if name in mine else 0 for name in names]
            observed = observed[:, place]
        return DaskArraysSource({name: mine.get(name) for name in names}, observed)

    def identity(self) -> dict[str, Any]:
        """Shapes, and the names Dask derives from how the arrays are computed."""
        views = {
            name: None if x is None else [x.shape[1], str(x.dtype), str(x.name)]
            for name, x in zip(self.schema.names, self._arrays, strict=True)
        }
        return {"kind": "Dask arrays", "rows": self.n_rows, "views": views}


class DaskFrameSource(CollectionSource):
    """A Dask DataFrame; its columns are read as `vp.scan` reads those of a frame."""

    def __init__(self, frame: Any, views: Any = None, id: str | None = None) -> None:
        self._frame, self._views, self._id = frame, views, id
        self.id_name = id
        lengths = frame.map_partitions(len, meta=("rows", "int64")).compute()
        self._ends = np.cumsum([0, *lengths])
        self.n_rows = int(self._ends[-1])
        self._parts = frame.to_delayed()
        if not self.n_rows:
            raise DataError("the data has no rows (0 samples): at least one is needed.")
        self._columns = self._found_columns()
        self.schema = scan(self._columns.empty_table(), views=views, id=id).schema

    def _found_columns(self) -> Any:
        """The Arrow schema, from the first parts that show the type of every column."""
        found = None
        for part, n_rows in zip(self._parts, np.diff(self._ends), strict=True):
            if n_rows:
                found = dask.delayed(_columns_of)(part).compute()
                if not any(str(field.type) == "null" for field in found):
                    break
        for field in found or ():
            if str(field.type) in ("string", "large_string") and field.name in _names(self._views):
                raise DataError(
                    f"column {field.name!r} holds text: Dask turns columns of objects into it. Make the "
                    'frame under dask.config.set({"dataframe.convert-string": False}), or with Arrow types.'
                )
        return found

    def recipe(self, start: int, stop: int) -> list[Any]:
        """The parts of the frame that hold the rows."""
        pieces = _cut(self._parts, self._ends, start, stop)
        return [_chunk_of_frames, start, pieces, self._columns, self._views, self._id, self.schema.names]

    def identity(self) -> dict[str, Any]:
        """The length, and the name Dask derives from how it is computed."""
        return {"kind": "Dask frame", "rows": self.n_rows, "name": str(self._frame._name)}


def made_rows(gaps: bool, build: Callable[..., Chunk], *given: Any) -> Iterator[Chunk]:
    """Rows of a collection; `gaps`: values may be missing inside a view."""
    chunk = build(*given)
    return blocks(with_gaps(chunk) if gaps else chunk)


def _whole_rows(x: Any, name: str) -> Any:
    """An array whose blocks hold whole rows, of known number."""
    if not is_array(x):
        raise DataError(f"view {name!r} is a {type(x).__name__}: give every view as a Dask array, or none.")
    if x.ndim != 2:
        raise DataError(f"view {name!r} has {x.ndim} dimension(s), 2 (rows x columns) were expected.")
    if np.isnan(np.array(x.chunks[0], dtype=float)).any():
        raise DataError(
            f"view {name!r}: the lengths of the blocks are not known. Call `.compute_chunk_sizes()` first."
        )
    return x if len(x.chunks[1]) == 1 else x.rechunk({1: -1})


def _ends(x: Any) -> Array:
    """The first row of each block, and the number of rows."""
    return np.cumsum([0, *x.chunks[0]])


def _cut(parts: Sequence[Any], ends: Array, start: int, stop: int) -> list[Piece]:
    """The parts that hold some rows, and which of their own rows these are."""
    first = int(np.searchsorted(ends, start, side="right")) - 1
    found = []
    for number in range(first, len(parts)):
        begin, end = int(ends[number]), int(ends[number + 1])
        if begin >= stop:
            break
        if end > max(begin, start):
            found.append((parts[number], max(start, begin) - begin, min(stop, end) - begin))
    return found


def _chunk_of_arrays(start: int, names: Sequence[str], views: Sequence[Any], observed: Any) -> Chunk:
    made = [None if pieces is None else _stacked(pieces) for pieces in views]
    return Chunk.of(
        made, names=names, observed=None if observed is None else np.asarray(observed), start=start
    )


def _stacked(pieces: Sequence[Piece]) -> Any:
    parts = [part[first:last] for part, first, last in pieces]
    if len(parts) == 1:
        return parts[0]
    return (
        scipy.sparse.vstack(parts, format="csr") if scipy.sparse.issparse(parts[0]) else np.concatenate(parts)
    )


def _columns_of(frame: Any) -> Any:
    import pyarrow as pa

    return pa.Schema.from_pandas(frame, preserve_index=False).remove_metadata()


def _names(views: Any) -> set[str]:
    """Columns that are named as views."""
    given = views.values() if isinstance(views, Mapping) else views or ()
    return {column for column in ([given] if isinstance(given, str) else given) if isinstance(column, str)}


def _chunk_of_frames(
    start: int, pieces: Sequence[Piece], columns: Any, views: Any, id: str | None, order: tuple[str, ...]
) -> Chunk:
    import pyarrow as pa

    chunks = []
    for frame, first, last in pieces:
        table = pa.Table.from_pandas(frame.iloc[first:last], schema=columns, preserve_index=False)
        source = scan(table, views=views, id=id)
        chunks.append(source.arranged(order).span(0, last - first))
    whole = join(chunks)
    origin = replace(whole.origin, start=start, files=())
    return replace(whole, origin=origin, columns=chunks[0].columns)
