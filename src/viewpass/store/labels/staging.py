"""Labels of an unfinished local run, as fixed-width records in row order; read when the run ends or resumes.

Ids, which have no fixed width, are kept in a file of their own (parquet.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from viewpass.errors import FileError
from viewpass.kernels.grid import Array, Integers, Labels
from viewpass.store.container.fields import Fields
from viewpass.store.labels.appended import Extent
from viewpass.store.labels.passes import PassFiles

RECORD = np.dtype([("cluster", "<i4"), ("distance", "<f4"), ("margin", "<f4"), ("views_seen", "<i2")])
BLOCK_ROWS = 2**16


def records(labels: Labels, distance: Array, margin: Array, n_seen: Integers) -> Array:
    """Combine the columns into records."""
    made = np.empty(len(labels), dtype=RECORD)
    made["cluster"], made["distance"], made["margin"] = labels, distance, margin
    made["views_seen"] = n_seen
    return made


class LabelSink(PassFiles):
    """Labels of one run, pass by pass.

    `begin` a pass, `put` its rows in order, `end` it; `last` returns the labels of the pass before.
    """

    def __init__(self, folder: Path, n_clusters: int) -> None:
        super().__init__(n_clusters)
        self._folder = folder

    def path(self, number: int) -> Path:
        """Return the file of a pass."""
        return self._folder / f"labels.{number % 2}"

    def put(self, start: int, rows: Array) -> None:
        """Write the next rows."""
        assert self._now is not None
        n_rows = self._now.extent.size // RECORD.itemsize
        if start != n_rows:
            raise FileError(f"{self._now.path}: row {start} where row {n_rows} was expected.")
        self._now.append(rows.tobytes())
        self._count(rows)

    def ended(self, start: int, n_rows: int) -> Array:
        """Return rows of the latest complete pass."""
        with self.path(self.number - 1).open("rb") as file:
            file.seek(start * RECORD.itemsize)
            return np.frombuffer(file.read(n_rows * RECORD.itemsize), dtype=RECORD)

    def last(self, start: int, n_rows: int) -> Labels:
        """Return labels of the latest complete pass."""
        return np.ascontiguousarray(self.ended(start, n_rows)["cluster"], dtype=np.int32)

    def blocks(self) -> Iterator[Array]:
        """Yield the rows of the latest complete pass, in order."""
        assert self._before is not None
        yield from _blocks(self.path(self.number - 1), self._before)

    @classmethod
    def resumed(cls, folder: Path, n_clusters: int, stored: Fields) -> LabelSink:
        """Restore the sink that a checkpoint recorded; rows written after it are cut off."""
        sink = cls(folder, n_clusters)
        sink._resume(stored)
        return sink

    def check_rows(self, n_before: int | None, n_now: int | None) -> None:
        """Refuse files that do not hold this many rows, of the latest pass and of the present one."""
        extents = self._before, None if self._now is None else self._now.extent
        for number, extent, n_rows in zip((-1, 0), extents, (n_before, n_now), strict=True):
            size = None if n_rows is None else n_rows * RECORD.itemsize
            if size != (None if extent is None else extent.size):
                raise FileError(
                    f"{self.path(self.number + number)} does not hold the labels of the rows that the "
                    "checkpoint beside it has read. Start over in a new folder."
                )

    def _verify(self, number: int, upto: Extent) -> None:
        super()._verify(number, upto)
        for block in _blocks(self.path(number), upto):
            self._counts(block, number)

    def _recount(self, number: int, upto: Extent) -> None:
        for block in _blocks(self.path(number), upto):
            self.sizes += self._counts(block, number)

    def _count(self, rows: Array) -> None:
        clusters = rows["cluster"]
        self._add(np.bincount(clusters[clusters >= 0]))

    def _counts(self, rows: Array, number: int) -> Integers:
        clusters = rows["cluster"]
        if len(clusters) and not -1 <= clusters.min() <= clusters.max() < len(self.sizes):
            raise FileError(f"{self.path(number)} names clusters that the model does not have.")
        return np.bincount(clusters[clusters >= 0], minlength=len(self.sizes))


def _blocks(path: Path, upto: Extent) -> Iterator[Array]:
    left = upto.size // RECORD.itemsize
    with path.open("rb") as file:
        while left:
            rows = np.frombuffer(file.read(min(BLOCK_ROWS, left) * RECORD.itemsize), dtype=RECORD)
            left -= len(rows)
            yield rows
