"""Runs a fit in this process: reads chunks, and has them sampled, tallied and labelled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from viewpass.engines.progress import Callback, Progress
from viewpass.kernels.grid import Array, Integers, Labels
from viewpass.sources.source import Source, rows_per_read
from viewpass.sums.rules import Workspace
from viewpass.tally.fitting import Fitting
from viewpass.tally.learning import Labelled, Learning
from viewpass.views.chunk import Chunk


class RowReader:
    """The rows of a source in chunks, with their weights; keeps their ids when they are first read.

    `keep_ids=False` is for rows that memory need not hold.
    """

    def __init__(
        self,
        source: Source,
        copies: Integers | None = None,
        block: int = 8192,
        *,
        keep: bool = False,
        keep_ids: bool = True,
    ) -> None:
        self.source = source
        self._copies, self._block, self._keep, self._keep_ids = copies, block, keep, keep_ids
        self._ids: list[Array] = []
        self._n_ids = 0
        self.views_there: list[bool] = []  # which views some row read has

    @property
    def n_rows(self) -> int | None:
        """Rows of the data, where known before reading."""
        return self.source.n_rows

    @property
    def row_ids(self) -> Array | None:
        """The ids of the rows read."""
        if self.source.row_ids is not None:
            return self.source.row_ids
        return np.concatenate(self._ids) if self._ids else None

    def chunks(self, start: int = 0, stop: int | None = None, size: int | None = None) -> Iterator[Chunk]:
        """The rows from `start` on, up to `stop`, in chunks of `size` or as many as are best read at once."""
        source = self.source if stop is None else self.source.until(stop)
        for chunk in source.chunks(size or rows_per_read(source, self._block), start):
            if stop is not None and chunk.start + chunk.n_rows > stop:
                chunk = chunk.cut(0, stop - chunk.start)
            if self._copies is not None:
                chunk = replace(chunk, copies=self._copies[chunk.start : chunk.start + chunk.n_rows])
            if self._keep:
                chunk = chunk.copy()
            self.views_there = chunk.views_there(self.views_there)
            if self._keep_ids and chunk.row_ids is not None and chunk.start == self._n_ids:
                self._ids.append(np.asarray(chunk.row_ids))
                self._n_ids += chunk.n_rows
            yield chunk
            if stop is not None and chunk.start + chunk.n_rows >= stop:
                return


def fit_again(
    learning: Learning, reader: RowReader, workspace: Workspace, callback: Callback | None = None
) -> tuple[Learning, Labels]:
    """Fit to data that can be read again: what was learnt, and the labels of all rows."""
    fitting = Fitting(learning.plan, learning.seed, learning.sample)
    found: Labels = np.empty(0, dtype=np.int32)
    while not fitting.done:
        if fitting.labelling:
            found = np.empty(
                fitting.n_rows, dtype=np.int32
            )  # in place: they may be most of what memory holds
        for labels in read_stage(fitting, reader, workspace, callback):
            found[fitting.row - len(labels) : fitting.row] = labels
        fitting.end_stage(workspace)
    workspace.release()
    return fitting.learning, found


def read_stage(
    fitting: Fitting, reader: RowReader, workspace: Workspace, callback: Callback | None = None
) -> Iterator[Labels]:
    """Read the rest of the present stage; gives labels in the last one."""
    drawing = fitting.model is None
    for chunk in reader.chunks(fitting.row, None if drawing else fitting.n_rows):
        if (labels := fitting.take(chunk, workspace)) is not None:
            yield labels
        if callback is not None:
            n_rows = reader.n_rows if drawing else fitting.n_rows
            stop = callback(
                Progress(fitting.stage, fitting.stage + 1, fitting.row, n_rows, None, fitting.what)
            )
            if stop and drawing:
                return


def fit_once(
    learning: Learning,
    reader: RowReader,
    workspace: Workspace,
    callback: Callback | None = None,
    *,
    whole: bool = True,
) -> tuple[Labels, Integers]:
    """Learn from rows that are read once; gives labels and ids of clusters. `whole`: no others will come."""
    parts: list[Labelled] = []
    for chunk in reader.chunks():
        parts += learning.learn(chunk, workspace)
        progress = Progress(0, 1, chunk.start + chunk.n_rows, reader.n_rows, None)
        if callback is not None and callback(progress):
            break
    if whole and not learning.up_to_date:
        parts += learning.solve(workspace)
    workspace.release()
    labels = np.concatenate([np.empty(0, dtype=np.int32), *map(learning.present, parts)])
    return labels, np.concatenate([np.empty(0, dtype=np.int64), *map(learning.ids_of, parts)])
