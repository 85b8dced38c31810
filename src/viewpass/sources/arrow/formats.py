"""Formats of tables: CSV, in which an empty field is null; Arrow IPC files (Feather) and streams; Parquet.

Little of a Parquet file is in memory at a time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import chain, repeat
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyarrow import csv, types

from viewpass.sources.arrow.batches import numbered
from viewpass.sources.arrow.pages import PlainRows, UnsupportedError, plain_lists
from viewpass.sources.arrow.tables import Contents
from viewpass.sources.files import File

CSV_BYTES = 2**20  # parsed at a time: the block that PyArrow takes by itself


class Csv:
    """Infers column types from the first block.

    Numbers are read as float64, since later blocks may need it, except those of the id column.
    """

    name = "CSV"

    def __init__(self, id: str | None = None) -> None:
        self._id = id

    def inspect(self, file: File) -> Contents:
        """Read the first block."""
        with _csv_input(file) as opened, csv.open_csv(opened, *_csv_options(file)) as reader:
            return Contents(pa.schema([self._wide(field) for field in reader.schema]))

    def read(
        self, file: File, columns: Sequence[str], size: int, start: int, first: int = 0
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Read from the beginning: a CSV file has no index of its rows."""
        kinds = {field.name: field.type for field in self.inspect(file).schema}
        convert = csv.ConvertOptions(
            include_columns=list(columns), column_types=kinds, strings_can_be_null=True
        )
        with _csv_input(file) as opened, csv.open_csv(opened, *_csv_options(file), convert) as reader:
            yield from numbered(reader, size)

    def _wide(self, field: pa.Field) -> pa.Field:
        number = types.is_integer(field.type) or types.is_floating(field.type) or types.is_null(field.type)
        return field.with_type(pa.float64()) if number and field.name != self._id else field


def _csv_input(file: File) -> pa.NativeFile:
    ending = file.path.lower().rsplit(".", 1)[-1]
    codec = {"gz": "gzip", "bz2": "bz2", "zst": "zstd"}.get(ending)
    return pa.input_stream(file.source(), compression=codec)


def _csv_options(file: File) -> tuple[csv.ReadOptions, csv.ParseOptions]:
    tabs = ".tsv" in file.path.lower()
    return csv.ReadOptions(block_size=CSV_BYTES), csv.ParseOptions(delimiter="\t" if tabs else ",")


class Ipc:
    """Reads files without memory-mapping them: mapped pages would count as memory of the process."""

    name = "Arrow IPC"

    def inspect(self, file: File) -> Contents:
        """Read the schema, and the number of rows if the file has an index."""
        with _ipc_input(file) as opened:
            if not _has_index(opened):
                return Contents(pa.ipc.open_stream(opened).schema)
            fragment = ds.IpcFileFormat().make_fragment(opened)
            return Contents(pa.ipc.open_file(opened).schema, fragment.count_rows(), opened.size())

    def read(
        self, file: File, columns: Sequence[str], size: int, start: int, first: int = 0
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Read batch by batch, as they were written."""
        with _ipc_input(file) as opened:
            yield from numbered(_batches(opened, columns), size)


def _ipc_input(file: File) -> pa.NativeFile:
    return pa.OSFile(file.path) if file.system is None else pa.PythonFile(file.open(), mode="r")


def _has_index(opened: pa.NativeFile) -> bool:
    magic = bytes(opened.read(6))
    opened.seek(0)
    return magic == b"ARROW1"


def _batches(opened: pa.NativeFile, columns: Sequence[str]) -> Iterator[Any]:
    indexed = _has_index(opened)
    begin = pa.ipc.open_file if indexed else pa.ipc.open_stream
    schema = begin(opened).schema
    opened.seek(0)
    wanted = sorted(schema.get_field_index(column) for column in columns)
    reader = begin(opened, options=pa.ipc.IpcReadOptions(included_fields=wanted, use_threads=True))
    batches = map(reader.get_batch, range(reader.num_record_batches)) if indexed else reader
    for rows in batches:
        rows.validate(full=True)  # PyArrow trusts the offsets of lists and texts: they may point anywhere
        yield rows


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
            groups = [about.row_group(g) for g in range(about.num_row_groups)]
            n_bytes = sum(group.total_byte_size for group in groups)
            lengths = tuple(group.num_rows for group in groups)
            return Contents(opened.schema_arrow, about.num_rows, n_bytes, lengths)
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
            for rows in _row_groups(opened, columns, groups, size):
                if row + rows.num_rows > done:
                    yield max(row, done), rows.slice(max(0, done - row))
                row += rows.num_rows
            if row != opened.metadata.num_rows:  # PyArrow may stop at the end of the shortest column
                raise pa.ArrowInvalid(f"the file has {row} rows, but states {opened.metadata.num_rows}")
        finally:
            opened.close(force=True)


def _row_groups(
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
