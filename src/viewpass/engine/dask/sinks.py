"""Where the labels of a Dask run go: into the driver's memory, or into files that the workers write."""

from __future__ import annotations

from typing import Any

import numpy as np

from viewpass.engine.dask import tasks
from viewpass.kernels.grid import Array, Labels
from viewpass.store.labels.parts import PartSink


class MemorySink:
    """Labels and ids by row number; the labels of a pass take the place of those of the pass before."""

    task = staticmethod(tasks.collect)

    def __init__(self, n_rows: int) -> None:
        self.labels: Labels = np.full(n_rows, -1, dtype=np.int32)
        self._ids: dict[int, Array] = {}

    def begin(self, number: int) -> None:
        """Nothing to make ready."""

    def end(self) -> None:
        """Nothing to close."""

    def order(self, number: int, start: int) -> None:
        """Nothing more to know."""

    def put(self, start: int, found: Any) -> None:
        """Labels of a block, and its ids."""
        labels, ids = found
        self.labels[start : start + len(labels)] = labels
        if ids is not None:
            self._ids[start] = ids

    def last(self, start: int, stop: int) -> Labels:
        """Labels of rows in the pass before."""
        return self.labels[start:stop].copy()

    @property
    def row_ids(self) -> Array | None:
        """Ids found by reading, in the order of the rows."""
        return np.concatenate([self._ids[start] for start in sorted(self._ids)]) if self._ids else None


class PartsSink(PartSink):
    """The sink of a run in a folder that every worker can write to."""

    task = staticmethod(tasks.write_labels)

    @property
    def labels(self) -> PartsSink:
        """What a run asks for the sizes of the clusters."""
        return self

    def packed(self) -> dict[str, Any]:
        """What a checkpoint must know; ids lie beside the labels."""
        return {"labels": super().packed(), "ids": None}
