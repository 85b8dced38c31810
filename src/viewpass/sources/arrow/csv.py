"""CSV files: a column of numbers each, an empty field is null."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyarrow import csv, types

from viewpass.sources.arrow.files import File
from viewpass.sources.arrow.tables import Contents

BLOCK = 2**20


class Csv:
    """Types are found in the first block; numbers are read as float64, for later ones may need it.

    Those of the id column stay what they are.
    """

    name = "CSV"

    def __init__(self, id: str | None = None) -> None:
        self._id = id

    def look(self, file: File) -> Contents:
        """Read the first block."""
        with _input(file) as opened, csv.open_csv(opened, *_options(file)) as reader:
            return Contents(pa.schema([self._wide(field) for field in reader.schema]))

    def read(
        self, file: File, columns: Sequence[str], size: int, start: int, first: int = 0
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Read from the beginning, for nothing tells where a row stands."""
        kinds = {field.name: field.type for field in self.look(file).schema}
        convert = csv.ConvertOptions(
            include_columns=list(columns), column_types=kinds, strings_can_be_null=True
        )
        with _input(file) as opened, csv.open_csv(opened, *_options(file), convert) as reader:
            row = 0
            for rows in reader:
                for first in range(0, rows.num_rows, size):
                    yield row + first, rows.slice(first, size)
                row += rows.num_rows

    def _wide(self, field: pa.Field) -> pa.Field:
        number = types.is_integer(field.type) or types.is_floating(field.type) or types.is_null(field.type)
        return field.with_type(pa.float64()) if number and field.name != self._id else field


def _input(file: File) -> pa.NativeFile:
    return pa.input_stream(file.path if file.system is None else file.open(), compression=_packing(file))


def _packing(file: File) -> str | None:
    ending = file.path.lower().rsplit(".", 1)[-1]
    return {"gz": "gzip", "bz2": "bz2", "zst": "zstd"}.get(ending)


def _options(file: File) -> tuple[csv.ReadOptions, csv.ParseOptions]:
    tabs = ".tsv" in file.path.lower()
    return csv.ReadOptions(block_size=BLOCK), csv.ParseOptions(delimiter="\t" if tabs else ",")
