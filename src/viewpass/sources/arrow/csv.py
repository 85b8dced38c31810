"""Reading of CSV files: columns of numbers, in which an empty field is null."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
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
        with _input(file) as opened, csv.open_csv(opened, *_options(file)) as reader:
            return Contents(pa.schema([self._wide(field) for field in reader.schema]))

    def read(
        self, file: File, columns: Sequence[str], size: int, start: int, first: int = 0
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Read from the beginning: a CSV file has no index of its rows."""
        kinds = {field.name: field.type for field in self.inspect(file).schema}
        convert = csv.ConvertOptions(
            include_columns=list(columns), column_types=kinds, strings_can_be_null=True
        )
        with _input(file) as opened, csv.open_csv(opened, *_options(file), convert) as reader:
            yield from numbered(reader, size)

    def _wide(self, field: pa.Field) -> pa.Field:
        number = types.is_integer(field.type) or types.is_floating(field.type) or types.is_null(field.type)
        return field.with_type(pa.float64()) if number and field.name != self._id else field


def _input(file: File) -> pa.NativeFile:
    ending = file.path.lower().rsplit(".", 1)[-1]
    codec = {"gz": "gzip", "bz2": "bz2", "zst": "zstd"}.get(ending)
    return pa.input_stream(file.source(), compression=codec)


def _options(file: File) -> tuple[csv.ReadOptions, csv.ParseOptions]:
    tabs = ".tsv" in file.path.lower()
    return csv.ReadOptions(block_size=CSV_BYTES), csv.ParseOptions(delimiter="\t" if tabs else ",")
