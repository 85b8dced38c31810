"""Reader of a table stored in one or more files of the same format."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Protocol

import pyarrow as pa

from viewpass.errors import DataError
from viewpass.sources.arrow.batches import UNREADABLE, Batch, Reader, after, one_line
from viewpass.sources.arrow.columns.layout import same_type
from viewpass.sources.arrow.files import File


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
