"""Records of label files, and the labels of an unfinished run whose rows are read once.

Ids, which have no fixed width, are kept in a file of their own (parquet.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from viewpass.errors import FileError
from viewpass.kernels.grid import Array, Integers, Labels
from viewpass.labels.files.appended import Appended, Extent

RECORD = np.dtype([("cluster", "<i4"), ("distance", "<f4"), ("margin", "<f4"), ("views_seen", "<i2")])
STAGED = np.dtype([("cluster", "<i4")])
BLOCK_ROWS = 2**16


def records(labels: Labels, distance: Array, margin: Array, n_seen: Integers) -> Array:
    """Combine the columns of a label file into records."""
    made = np.empty(len(labels), dtype=RECORD)
    made["cluster"], made["distance"], made["margin"] = labels, distance, margin
    made["views_seen"] = n_seen
    return made


class StagedLabels:
    """Labels as rows got them; what a checkpoint recorded is verified, and the rest cut off."""

    def __init__(self, path: Path, upto: Extent | None = None) -> None:
        self._path, self._file = path, Appended(path, upto)

    @property
    def extent(self) -> Extent:
        """The extent written so far."""
        return self._file.extent

    @property
    def n_rows(self) -> int:
        """Rows written so far."""
        return self.extent.size // STAGED.itemsize

    def put(self, labels: Labels) -> None:
        """Write the labels of the next rows."""
        self._file.append(labels.astype("<i4").tobytes())

    def read(self, start: int, n_rows: int) -> Labels:
        """Labels from row `start` on."""
        with self._path.open("rb") as file:
            file.seek(start * STAGED.itemsize)
            found = np.frombuffer(file.read(n_rows * STAGED.itemsize), "<i4")
        return found.astype(np.int32)

    def blocks(self) -> Iterator[tuple[int, Labels]]:
        """All labels in order: the number of the first row, and labels."""
        for start in range(0, self.n_rows, BLOCK_ROWS):
            yield start, self.read(start, min(BLOCK_ROWS, self.n_rows - start))

    def check(self, n_rows: int, clusters: Sequence[tuple[int, int]]) -> None:
        """Refuse other rows than the checkpoint has read, and clusters that its models did not have.

        `clusters` are the first row of each model, and its number of clusters.
        """
        starts, sizes = np.array(clusters, dtype=np.int64).reshape(-1, 2).T
        sound = self.extent.size == n_rows * STAGED.itemsize
        for start, labels in self.blocks() if sound else ():
            rows = np.arange(start, start + len(labels))
            most = sizes[np.searchsorted(starts, rows, side="right") - 1]
            sound = sound and bool(((labels >= -1) & (labels < most)).all())
        if not sound:
            raise FileError(
                f"{self._path} does not hold the labels of the rows that the checkpoint beside it has read. "
                "Start over in a new folder."
            )

    def sync(self) -> None:
        """Flush them to disk."""
        self._file.sync()

    def close(self) -> None:
        """Close the file."""
        self._file.close()
