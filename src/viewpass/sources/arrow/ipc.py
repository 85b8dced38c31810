"""Reading of Arrow IPC files (including Feather) and of IPC streams stored in a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from viewpass.sources.arrow.batches import numbered
from viewpass.sources.arrow.files import File
from viewpass.sources.arrow.tables import Contents


class Ipc:
    """Reads files without memory-mapping them: mapped pages would count as memory of the process."""

    name = "Arrow IPC"

    def inspect(self, file: File) -> Contents:
        """Read the schema, and the number of rows if the file has an index."""
        with _input(file) as opened:
            if not _has_index(opened):
                return Contents(pa.ipc.open_stream(opened).schema)
            fragment = ds.IpcFileFormat().make_fragment(opened)
            return Contents(pa.ipc.open_file(opened).schema, fragment.count_rows(), opened.size())

    def read(
        self, file: File, columns: Sequence[str], size: int, start: int, first: int = 0
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Read batch by batch, as they were written."""
        with _input(file) as opened:
            yield from numbered(_batches(opened, columns), size)


def _input(file: File) -> pa.NativeFile:
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
