"""Parquet files, with little of them in memory at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from viewpass.sources.arrow.files import File
from viewpass.sources.arrow.tables import Contents

BUFFER = 2**20  # bytes of a column read at a time: a whole row group may be larger than memory


class Parquet:
    """Row groups that are not wanted are not touched; the footer tells which they are."""

    name = "Parquet"

    def look(self, file: File) -> Contents:
        """Read the footer."""
        opened = _open(file)
        try:
            about = opened.metadata
            n_bytes = sum(about.row_group(g).total_byte_size for g in range(about.num_row_groups))
            return Contents(opened.schema_arrow, about.num_rows, n_bytes)
        finally:
            opened.close(force=True)

    def read(
        self, file: File, columns: Sequence[str], size: int, start: int
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Read row groups from the one that holds row `start` on."""
        opened = _open(file)
        try:
            row, groups = 0, list(range(opened.metadata.num_row_groups))
            while groups and row + (n_rows := opened.metadata.row_group(groups[0]).num_rows) <= start:
                row += n_rows
                groups.pop(0)
            for rows in opened.iter_batches(batch_size=size, row_groups=groups, columns=list(columns)):
                yield row, rows
                row += rows.num_rows
        finally:
            opened.close(force=True)


def _open(file: File) -> pq.ParquetFile:
    return pq.ParquetFile(file.source(), pre_buffer=False, buffer_size=BUFFER)
