"""Labels of a run in memory: by row number for `fit`, one after the other for `partial_fit`."""

from __future__ import annotations

import numpy as np

from viewpass.core.model import Assigned
from viewpass.core.step.workspace import Workspace
from viewpass.kernels.grid import Array, Labels
from viewpass.views.chunk import Chunk

MOST_RESERVED = 2**24  # rows; a damaged file may state any number


class LabelArray:
    """Labels by row number, and ids; grows where the number of rows is not known in advance."""

    by_chunk = False

    def __init__(self, n_rows: int | None, *, keep_ids: bool = True) -> None:
        self._labels = np.full(min(n_rows or 0, MOST_RESERVED), -1, dtype=np.int32)
        self._keep_ids = keep_ids
        self._ids: list[Array] = []

    def begin(self, number: int) -> None:
        """Nothing to prepare."""

    def end(self) -> None:
        """Nothing to close."""

    def put(self, assigned: Assigned, workspace: Workspace) -> None:
        """Keep labels."""
        stop = assigned.start + len(assigned.labels)
        if stop > len(self._labels):  # in place, by a share of the length: memory is not doubled
            self._labels.resize(stop + stop // 8, refcheck=False)
        self._labels[assigned.start : stop] = assigned.recorded

    def put_rows(self, chunk: Chunk) -> None:
        """Keep ids."""
        if chunk.row_ids is not None and self._keep_ids:
            self._ids.append(chunk.row_ids)

    def last(self, start: int, n_rows: int) -> Labels:
        """Labels of rows in the pass before."""
        return self._labels[start : start + n_rows]

    def labels(self, n_rows: int) -> Labels:
        """The labels of the first rows, without the room left for more."""
        self._labels.resize(n_rows, refcheck=False)
        return self._labels

    @property
    def row_ids(self) -> Array | None:
        """The ids of all rows, in order."""
        return np.concatenate(self._ids) if self._ids else None


class LabelList(LabelArray):
    """Labels in the order in which rows are decided: those of a warm-up may come from earlier calls."""

    def __init__(self) -> None:
        super().__init__(None)
        self._parts: list[Labels] = []

    def put(self, assigned: Assigned, workspace: Workspace) -> None:
        """Keep labels."""
        self._parts.append(assigned.recorded)

    def labels(self, n_rows: int) -> Labels:
        """The labels decided last."""
        return np.concatenate([np.empty(0, dtype=np.int32), *self._parts])[-n_rows:]
