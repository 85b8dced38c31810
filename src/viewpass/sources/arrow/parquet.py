"""Parquet files, one after the other, with little of them in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from viewpass.errors import DataError
from viewpass.sources.arrow.batches import Batch, after, told
from viewpass.sources.arrow.columns import same_type
from viewpass.sources.arrow.files import File

BUFFER = 2**20  # bytes of a column read at a time: a whole row group may be larger than memory


@dataclass(frozen=True)
class _Part:
    file: File
    schema: pa.Schema
    first: int  # number of its first row in the data
    groups: tuple[int, ...]  # rows of each row group

    @property
    def n_rows(self) -> int:
        return sum(self.groups)


class ParquetReader:
    """Looks at the footers when made; reads row groups when asked."""

    rereadable = True

    def __init__(self, files: Sequence[File]) -> None:
        self._parts: list[_Part] = []
        first = n_bytes = 0
        for file in files:
            opened = _open(file)
            about = opened.metadata
            groups = tuple(about.row_group(g).num_rows for g in range(about.num_row_groups))
            n_bytes += sum(about.row_group(g).total_byte_size for g in range(about.num_row_groups))
            self._parts.append(_Part(file, opened.schema_arrow, first, groups))
            opened.close(force=True)
            first += sum(groups)
        self.n_rows: int | None = first
        self.row_bytes: int | None = n_bytes // max(first, 1)
        self.schema = self._parts[0].schema

    def check(self, columns: Sequence[str]) -> None:
        """Refuse files whose columns have other types than those of the first."""
        first = self._parts[0].file.name
        for part in self._parts[1:]:
            for column in columns:
                expected = self.schema.field(column).type
                if column not in part.schema.names:
                    raise DataError(f"{part.file.name}: there is no column {column!r}, which {first} has.")
                found = part.schema.field(column).type
                if not same_type(found, expected):
                    raise DataError(
                        f"{part.file.name}, column {column!r}: {found} values where {first} has {expected}."
                    )

    def batches(self, columns: Sequence[str], size: int, start: int) -> Iterator[Batch]:
        """Read these columns from row `start` on; row groups before it are not touched."""
        for part in self._parts:
            if part.first + part.n_rows > start:
                yield from after(self._rows(part, columns, size, start), start)

    def _rows(self, part: _Part, columns: Sequence[str], size: int, start: int) -> Iterator[Batch]:
        groups = list(range(len(part.groups)))
        row = part.first
        while row + part.groups[groups[0]] <= start:
            row += part.groups[groups.pop(0)]
        opened = _open(part.file)
        try:
            if opened.metadata.num_rows != part.n_rows:
                raise DataError(
                    f"{part.file.name} has {opened.metadata.num_rows} rows now and had {part.n_rows}: it was "
                    "changed while it was being read."
                )
            for rows in opened.iter_batches(batch_size=size, row_groups=groups, columns=list(columns)):
                yield Batch(rows, row, part.file.name, part.first)
                row += rows.num_rows
        except (pa.ArrowException, OSError, ValueError) as problem:
            if isinstance(problem, DataError):
                raise
            raise DataError(
                f"{part.file.name}, row {row - part.first}: the file cannot be read on ({told(problem)})."
            ) from problem
        finally:
            opened.close(force=True)

    def identity(self) -> dict[str, Any]:
        """Names, rows and ends of the files."""
        files = [{**part.file.identity(), "rows": part.n_rows} for part in self._parts]
        return {"kind": "parquet", "files": files}


def _open(file: File) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(file.source(), pre_buffer=False, buffer_size=BUFFER)
    except FileNotFoundError:
        raise DataError(f"{file.name}: there is no such file.") from None
    except (pa.ArrowException, OSError) as problem:
        raise DataError(f"{file.name} cannot be read as Parquet: {told(problem)}.") from problem
