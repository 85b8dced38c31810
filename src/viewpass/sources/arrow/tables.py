"""Readers of tables: in files of the same format, in memory, and in streams that are readable once."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from itertools import accumulate
from typing import Any, Protocol

import pyarrow as pa

from viewpass.errors import DataError
from viewpass.sources.arrow.batches import UNREADABLE, Batch, Reader, after, numbered, one_line
from viewpass.sources.arrow.layout import same_type
from viewpass.sources.files import File
from viewpass.sources.kinds import is_relation


@dataclass(frozen=True)
class Contents:
    """What is known of a file without reading its rows; None if it is known only after reading them."""

    schema: pa.Schema
    n_rows: int | None = None
    n_bytes: int | None = None
    groups: tuple[int, ...] = ()  # rows of each group, of which reading can begin with any


class Format(Protocol):
    """How files of one format are read. It may raise PyArrow's errors; `TableReader` translates them."""

    name: str

    def inspect(self, file: File) -> Contents:
        """Read the schema and size of the file."""

    def read(
        self, file: File, columns: Sequence[str], size: int, start: int, first: int = 0
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield batches with the number of their first row; rows before `start` may be left out.

        `first` is the number in the data of the file's first row. Batches that end where a multiple of
        `size` rows of the data ends need not be joined later.
        """


class TableReader(Reader):
    """Inspects every file when it is created; reads rows on demand."""

    portable = True

    def __init__(self, files: Sequence[File], format: Format) -> None:
        self._files, self._format = list(files), format
        self._contents = [self._inspected(file) for file in self._files]
        lengths = [contents.n_rows for contents in self._contents]
        known = [length for length in lengths if length is not None]
        self.n_rows = sum(known) if len(known) == len(lengths) else None
        sizes = [contents.n_bytes for contents in self._contents if contents.n_bytes is not None]
        self.row_bytes = sum(sizes) // self.n_rows if sizes and self.n_rows else None
        if any(contents.groups for contents in self._contents):
            each = [n for contents in self._contents for n in contents.groups or (contents.n_rows or 0,)]
            self.cuts = list(accumulate(each))
        self.where = self._files[0].name
        self._keys = _key_types(self._files, self._contents[0].schema)
        self.schema = self._contents[0].schema
        for key, kind in self._keys.items():
            self.schema = self.schema.append(pa.field(key, kind))

    def _inspected(self, file: File) -> Contents:
        try:
            contents = self._format.inspect(file)
            _ = contents.schema.names  # decoding them fails where they are damaged
            return contents
        except FileNotFoundError:
            raise DataError(f"{file.name}: there is no such file.") from None
        except UNREADABLE as problem:
            raise DataError(
                f"{file.name} cannot be read as {self._format.name}: {one_line(problem)}."
            ) from problem

    def check(self, columns: Sequence[str]) -> None:
        """Refuse files whose columns do not have the types of the first file."""
        for file, contents in zip(self._files[1:], self._contents[1:], strict=True):
            self._check(file, contents.schema, columns, f"{self._files[0].name} has")

    def _check(self, file: File, schema: pa.Schema, columns: Sequence[str], whose: str) -> None:
        for column in columns:
            if column in self._keys:
                continue
            if column not in schema.names:
                raise DataError(f"{file.name}: there is no column {column!r}, which {whose}.")
            expected, found = self.schema.field(column).type, schema.field(column).type
            if not same_type(found, expected):
                raise DataError(f"{file.name}, column {column!r}: {found} values where {whose} {expected}.")

    def batches(self, columns: Sequence[str], size: int, start: int) -> Generator[Batch]:
        """Read these columns from row `start` on."""
        first = 0
        for file, contents in zip(self._files, self._contents, strict=True):
            if contents.n_rows is not None and first + contents.n_rows <= start:
                first += contents.n_rows
                continue
            n_rows = 0
            for batch in self._rows(file, contents, columns, size, start, first):
                n_rows = batch.row + len(batch) - first
                yield from after(batch, start)
            if contents.n_rows is not None and n_rows != contents.n_rows:
                raise DataError(
                    f"{file.name} had {contents.n_rows} rows and has {n_rows} now: it was changed while it "
                    "was being read."
                )
            first += n_rows

    def _rows(
        self, file: File, contents: Contents, columns: Sequence[str], size: int, start: int, first: int
    ) -> Iterator[Batch]:
        """Yield batches of one file, whose first row is row `first` of the data."""
        row = 0
        stored = [column for column in columns if column not in self._keys]
        skip = max(0, start - first) if contents.n_rows is not None else 0
        try:
            for number, (row, rows) in enumerate(self._format.read(file, stored, size, skip, first)):
                if number == 0:  # the file may have been replaced since it was inspected
                    self._check(file, rows.schema, stored, "it had")
                for key in columns:
                    if key in self._keys:
                        value = pa.scalar(file.keys.get(key), pa.string()).cast(self._keys[key])
                        rows = rows.append_column(key, pa.repeat(value, rows.num_rows))
                yield Batch(rows, first + row, file.name, first)
                row += rows.num_rows
        except FileNotFoundError:
            raise DataError(f"{file.name}: the file no longer exists.") from None
        except DataError:
            raise
        except UNREADABLE as problem:
            raise DataError(
                f"{file.name}, from row {row} on: it cannot be read ({one_line(problem)})."
            ) from problem

    def place(self, start: int, stop: int) -> str:
        """Name the files that hold these rows, and the rows of each file."""
        places, first = [], 0
        for file, contents in zip(self._files, self._contents, strict=True):
            if contents.n_rows is None:
                return f"from {self._files[0].name} on"
            last = first + contents.n_rows
            if first < stop and start < last:
                rows = f"rows {max(start, first) - first} to {min(stop, last) - first - 1}"
                places.append(f"{file.name}, {rows}")
            first = last
        return "; ".join(places)

    def identity(self) -> dict[str, Any]:
        """The names, sizes and hashes of the files; not how they are accessed, which may be secret."""
        files = []
        for file, contents in zip(self._files, self._contents, strict=True):
            rows = {} if contents.n_rows is None else {"rows": contents.n_rows}
            files.append({**file.identity(), **rows})
        return {"kind": self._format.name, "files": files}


def _key_types(files: Sequence[File], schema: pa.Schema) -> dict[str, pa.DataType]:
    """Find the types of columns given by folder names (year=2026), unless the files have these columns."""
    found = {}
    for key in dict.fromkeys(key for file in files for key in file.keys):
        if key not in schema.names:
            values = [value for file in files if (value := file.keys.get(key)) is not None]
            whole = all(value.isdecimal() and str(int(value)) == value for value in values)
            found[key] = pa.int64() if values and whole else pa.string()
    return found


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
