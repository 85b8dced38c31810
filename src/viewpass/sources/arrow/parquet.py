"""Reading of Parquet files, with little of a file in memory at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import chain, repeat

import pyarrow as pa
import pyarrow.parquet as pq

from viewpass.sources.arrow.files import File
from viewpass.sources.arrow.pages import PlainRows, UnsupportedError, plain_lists
from viewpass.sources.arrow.tables import Contents

BUFFER = 2**20  # bytes of a column read at a time: a row group may be larger than memory
READS_FIXED_NULLS = 26  # the version of PyArrow
SMALL_FILE = 2**24  # bytes of a file that may be in memory as a whole


class Parquet:
    """Reads only the row groups that are needed, which the footer locates."""

    name = "Parquet"

    def inspect(self, file: File) -> Contents:
        """Read the footer."""
        opened = _open(file)
        try:
            about = opened.metadata
            n_bytes = sum(about.row_group(g).total_byte_size for g in range(about.num_row_groups))
            return Contents(opened.schema_arrow, about.num_rows, n_bytes)
        finally:
            opened.close(force=True)

    def read(
        self, file: File, columns: Sequence[str], size: int, start: int, first: int = 0
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Read row groups from the one that holds row `start` on."""
        opened = _open(file)
        try:
            row, groups = _after(opened, 0, list(range(opened.metadata.num_row_groups)), start)
            done = row
            try:
                for rows in _plain(file, opened, columns, groups, size, first + row):
                    yield done, rows
                    done += rows.num_rows
                if row < done == opened.metadata.num_rows:
                    return
            except (UnsupportedError, pa.ArrowException, OSError):  # PyArrow continues, or reports the fault
                row, groups = _after(opened, row, groups, done)
            for rows in _batches(opened, columns, groups, size):
                if row + rows.num_rows > done:
                    yield max(row, done), rows.slice(max(0, done - row))
                row += rows.num_rows
            if row != opened.metadata.num_rows:  # PyArrow may stop at the end of the shortest column
                raise pa.ArrowInvalid(f"the file has {row} rows, but states {opened.metadata.num_rows}")
        finally:
            opened.close(force=True)


def _batches(
    opened: pq.ParquetFile, columns: Sequence[str], groups: list[int], size: int
) -> Iterator[pa.RecordBatch]:
    """Read batches by PyArrow; where an old one cannot, the error says so."""
    try:
        yield from opened.iter_batches(batch_size=size, row_groups=groups, columns=list(columns))
    except pa.ArrowInvalid as problem:
        old = int(pa.__version__.partition(".")[0]) < READS_FIXED_NULLS
        if not (old and str(problem).startswith("Expected all lists to be of size=")):
            raise
        raise pa.ArrowInvalid(
            f"{problem}; PyArrow {pa.__version__} cannot read nulls among lists of a fixed size from this "
            f"file. Run: pip install 'pyarrow>={READS_FIXED_NULLS}', or write lists of any size"
        ) from problem


def _after(opened: pq.ParquetFile, row: int, groups: list[int], start: int) -> tuple[int, list[int]]:
    """Skip row groups, the first of which begins at row `row`, up to the one that holds row `start`."""
    groups = list(groups)
    while groups and row + (n_rows := opened.metadata.row_group(groups[0]).num_rows) <= start:
        row += n_rows
        groups.pop(0)
    return row, groups


def _plain(
    file: File, opened: pq.ParquetFile, columns: Sequence[str], groups: list[int], size: int, row: int
) -> Iterator[pa.RecordBatch]:
    """Yield batches whose lists are read by `pages`, if possible; they end at multiples of `size`."""
    lists = plain_lists(opened, columns) if groups and file.system is None else []
    if not lists:
        return
    names = {column.name for column in lists}
    others = [name for name in columns if name not in names]
    schema = pa.schema([opened.schema_arrow.field(name) for name in columns])
    lengths = chain([size - row % size], repeat(size))
    with closing(PlainRows(file.path, opened, lists, groups)) as plain:
        rest = opened.iter_batches(batch_size=size, row_groups=groups, columns=others) if others else None
        waiting: list[pa.RecordBatch] = []
        for rows in plain.batches(lengths):
            arrays = dict(zip(rows.schema.names, rows.columns, strict=True))
            if rest is not None:
                found = _taken(rest, waiting, rows.num_rows)
                arrays |= {name: found.column(name).combine_chunks() for name in others}
            yield pa.RecordBatch.from_arrays([arrays[name] for name in columns], schema=schema)


def _taken(rest: Iterator[pa.RecordBatch], waiting: list[pa.RecordBatch], n_rows: int) -> pa.Table:
    """Take the next rows of batches that end at other rows.  INOUT waiting: rows read but not taken."""
    while sum(rows.num_rows for rows in waiting) < n_rows:
        more = next(rest, None)
        if more is None:  # fewer rows than the footer states: PyArrow reports it
            raise UnsupportedError
        waiting.append(more)
    table = pa.Table.from_batches(waiting)
    waiting[:] = table.slice(n_rows).to_batches()
    return table.slice(0, n_rows)


def _open(file: File) -> pq.ParquetFile:
    """Open a file; small ones without a buffer, which PyArrow enlarges to any size that a page states."""
    small = file.system is None and os.path.getsize(file.path) <= SMALL_FILE
    return pq.ParquetFile(file.source(), pre_buffer=False, buffer_size=0 if small else BUFFER)
