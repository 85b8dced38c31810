"""Source of Arrow data: reads batches ahead in a thread and converts them into chunks."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from hashlib import sha256
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow.compute import CastOptions

from viewpass.errors import DataError, SettingError
from viewpass.kernels.grid import Array, Integers, Mask, Matrix
from viewpass.kernels.pool import Pool
from viewpass.sources.arrow.batches import UNREADABLE, Batch, Reader, one_line, resized
from viewpass.sources.arrow.layout import ViewColumns, find_views
from viewpass.sources.arrow.lists import read_lists, read_numbers, read_sparse, valid
from viewpass.sources.blocks import listed
from viewpass.sources.quantised import Quantised
from viewpass.sources.source import Source, ahead, chunk_end
from viewpass.views.chunk import Chunk, Origin, Schema

DECODED_BYTES = 2**22  # decoded at a time, approximately; at least one chunk
MOST_DECODED_ROWS = 2**16  # at a time, where rows are wide and chunks small
FARTHEST = 2**62  # microseconds from 1970 to a time
INDEX = "__index_level_"  # how Arrow names the index of a pandas frame


class ArrowSource(Source):
    """Rows of an Arrow table. Made by `vp.scan`."""

    row_ids = None  # they come with the chunks
    in_memory = False

    def __init__(
        self,
        reader: Reader,
        views: Any = None,
        id: str | None = None,
        stored: Mapping[str, Quantised] = MappingProxyType({}),
    ) -> None:
        self._reader = reader
        self._id = self.id_name = id
        self._kept: tuple[str, ...] = ()
        self._time: str | None = None
        self._stop: int | None = None
        try:
            found = find_views(reader.schema, views, id, stored)
        except DataError as problem:
            raise DataError(f"{reader.where}: {problem}" if reader.where else str(problem)) from None
        except UnicodeDecodeError as problem:  # in the names of the parts of a column
            raise DataError(f"{reader.where}: a column's type is damaged ({problem}).") from problem
        self._views = found
        self.n_rows = reader.n_rows
        self.rereadable, self.portable = reader.rereadable, reader.portable
        self.row_bytes, self.cuts = reader.row_bytes, reader.cuts
        self.sparse_widths = {view.name: view.width or 0 for view in found if view.form == "sparse"}
        names = tuple(view.name for view in found)
        columns = tuple(view.columns if view.form == "numbers" else None for view in found)
        self.schema = Schema(names, tuple(view.width for view in found), columns if any(columns) else ())
        used = set(self._columns())
        self.left_out = tuple(
            name for name in reader.schema.names if name not in used and not name.startswith(INDEX)
        )
        reader.check(self._columns())

    def _columns(self) -> list[str]:
        used = [column for view in self._views for column in view.columns]
        rows = [column for column in (self._id, self._time) if column is not None]
        return list(dict.fromkeys([*rows, *used, *self._kept]))

    @property
    def column_names(self) -> list[str]:
        """All columns of the table, those that are no views included."""
        return list(self._reader.schema.names)

    def tables(self, size: int) -> Iterator[pa.Table]:
        """Read all columns as they are, in tables of `size` rows."""
        batches = self._reader.batches(self.column_names, size, 0)
        return resized((batch.rows for batch in batches), size)

    def keeping(self, columns: Sequence[str]) -> ArrowSource:
        """The same rows, whose chunks also have these columns."""
        known = self._reader.schema.names
        for column in columns:
            if column not in known:
                raise SettingError(f"there is no column {column!r} to keep; {listed(known)}.")
            if known.count(column) > 1:
                raise SettingError(f"column {column!r} cannot be kept: the table has several of this name.")
        return self._with(_kept=tuple(dict.fromkeys(columns)))

    def timed(self, column: str) -> ArrowSource:
        """The same rows with the times of a column."""
        schema = self._reader.schema
        if column not in schema.names:
            raise SettingError(f"there is no column {column!r} for time=; {listed(schema.names)}.")
        kind = schema.field(column).type
        if not (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
            raise SettingError(
                f"time={column!r}: the column holds {kind}; dates or timestamps were expected."
            )
        left_out = tuple(name for name in self.left_out if name != column)
        return self._with(_time=column, left_out=left_out)

    def until(self, stop: int) -> ArrowSource:
        """The same rows, of which none from row `stop` on are decoded in advance."""
        return self._with(_stop=stop)

    def _chunks(self, size: int, start: int) -> Iterator[Chunk]:
        for group in ahead(self._groups(size, start)):
            yield from group

    def _span(self, start: int, size: int) -> Chunk:
        """Read one chunk, without reading ahead."""
        stop = start + size
        batches = _until(self._reader.batches(self._columns(), size, start), stop)
        found = [batch.cut(0, min(len(batch), stop - batch.row)) for batch in batches]
        if not found:
            raise DataError(f"there is no row {start}: the data has become shorter.")
        return self._chunk(found, self._widths(), Pool())

    def place(self, start: int, stop: int) -> str:
        """Describe rows by their numbers and files."""
        files = self._reader.place(start, stop)
        return f"{super().place(start, stop)}{f' ({files})' if files else ''}"

    def identity(self) -> dict[str, Any]:
        """The data, the columns of each view, and the id column."""
        views = {view.name: [view.form, *view.columns, *_how_stored(view)] for view in self._views}
        return {**self._reader.identity(), "views": views, "id": self._id, "time": self._time}

    def _groups(self, size: int, start: int) -> Iterator[list[Chunk]]:
        """Yield the chunks completed by each batch, while the next batch is being decoded."""
        widths, pool = self._widths(), Pool()
        waiting: list[Batch] = []
        batches = self._reader.batches(self._columns(), self._read_rows(size), start)
        for batch in ahead(batches if self._stop is None else _until(batches, self._stop)):
            made, place = [], 0
            while place < len(batch):
                row = batch.row + place
                piece = batch.cut(place, min(chunk_end(row, size) - row, len(batch) - place))
                waiting.append(piece)
                place += len(piece)
                if chunk_end(row, size) == row + len(piece):
                    made.append(self._chunk(waiting, widths, pool))
                    waiting = []
            if made:
                yield made
        if waiting:
            yield [self._chunk(waiting, widths, pool)]

    def _widths(self) -> dict[str, int | None]:
        return {view.name: view.width for view in self._views}

    def _read_rows(self, size: int) -> int:
        """Return how many rows to read at a time: whole chunks, so that no chunk spans two batches."""
        fitting = DECODED_BYTES // max(self._reader.row_bytes or 512, 1)
        return min(size * max(1, fitting // size), max(MOST_DECODED_ROWS, fitting))

    def _chunk(self, batches: Sequence[Batch], widths: dict[str, int | None], pool: Pool) -> Chunk:
        n_rows = sum(map(len, batches))
        found = []
        for view in self._views:
            matrix, mask = _read(batches, view, widths[view.name], pool)
            if matrix is not None:
                widths[view.name] = matrix.shape[1]
            found.append((matrix, mask))
        observed = None
        if any(mask is not None for _, mask in found):
            observed = np.ones((n_rows, len(found)), dtype=bool, order="F")
            for v, (_, mask) in enumerate(found):
                if mask is not None:
                    observed[:, v] = mask
        return Chunk(
            tuple(matrix for matrix, _ in found),
            tuple(widths),
            n_rows,
            observed,
            Origin(
                batches[0].row,
                None if self._id is None else _ids(batches, self._id),
                tuple(dict.fromkeys((batch.first, batch.file) for batch in batches if batch.file)),
                kept=_kept(batches, self._kept),
                times=None if self._time is None else _times(batches, self._time),
            ),
            self.schema.columns,
            stated=True,
        )


def _until(batches: Generator[Batch], stop: int) -> Iterator[Batch]:
    """Batches up to the one that holds the last row before `stop`."""
    for batch in batches:
        yield batch
        if batch.row + len(batch) >= stop:
            batches.close()


def _read(
    batches: Sequence[Batch], view: ViewColumns, width: int | None, pool: Pool
) -> tuple[Matrix | None, Mask | None]:
    if view.form == "numbers":
        return read_numbers(batches, view), None
    return read_sparse(batches, view) if view.form == "sparse" else read_lists(batches, view, width, pool)


def _how_stored(view: ViewColumns) -> list[str]:
    if view.quantised is None:
        return []
    scale = view.quantised.scale
    return [view.quantised.kind, "" if scale is None else sha256(scale.tobytes()).hexdigest()[:16]]


def _kept(batches: Sequence[Batch], columns: Sequence[str]) -> Any:
    """The columns that are kept as they are, as an Arrow table; None if there are none."""
    if not columns:
        return None
    try:
        return pa.Table.from_batches(
            [batch.rows.select(list(columns)) for batch in batches]
        ).unify_dictionaries()
    except UNREADABLE as problem:
        raise DataError(
            f"{batches[0].place(columns[0], 0)} on: kept columns cannot be read ({one_line(problem)})."
        ) from problem


def _whole(batch: Batch, name: str, what: str) -> pa.Array:
    """A column of which no value may be null."""
    column = batch.rows.column(name)
    present = valid(column)
    if present is not None:
        row = int(np.flatnonzero(~present)[0])
        raise DataError(f"{batch.place(name, row)}: the {what} is null. Every row needs one.")
    return column


def _times(batches: Sequence[Batch], name: str) -> Integers:
    """Times as microseconds since 1970."""
    parts, how = [], CastOptions(target_type=pa.timestamp("us"), allow_time_truncate=True)
    for batch in batches:
        column = _whole(batch, name, "time")
        try:
            parts.append(np.asarray(column.cast(options=how).cast(pa.int64())))
        except UNREADABLE as problem:
            raise DataError(
                f"{batch.place(name, 0)} on: times cannot be read ({one_line(problem)})."
            ) from problem
        if (parts[-1] > FARTHEST).any() or (parts[-1] < -FARTHEST).any():
            raise DataError(f"{batch.place(name, 0)} on: a time is more than a hundred thousand years away.")
    found: Integers = np.concatenate(parts)
    return found


def _ids(batches: Sequence[Batch], id: str) -> Array:
    parts = []
    for batch in batches:
        column = _whole(batch, id, "id")
        if isinstance(column, pa.DictionaryArray):
            column = column.dictionary_decode()
        try:
            parts.append(column.to_numpy(zero_copy_only=False))
        except UNREADABLE as problem:
            raise DataError(
                f"{batch.place(id, 0)} on: ids cannot be read ({one_line(problem)})."
            ) from problem
    ids: Array = parts[0] if len(parts) == 1 else np.concatenate(parts)
    return ids
