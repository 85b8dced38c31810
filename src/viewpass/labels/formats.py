"""Formats of label files, chosen by the ending of their names."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Protocol, Self

from viewpass.errors import DataError, SettingError, missing_extra
from viewpass.kernels.grid import Array
from viewpass.store.container.files import naming

try:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet as pq
except ImportError:
    raise missing_extra("pyarrow", "arrow", "writing labels") from None

ENDINGS = {
    ".parquet": "Parquet",
    ".parq": "Parquet",
    ".pq": "Parquet",
    ".csv": "CSV",
    ".jsonl": "JSON lines",
    ".ndjson": "JSON lines",
    ".arrow": "Arrow IPC",
    ".feather": "Arrow IPC",
    ".ipc": "Arrow IPC",
    "": "Parquet",
}
STAGED = "staged Arrow stream"  # written and read once: as it is in memory
WHICH = b"viewpass.labels"  # the field of an Arrow schema that says which labels a file holds
IDS = b"viewpass.ids"  # the field that names the column of ids; empty: rows have numbers
FINAL, STREAM = "final", "stream"  # under the final centres; as decided while the rows were read


def which_labels(schema: Any) -> str | None:
    """The labels that a Parquet or Arrow IPC file says it holds; None if it does not say."""
    said = (schema.metadata or {}).get(WHICH)
    return None if said is None else str(said.decode("utf-8", "replace"))


def about_labels(which: str, id_name: str | None) -> dict[bytes, bytes]:
    """The metadata of a label file."""
    return {WHICH: which.encode(), IDS: (id_name or "").encode()}


class TableWriter(Protocol):
    """Writes tables of one schema to an open file, one after the other."""

    def write_table(self, table: Any) -> None:
        """Append the rows of a table."""

    def close(self) -> None:
        """Write what ends the file, and leave it open."""


def label_format(path: Path) -> str:
    """The format of a label file; a name without an ending is Parquet."""
    format = ENDINGS.get(path.suffix.lower())
    if format is None:
        endings = ", ".join(ending for ending in ENDINGS if ending)
        raise SettingError(
            f"{path}: labels cannot be written as {path.suffix!r}. The ending of the name says how, and is "
            f"one of {endings}."
        )
    return format


def table_writer(format: str, file: BinaryIO, schema: Any) -> TableWriter:
    """The writer of a format."""
    writer: TableWriter
    if format == "CSV":
        writer = pyarrow.csv.CSVWriter(file, schema)
    elif format == "JSON lines":
        writer = JsonLines(file)
    elif format == STAGED:
        writer = pa.ipc.new_stream(file, schema)
    elif format == "Arrow IPC":
        writer = pa.ipc.new_file(file, schema)
    else:
        writer = pq.ParquetWriter(file, schema, **layout(schema))
    return writer


class TableFile:
    """Writes tables to an open file in the format of its name; the first one has the schema of all.

    With `group_rows`, so many rows are written at a time, however they come. A thread writes while the next
    ones are made, and the same rows give the same bytes. `about` is metadata of the schema, where the format
    has one. The writer is closed however the block ends: one that is not would complain when it is collected.
    """

    def __init__(
        self,
        path: Path,
        file: BinaryIO,
        *,
        group_rows: int = 0,
        about: Mapping[bytes, bytes] | None = None,
        staged: bool = False,
    ) -> None:
        self._path, self._file, self._group_rows, self._about = path, file, group_rows, about
        self._format = STAGED if staged else label_format(path)
        self._writer: TableWriter | None = None
        self._waiting: Any = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="viewpass-writer")
        self._writing: Future[None] | None = None
        self.n_rows = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._submit(self._waiting)
                self._submit(None)
        finally:
            self._thread.shutdown(wait=True)
            if self._writer is not None:
                with naming(self._path) if kind is None else suppress(Exception):
                    self._writer.close()

    def write(self, table: Any) -> None:
        """Append the rows of a table, which must not change later."""
        self.n_rows += len(table)
        waiting = table if self._waiting is None else pa.concat_tables((self._waiting, table))
        size = self._group_rows or len(waiting)
        while len(waiting) >= size and len(waiting):
            self._submit(waiting.slice(0, size))
            waiting = waiting.slice(size)
        self._waiting = waiting if len(waiting) or self._writing is None else None

    def _submit(self, table: Any) -> None:
        """Start writing a table (None: nothing), after the one before was written."""
        if self._writing is not None:
            writing, self._writing = self._writing, None
            writing.result()
        if table is not None:
            self._writing = self._thread.submit(self._write, table)

    def _write(self, table: Any) -> None:
        if self._about is not None:
            table = table.replace_schema_metadata(self._about)
        try:
            with naming(self._path):
                self._writer = self._writer or table_writer(self._format, self._file, table.schema)
                self._writer.write_table(table.combine_chunks())
        except pa.ArrowException as problem:
            raise DataError(
                f"{self._path}: the table cannot be written as {self._format} ({problem}). Write it as "
                ".arrow, which holds any column, or try a newer PyArrow."
            ) from problem


def layout(schema: Any) -> dict[str, Any]:
    """Return the Parquet encodings of columns: dictionaries for few distinct values, deltas for integers.

    Parquet would abandon a dictionary of distances or ids when it is full, after most of the work.
    """
    few = [name for name in ("cluster", "views_seen", "has_views", "cluster_name") if name in schema.names]
    steps = [
        name for name in schema.names if name not in few and pa.types.is_integer(schema.field(name).type)
    ]
    return {"use_dictionary": few, "column_encoding": dict.fromkeys(steps, "DELTA_BINARY_PACKED")}


def staged_tables(path: Path, columns: Sequence[str] | None = None) -> Iterator[Any]:
    """The tables that were written to a staged file, in turn."""
    with path.open("rb") as file, pa.ipc.open_stream(file) as stream:
        for batch in stream:
            table = pa.Table.from_batches([batch])
            yield table if columns is None else table.select(list(columns))


class JsonLines:
    """One JSON object per row and line."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write_table(self, table: Any) -> None:
        """Append the rows of a table."""
        names = [json.dumps(name, ensure_ascii=False) for name in table.column_names]
        for row in zip(*map(_json_values, table.columns), strict=True):
            pairs = ", ".join(f"{name}: {value}" for name, value in zip(names, row, strict=True))
            self._file.write(f"{{{pairs}}}\n".encode())

    def close(self) -> None:
        """Nothing ends the file."""


def _json_values(column: Any) -> list[str]:
    """The values of a column as JSON; numbers as short as their type allows."""
    if pa.types.is_floating(column.type):
        known = column.cast(pa.string()).to_pylist()
        return ["null" if text in (None, "nan", "inf", "-inf") else text for text in known]
    return [json.dumps(value, ensure_ascii=False, default=_text) for value in column.to_pylist()]


def _text(value: Any) -> str:
    """A value that JSON has no form for: times by their ISO form, bytes in hexadecimal."""
    return value.hex() if isinstance(value, bytes) else str(value)


def as_ids(ids: Array, type: Any = None) -> Any:
    """Convert the ids of a chunk to an Arrow array; all chunks must have one type."""
    try:
        return pa.array(ids, type=type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as problem:
        before = "" if type is None else f"; those before were of type {type}"
        raise DataError(f"ids cannot be written to a label file ({problem}){before}.") from problem
