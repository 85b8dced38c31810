"""Where labels wait until all are decided: a fixed-width record a row, in the order of the rows.

Each pass writes a part of its own, since it needs the labels of the pass before; two parts take
turns. Ids, which have no fixed width, are kept beside them as they were read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from viewpass.errors import FileError
from viewpass.kernels.grid import Array, Integers, Labels
from viewpass.store.container.fields import Fields
from viewpass.store.labels.appended import Appended, Extent, verified
from viewpass.store.labels.passes import PassFiles

RECORD = np.dtype([("cluster", "<i4"), ("distance", "<f4"), ("margin", "<f4"), ("views_seen", "<i2")])
BLOCK_ROWS = 2**16


def records(labels: Labels, distance: Array, margin: Array, n_seen: Integers) -> Array:
    """Rows as they are kept and written."""
    made = np.empty(len(labels), dtype=RECORD)
    made["cluster"], made["distance"], made["margin"] = labels, distance, margin
    made["views_seen"] = n_seen
    return made


class LabelSink(PassFiles):
    """Labels of one run, pass by pass.

    `begin` a pass, `put` its rows in order, `end` it; `last` gives the labels of the pass before.
    """

    def __init__(self, folder: Path, n_clusters: int) -> None:
        super().__init__(n_clusters)
        self._folder = folder

    def part(self, number: int) -> Path:
        """The file of a pass."""
        return self._folder / f"labels.{number % 2}"

    def begin(self, number: int) -> None:
        """Start the part of a pass, over that of two passes ago; go on with it if it was resumed."""
        if self._now is None:
            self.number, self._now = number, Appended(self.part(number))
            self.sizes[:] = 0

    def put(self, start: int, rows: Array) -> None:
        """Write the next rows."""
        assert self._now is not None
        n_rows = self._now.extent.size // RECORD.itemsize
        if start != n_rows:
            raise FileError(f"{self._now.path}: row {start} where row {n_rows} was expected.")
        self._now.append(rows.tobytes())
        self._count(rows)

    def ended(self, start: int, n_rows: int) -> Array:
        """Rows of the pass that ended last."""
        with self.part(self.number - 1).open("rb") as file:
            file.seek(start * RECORD.itemsize)
            return np.frombuffer(file.read(n_rows * RECORD.itemsize), dtype=RECORD)

    def last(self, start: int, n_rows: int) -> Labels:
        """Their labels alone."""
        return np.ascontiguousarray(self.ended(start, n_rows)["cluster"], dtype=np.int32)

    def blocks(self) -> Iterator[Array]:
        """The rows of the pass that ended last, in order."""
        assert self._before is not None
        yield from _blocks(self.part(self.number - 1), self._before)

    @classmethod
    def resumed(cls, folder: Path, n_clusters: int, stored: Fields) -> LabelSink:
        """As a checkpoint says it was; what was written later is cut off."""
        sink = cls(folder, n_clusters)
        sink.number = stored.number("pass")
        counted = None
        if stored.get("before") is not None:
            counted = sink._before = Extent.unpacked(stored.part("before"))
            verified(sink.part(sink.number - 1), sink._before)
        if stored.get("now") is not None:
            counted = Extent.unpacked(stored.part("now"))
            sink._now = Appended(sink.part(sink.number), counted)
        try:
            if counted is not None:
                for block in _blocks(sink.part(sink.number - (sink._now is None)), counted):
                    sink._count(block)
        except FileError:
            sink.close()
            raise
        return sink

    def _count(self, rows: Array) -> None:
        clusters = rows["cluster"]
        counts = np.bincount(clusters[clusters >= 0], minlength=len(self.sizes))
        if len(counts) > len(self.sizes):
            raise FileError(f"{self.part(self.number)} names clusters that the model does not have.")
        self.sizes += counts


def _blocks(path: Path, upto: Extent) -> Iterator[Array]:
    left = upto.size // RECORD.itemsize
    with path.open("rb") as file:
        while left:
            rows = np.frombuffer(file.read(min(BLOCK_ROWS, left) * RECORD.itemsize), dtype=RECORD)
            left -= len(rows)
            yield rows
