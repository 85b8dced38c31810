"""Reading of CSV files, in which an empty field is null, and of Arrow IPC files (Feather) or streams."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow import csv, types

from viewpass.sources.arrow.batches import numbered
from viewpass.sources.arrow.files import File
from viewpass.sources.arrow.tables import Contents

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
