"""The schedule of `chunk_size="auto"`: where chunks end, by the clusters and the rows' width alone.

With s = max(2000, 10 rows per cluster; 10 clusters are assumed where their number is to be estimated):

- the first eight chunks have s rows;
- from then on a chunk has s * 2^j rows, as many as are at most a quarter of the rows before it,
- until a chunk would be larger than 64 MiB or 2^18 rows; sizes stay there, but never below s.

A row counts 4 bytes per column, in a sparse view 8 bytes for at most 256 columns, over the views that any
row of the first chunk has. Where chunks end depends on nothing else, neither on how a source cuts its
batches nor on the number of workers, so every engine takes the same steps; a run that resumes goes on by
the row it is at and the width it has stored.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from viewpass.sources.source import Cuts, Every
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows

LEAST_ROWS, ROWS_PER_CLUSTER = 2000, 10
ASSUMED_CLUSTERS = 10  # where their number is to be estimated
SHARE = 4  # a chunk is at most this part of the rows before it, once they are many
MOST_BYTES, MOST_ROWS = 2**26, 2**18
NUMBER_BYTES, ENTRY_BYTES, MOST_ENTRIES = 4, 8, 256  # of a dense and of a sparse view


class Schedule(Cuts):
    """Chunks that grow with the rows read."""

    def __init__(self, n_clusters: int | None) -> None:
        self.first = max(LEAST_ROWS, ROWS_PER_CLUSTER * (n_clusters or ASSUMED_CLUSTERS))
        self.row_bytes: int | None = None  # known after the first chunk

    def look(self, chunk: Chunk) -> None:
        """Learn the width of the rows from the first chunk."""
        if self.row_bytes is None:
            self.row_bytes = max(1, sum(view_bytes(chunk)))

    @property
    def largest(self) -> int:
        """Rows of the chunks that no longer grow."""
        size = self.first
        while 2 * size <= MOST_ROWS and 2 * size * (self.row_bytes or 1) <= MOST_BYTES:
            size *= 2
        return size

    def size(self, row: int) -> int:
        """Rows of the chunk that holds a row."""
        size = self.first
        while 2 * SHARE * size <= row and size < self.largest:
            size *= 2
        return size

    def stop(self, row: int) -> int:
        """The row at which the chunk that holds this row ends."""
        size = self.size(row)
        return (row // size + 1) * size


def view_bytes(chunk: Chunk) -> list[int]:
    """Bytes of a row in each view, by the schedule's rule; 0 in a view that no row of this chunk has."""
    seen = np.asarray(MeasuredRows(chunk).measure().inverse.any(axis=1))
    return [_row_bytes(x) if there else 0 for x, there in zip(chunk.views, seen, strict=True)]


def _row_bytes(x: Any) -> int:
    width = int(x.shape[1])
    return ENTRY_BYTES * min(width, MOST_ENTRIES) if issparse(x) else NUMBER_BYTES * width


def cuts_for(chunk_size: int | str, n_clusters: int | None) -> Every | Schedule:
    """Where chunks end, for the setting `chunk_size`."""
    return Schedule(n_clusters) if isinstance(chunk_size, str) else Every(int(chunk_size))
