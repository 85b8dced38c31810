"""Files of one table, one after the other, whatever their format."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from viewpass.errors import DataError
from viewpass.sources.arrow.batches import Batch, after, told
from viewpass.sources.arrow.columns.layout import same_type
from viewpass.sources.arrow.files import File


@dataclass(frozen=True)
class Contents:
    """What a look at a file tells; None where only reading does."""

    schema: pa.Schema
    n_rows: int | None = None
    n_bytes: int | None = None


class Format(Protocol):
    """How files of one kind are read. Errors may be PyArrow's own: they are put into words here."""

    name: str

    def look(self, file: File) -> Contents:
        """Read what describes the file."""

    def read(
        self, file: File, columns: Sequence[str], size: int, start: int, first: int = 0
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Batches with the number of their first row; rows before `start` may be left out.

        The file begins at row `first` of the data: batches that end at multiples of `size` from there on
        need not be put together again.
        """


class TableReader:
    """Looks at every file when made; reads when asked."""

    rereadable = True
    portable = True

    def __init__(self, files: Sequence[File], format: Format) -> None:
        self._files, self._format = list(files), format
        self._contents = [self._looked(file) for file in self._files]
        lengths = [contents.n_rows for contents in self._contents]
        known = [length for length in lengths if length is not None]
        self.n_rows: int | None = sum(known) if len(known) == len(lengths) else None
        sizes = [contents.n_bytes for contents in self._contents if contents.n_bytes is not None]
        self.row_bytes: int | None = sum(sizes) // self.n_rows if sizes and self.n_rows else None
        self.where = self._files[0].name
        self._keys = _key_types(self._files, self._contents[0].schema)
        self.schema: pa.Schema = self._contents[0].schema
        for key, kind in self._keys.items():
            self.schema = self.schema.append(pa.field(key, kind))

    def _looked(self, file: File) -> Contents:
        try:
            return self._format.look(file)
        except FileNotFoundError:
            raise DataError(f"{file.name}: there is no such file.") from None
        except (pa.ArrowException, OSError) as problem:
            raise DataError(
                f"{file.name} cannot be read as {self._format.name}: {told(problem)}."
            ) from problem

    def check(self, columns: Sequence[str]) -> None:
        """Refuse files whose columns have other types than those of the first."""
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
        """Batches of one file, whose first row is row `first` of the data."""
        row = 0
        held = [column for column in columns if column not in self._keys]
        skip = max(0, start - first) if contents.n_rows is not None else 0
        try:
            for number, (row, rows) in enumerate(self._format.read(file, held, size, skip, first)):
                if number == 0:  # it may have been replaced since it was looked at
                    self._check(file, rows.schema, held, "it had")
                for key in columns:
                    if key in self._keys:
                        rows = rows.append_column(key, self._constant(file, key, rows.num_rows))
                yield Batch(rows, first + row, file.name, first)
                row += rows.num_rows
        except FileNotFoundError:
            raise DataError(f"{file.name}: the file is gone.") from None
        except DataError:
            raise
        except (pa.ArrowException, OSError, KeyError) as problem:
            raise DataError(
                f"{file.name}, from row {row} on: it cannot be read ({told(problem)})."
            ) from problem

    def place(self, start: int, stop: int) -> str:
        """The files that hold these rows, and which of their rows they are."""
        told, first = [], 0
        for file, contents in zip(self._files, self._contents, strict=True):
            if contents.n_rows is None:
                return f"from {self._files[0].name} on"
            last = first + contents.n_rows
            if first < stop and start < last:
                told.append(f"{file.name}, rows {max(start, first) - first} to {min(stop, last) - first - 1}")
            first = last
        return "; ".join(told)

    def _constant(self, file: File, key: str, n_rows: int) -> pa.Array:
        scalar = pa.scalar(file.keys.get(key), pa.string()).cast(self._keys[key])
        return pa.repeat(scalar, n_rows)

    def identity(self) -> dict[str, Any]:
        """Names and ends of the files."""
        files = []
        for file, contents in zip(self._files, self._contents, strict=True):
            rows = {} if contents.n_rows is None else {"rows": contents.n_rows}
            files.append({**file.identity(), **rows})
        return {"kind": self._format.name, "files": files}


def _key_types(files: Sequence[File], schema: pa.Schema) -> dict[str, pa.DataType]:
    """Columns that stand in the names of folders (year=2026), unless the files have them, too."""
    found = {}
    for key in dict.fromkeys(key for file in files for key in file.keys):
        if key not in schema.names:
            values = [value for file in files if (value := file.keys.get(key)) is not None]
            whole = all(value.isdecimal() and str(int(value)) == value for value in values)
            found[key] = pa.int64() if values and whole else pa.string()
    return found
