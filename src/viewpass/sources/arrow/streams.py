"""Readers of Arrow data that is not in files: tables and frames in memory, and streams readable once."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from hashlib import sha256
from importlib.metadata import version
from typing import Any

import pyarrow as pa

from viewpass.errors import DataError
from viewpass.sources.arrow.batches import Batch, Reader, after, numbered, one_line
from viewpass.sources.frames import is_relation

NEEDED = {"duckdb": (1, 2), "polars": (1, 34)}  # before, they export no Arrow streams that PyArrow reads
Begin = Callable[[list[str], int], Iterator[Any]]  # (columns, rows per batch) -> batches


class MemoryReader(Reader):
    """Reads a table in memory."""

    def __init__(self, data: Any) -> None:
        for x in data.values() if isinstance(data, Mapping) else [data]:
            if type(x).__module__.split(".")[0] == "polars" and not hasattr(x, "__arrow_c_stream__"):
                raise _too_old("polars", f"reading a {type(x).__name__} of polars", "`.to_arrow()` of it")
        try:
            if isinstance(data, Mapping):
                data = pa.table({name: _column(x) for name, x in data.items()})
            self._table = data if isinstance(data, pa.Table) else pa.table(data)
        except (pa.ArrowException, TypeError, ValueError) as problem:
            kind = type(data).__name__
            raise DataError(f"the {kind} cannot be read by Arrow: {one_line(problem)}.") from problem
        self.schema = self._table.schema
        self.n_rows = self._table.num_rows

    def batches(self, columns: Sequence[str], size: int, start: int) -> Generator[Batch]:
        """Slice the table; nothing is copied."""
        wanted = self._table.select(list(columns)).slice(start)
        for row, rows in numbered(wanted.to_batches(max_chunksize=size), size):
            try:
                rows.validate(full=True)  # offsets read from a damaged file may point anywhere
            except pa.ArrowInvalid as problem:
                where = f"the table, from row {start + row} on"
                raise DataError(f"{where}: it cannot be read ({one_line(problem)}).") from problem
            yield Batch(rows, start + row)

    def identity(self) -> dict[str, Any]:
        """The number of rows, the columns, and a hash of the first and last rows."""
        ends = [self._table.slice(0, 8), self._table.slice(max(0, self._table.num_rows - 8))]
        digest = sha256(repr([part.to_pylist() for part in ends]).encode("utf-8", "surrogatepass"))
        columns = {field.name: str(field.type) for field in self.schema}
        return {"kind": "table", "rows": self.n_rows, "columns": columns, "ends": digest.hexdigest()[:16]}


def _column(x: Any) -> Any:
    """Convert a column to Arrow; NaN among the lists of a pandas series is a null."""
    if isinstance(x, pa.ChunkedArray):
        return x
    return pa.array(x, from_pandas=True) if hasattr(x, "index") else pa.chunked_array(x)


class StreamReader(Reader):
    """Reads a stream, once: a query run again may return its rows in another order."""

    rereadable = False

    def __init__(self, what: str, schema: pa.Schema, begin: Begin) -> None:
        self.schema = schema
        self._what, self._begin = what, begin
        self._begun = False

    def batches(self, columns: Sequence[str], size: int, start: int) -> Generator[Batch]:
        """Read the stream; rows before `start` are skipped."""
        if self._begun:
            raise DataError(
                f"the {self._what} has been read already, and can be read once only. Create it again, or "
                "give data that can be read again: files, a table or a frame."
            )
        self._begun = True
        for row, rows in numbered(self._read(list(columns), size), size):
            yield from after(Batch(rows, row), start)

    def _read(self, columns: list[str], size: int) -> Iterator[pa.RecordBatch]:
        row = 0
        try:
            for rows in self._begin(columns, size):
                wanted = rows.select(columns)
                wanted.validate(full=True)  # offsets read from a damaged file may point anywhere
                yield wanted
                row += rows.num_rows
        except Exception as problem:  # whatever the library behind the stream raises
            raise DataError(f"the {self._what} failed at row {row}: {one_line(problem)}.") from problem

    def identity(self) -> dict[str, Any]:
        """The columns: nothing else is known of a stream."""
        return {"kind": "stream", "columns": {field.name: str(field.type) for field in self.schema}}


def arrow_stream(data: Any) -> StreamReader:
    """Make a reader of anything that exports an Arrow stream: a reader, a DuckDB relation, an ADBC result."""
    what = type(data).__name__
    if is_relation(data):
        return _relation(data, what)
    try:
        reader = pa.RecordBatchReader.from_stream(data)
    except Exception as problem:  # whatever the library behind the stream raises
        raise DataError(f"the {what} cannot be read as an Arrow stream: {one_line(problem)}.") from problem
    return StreamReader(what, reader.schema, lambda columns, size: iter(reader))


def _relation(relation: Any, what: str) -> StreamReader:
    """Make a reader of a DuckDB query that computes only the columns needed."""
    if tuple(map(int, version("duckdb").split(".")[:2])) < NEEDED["duckdb"]:
        raise _too_old("duckdb", f"reading a {what}", "`.arrow()` of it")

    def begin(columns: list[str], size: int) -> Iterator[Any]:
        quoted = ", ".join('"' + column.replace('"', '""') + '"' for column in columns)
        return iter(pa.RecordBatchReader.from_stream(relation.project(quoted)))

    try:
        schema = pa.RecordBatchReader.from_stream(relation.limit(0)).schema
    except Exception as problem:  # DuckDB's own errors
        raise DataError(f"the {what} cannot be run: {one_line(problem)}.") from problem
    return StreamReader(what, schema, begin)


def lazy_frame(frame: Any) -> StreamReader:
    """Make a reader of a polars lazy frame that computes only the columns needed, batch by batch."""
    import polars as pl

    if not hasattr(frame, "collect_batches"):
        raise _too_old("polars", "reading a lazy frame", "`.collect()` of it, or the files")

    def begin(columns: list[str], size: int) -> Iterator[Any]:
        for part in frame.select(columns).collect_batches(chunk_size=size, maintain_order=True):
            yield from part.to_arrow().to_batches()

    try:
        schema = pl.DataFrame(schema=frame.collect_schema()).to_arrow().schema
    except Exception as problem:  # polars' own errors
        raise DataError(f"the lazy frame cannot be run: {one_line(problem)}.") from problem
    return StreamReader("lazy frame", schema, begin)


def _too_old(library: str, purpose: str, instead: str) -> DataError:
    needed = ".".join(map(str, NEEDED[library]))
    return DataError(
        f"{purpose} needs {library} {needed} or newer, and {version(library)} is installed. "
        f"Run: pip install '{library}>={needed}', or give {instead}."
    )
