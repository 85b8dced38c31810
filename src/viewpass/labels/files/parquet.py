"""Label files, which users read; and the ids staged for them during a run."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np

from viewpass.errors import DataError, FileError, missing_extra
from viewpass.kernels.grid import Array
from viewpass.labels.files.appended import Appended, Extent
from viewpass.store.container.files import naming

try:
    import pyarrow as pa

    from viewpass.labels.files.formats import IDS, STAGED, WHICH, TableWriter, label_format, table_writer
except ImportError:
    raise missing_extra("pyarrow", "arrow", "writing labels") from None

GROUP_ROWS = 2**17
ID = "id"  # the name of ids, and of row numbers, where the data has none
COLUMNS = [
    pa.field("cluster", pa.int32(), nullable=False),
    pa.field("distance", pa.float32()),
    pa.field("margin", pa.float32()),
    pa.field("views_seen", pa.int16(), nullable=False),
]


class LabelFile:
    """Writer of a file of labels, in the format of its name; the same rows give the same bytes.

    A thread writes rows while the next ones are collected. `which` labels they are ("final" or "stream")
    is part of the schema, where the format has one. The columns are the id, those that are kept of the
    data, those of every label file, and more about the labels.
    """

    def __init__(
        self, file: BinaryIO, path: Path, which: str, id_name: str | None = None, *, staged: bool = False
    ) -> None:
        self._file, self._path = file, path
        self._format = STAGED if staged else label_format(path)
        self._id_name = id_name or ID
        self._about = {WHICH: which.encode()}
        self._writer: TableWriter | None = None
        self._rows: list[Array] = []
        self._ids: list[Any] = []
        self._kept: list[Any] = []
        self._more: list[Any] = []
        self._waiting = 0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="viewpass-writer")
        self._writing: Future[None] | None = None
        self.n_rows = 0

    def __enter__(self) -> LabelFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: BaseException | TracebackType | None) -> None:
        try:
            if kind is None:
                self._submit()
                self._written()
        finally:
            self._thread.shutdown(wait=True)
            if self._writer is not None:
                with naming(self._path):
                    self._writer.close()

    def add(self, rows: Array, ids: Any = None, kept: Any = None, more: Any = None) -> None:
        """Add rows, which must not change later; `ids` is an Arrow array, or None for row numbers.

        `kept` and `more` are Arrow tables of further columns, or None.
        """
        at = 0
        while at < len(rows):
            n_more = min(GROUP_ROWS - self._waiting, len(rows) - at)
            self._rows.append(rows[at : at + n_more])
            if ids is not None:
                self._ids.append(ids.slice(at, n_more))
            for table, parts in ((kept, self._kept), (more, self._more)):
                if table is not None:
                    parts.append(table.slice(at, n_more))
            self._waiting += n_more
            self.n_rows += n_more
            at += n_more
            if self._waiting == GROUP_ROWS:
                self._submit()

    def _submit(self) -> None:
        """Start writing the collected rows, after the previous row group was written."""
        self._written()
        if self._waiting:
            first = self.n_rows - self._waiting
            parts = self._rows, self._ids, self._kept, self._more
            self._writing = self._thread.submit(self._write, *parts, first)
            self._rows, self._ids, self._kept, self._more, self._waiting = [], [], [], [], 0

    def _written(self) -> None:
        if self._writing is not None:
            writing, self._writing = self._writing, None
            writing.result()

    def _write(
        self, parts: list[Array], ids: list[Any], kept: list[Any], more: list[Any], first: int
    ) -> None:
        rows = np.concatenate(parts)
        about = {**self._about, IDS: self._id_name.encode() if ids else b""}
        if not ids:
            ids = [pa.array(np.arange(first, first + len(rows), dtype=np.int64))]
        joined = pa.chunked_array(ids).combine_chunks()
        columns, fields = label_columns(rows)
        before, after = (pa.concat_tables(tables) if tables else pa.table({}) for tables in (kept, more))
        id_field = pa.field(self._id_name, joined.type, nullable=False)
        schema = pa.schema([id_field, *before.schema, *fields, *after.schema], about)
        arrays = [joined, *before.columns, *columns, *after.columns]
        table = pa.Table.from_arrays(arrays, schema=schema)
        try:
            with naming(self._path):
                if self._writer is None:
                    self._writer = table_writer(self._format, self._file, table.schema)
                self._writer.write_table(table)
        except pa.ArrowException as problem:
            raise DataError(
                f"{self._path}: ids of type {joined.type}{' and kept columns' if kept else ''} cannot be "
                f"written as {self._format} ({problem})."
            ) from problem


def label_columns(rows: Array) -> tuple[list[Any], list[Any]]:
    """Convert records to Arrow arrays and their fields; records of a stream have clusters alone."""
    columns, fields = [], [field for field in COLUMNS if field.name in (rows.dtype.names or ())]
    for field in fields:
        values = np.ascontiguousarray(rows[field.name])
        absent = np.isnan(values) if values.dtype.kind == "f" else None
        columns.append(pa.array(values, type=field.type, mask=absent))
    return columns, fields


def as_ids(ids: Array, type: Any = None) -> Any:
    """Convert the ids of a chunk to an Arrow array; all chunks must have one type."""
    try:
        return pa.array(ids, type=type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as problem:
        before = "" if type is None else f"; those before were of type {type}"
        raise DataError(f"ids cannot be written to a label file ({problem}){before}.") from problem


class IdSink:
    """Staged ids in row order: one Arrow stream per chunk, preceded by its length."""

    def __init__(self, path: Path, upto: Extent | None = None) -> None:
        self._file = Appended(path, upto)
        self._path = path
        self._type: Any = None
        self.n_rows = 0
        for part in self.parts() if upto is not None else ():
            self._type, self.n_rows = part.type, self.n_rows + len(part)

    @property
    def extent(self) -> Extent:
        """The extent written so far."""
        return self._file.extent

    def put(self, ids: Array) -> None:
        """Write the ids of the next rows."""
        array = as_ids(ids, self._type)
        self._type = array.type
        batch = pa.record_batch([array], names=["id"])
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        content = sink.getvalue().to_pybytes()
        self._file.append(len(content).to_bytes(8, "little") + content)
        self.n_rows += len(array)

    def parts(self) -> Iterator[Any]:
        """Yield the ids, one chunk at a time."""
        left = self._file.extent.size
        with self._path.open("rb") as file:
            while left:
                length = int.from_bytes(file.read(8), "little")
                left -= 8 + length
                yield self._ids(file.read(length) if left >= 0 else b"")

    def _ids(self, content: bytes) -> Any:
        try:
            (batch,) = pa.ipc.open_stream(content)
            batch.validate(full=True)
            (ids,) = batch.columns
            if ids.null_count or self._type not in (None, ids.type):
                raise ValueError("ids are missing, or of several types")
        except (pa.ArrowException, ValueError, TypeError, OSError, MemoryError) as problem:
            raise FileError(f"{self._path} is damaged ({problem}). Start over in a new folder.") from None
        return ids

    def sync(self) -> None:
        """Flush them to disk."""
        self._file.sync()

    def close(self) -> None:
        """Close the file."""
        self._file.close()
