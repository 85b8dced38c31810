"""Arrow data that is handed over: tables and frames in memory, and streams that run once."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from hashlib import sha256
from typing import Any

import pyarrow as pa

from viewpass.errors import DataError
from viewpass.sources.arrow.batches import Batch, after, told

Begin = Callable[[list[str], int], Iterator[Any]]  # columns and rows at a time, to batches


class MemoryReader:
    """A table in memory."""

    rereadable, portable = True, False
    where = ""

    def __init__(self, data: Any) -> None:
        try:
            self._table = data if isinstance(data, pa.Table) else pa.table(data)
        except (pa.ArrowException, TypeError, ValueError) as problem:
            raise DataError(
                f"the {type(data).__name__} cannot be read by Arrow: {told(problem)}."
            ) from problem
        self.schema = self._table.schema
        self.n_rows: int | None = self._table.num_rows
        self.row_bytes: int | None = None

    def check(self, columns: Sequence[str]) -> None:
        """A table has one schema."""

    def batches(self, columns: Sequence[str], size: int, start: int) -> Generator[Batch]:
        """Cut the table; nothing is copied."""
        row = start
        wanted = self._table.select(list(columns)).slice(start)
        for rows in wanted.to_batches(max_chunksize=size):
            yield Batch(rows, row)
            row += rows.num_rows

    def place(self, start: int, stop: int) -> str:
        """A table is in no file."""
        return ""

    def identity(self) -> dict[str, Any]:
        """The length, the columns, and a look at the first and last rows."""
        ends = [self._table.slice(0, 8), self._table.slice(max(0, self._table.num_rows - 8))]
        look = sha256(repr([part.to_pylist() for part in ends]).encode("utf-8", "surrogatepass"))
        columns = {field.name: str(field.type) for field in self.schema}
        return {"kind": "table", "rows": self.n_rows, "columns": columns, "ends": look.hexdigest()[:16]}


class StreamReader:
    """A stream that runs when it is read, once: a query may give its rows in another order the next time."""

    rereadable, portable = False, False
    where = ""
    n_rows: int | None = None
    row_bytes: int | None = None

    def __init__(self, what: str, schema: pa.Schema, begin: Begin) -> None:
        self.schema = schema
        self._what, self._begin = what, begin
        self._begun = False

    def check(self, columns: Sequence[str]) -> None:
        """A stream has one schema."""

    def batches(self, columns: Sequence[str], size: int, start: int) -> Generator[Batch]:
        """Read the stream; rows before `start` are passed over."""
        if self._begun:
            raise DataError(
                f"the {self._what} has been read already, and can be read once only. Make it anew, or give "
                "data that can be read again: files, a table or a frame."
            )
        self._begun = True
        row = 0
        for rows in self._read(columns, size):
            for first in range(0, rows.num_rows, size):
                yield from after(Batch(rows.slice(first, size), row + first), start)
            row += rows.num_rows

    def _read(self, columns: Sequence[str], size: int) -> Iterator[pa.RecordBatch]:
        row = 0
        try:
            for rows in self._begin(list(columns), size):
                rows = rows.select(list(columns))
                yield rows
                row += rows.num_rows
        except Exception as problem:  # whatever the library behind the stream raises
            raise DataError(f"the {self._what} broke off at row {row}: {told(problem)}.") from problem

    def place(self, start: int, stop: int) -> str:
        """A stream is in no file."""
        return ""

    def identity(self) -> dict[str, Any]:
        """The columns are all that is known of a stream."""
        return {"kind": "stream", "columns": {field.name: str(field.type) for field in self.schema}}


def arrow_stream(data: Any) -> StreamReader:
    """Anything that exports an Arrow stream: a reader, a DuckDB relation, a result of ADBC."""
    what = type(data).__name__
    if type(data).__module__.split(".")[0] in ("duckdb", "_duckdb") and hasattr(data, "project"):
        return _relation(data, what)
    try:
        reader = pa.RecordBatchReader.from_stream(data)
    except Exception as problem:  # whatever the library behind the stream raises
        raise DataError(f"the {what} cannot be read as an Arrow stream: {told(problem)}.") from problem
    return StreamReader(what, reader.schema, lambda columns, size: iter(reader))


def _relation(relation: Any, what: str) -> StreamReader:
    """A query of DuckDB, which computes the columns that are asked for."""

    def begin(columns: list[str], size: int) -> Iterator[Any]:
        quoted = ", ".join('"' + column.replace('"', '""') + '"' for column in columns)
        return iter(pa.RecordBatchReader.from_stream(relation.project(quoted)))

    try:
        schema = pa.RecordBatchReader.from_stream(relation.limit(0)).schema
    except Exception as problem:  # DuckDB's own errors
        raise DataError(f"the {what} cannot be run: {told(problem)}.") from problem
    return StreamReader(what, schema, begin)


def lazy_frame(frame: Any) -> StreamReader:
    """A lazy frame of polars, which computes the columns that are asked for, batch by batch."""
    import polars as pl

    if not hasattr(frame, "collect_batches"):
        raise DataError(
            "this version of polars cannot give a lazy frame in batches. Take a newer one, or give "
            "`.collect()` of it, or the files."
        )

    def begin(columns: list[str], size: int) -> Iterator[Any]:
        for part in frame.select(columns).collect_batches(chunk_size=size, maintain_order=True):
            yield from part.to_arrow().to_batches()

    try:
        schema = pl.DataFrame(schema=frame.collect_schema()).to_arrow().schema
    except Exception as problem:  # polars' own errors
        raise DataError(f"the lazy frame cannot be run: {told(problem)}.") from problem
    return StreamReader("lazy frame", schema, begin)
