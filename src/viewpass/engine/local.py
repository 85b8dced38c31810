"""One machine: drive a core stream over a source, pass after pass."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from viewpass.core.model import Assigned, Model, label
from viewpass.core.step.workspace import Workspace
from viewpass.core.stream import Stream
from viewpass.errors import DataError
from viewpass.kernels.grid import Array, Labels
from viewpass.sources.source import Source

logger = logging.getLogger("viewpass")

SMALL_WORK = 2**21  # multiplications of a chunk's look, below which calling costs more than working
TOGETHER = 4096  # rows of such chunks that are handed over together
CHUNKS_TOGETHER = 16  # of those that are larger, where rows are read in place,
MOST_SUMS = 2**20  # and the sums are no more than this: there are three of them then
READ_TOGETHER, READ_BYTES = 2**14, 2**23  # rows, and bytes of them, of what is read from elsewhere


class Read(NamedTuple):
    """What a run leaves besides the model: the labels as the stream decided them last, and the ids."""

    labels: Labels
    row_ids: Array | None


def run(stream: Stream, source: Source, *, chunk_size: int, n_passes: int) -> Read:
    """Read the source `n_passes` times; give the labels as the stream decided them last."""
    check_passes(source, n_passes)
    sheet = Sheet(source.n_rows)
    ids: list[Array] = []
    size = _rows_together(source, stream, chunk_size)
    for number in range(n_passes):
        for chunk in source.chunks(size):
            labels = None if number == 0 else sheet.cut(chunk.start, chunk.n_rows)
            if size > chunk_size:
                for decided in stream.learn_several(chunk, chunk_size, labels):
                    sheet.put(decided)
                    del decided  # its rows are not to wait for the next ones
            else:
                sheet.put(stream.learn(chunk) if labels is None else stream.relearn(chunk, labels))
            if number == 0 and source.row_ids is None and chunk.row_ids is not None:
                ids.append(chunk.row_ids)
        if number == 0:
            sheet.put(stream.finish())
            check_enough(stream)
        if logger.isEnabledFor(logging.INFO):
            curve = stream.model.loss_curve
            logger.info("pass %d of %d: average loss %.6g", number + 1, n_passes, curve[-1])
    stream.workspace.release()
    return Read(sheet.whole(stream.n_rows), np.concatenate(ids) if ids else source.row_ids)


def _rows_together(source: Source, stream: Stream, chunk_size: int) -> int:
    """Rows read at a time: several chunks of data in memory, many small ones, or one."""
    widths = [width or 0 for width in source.schema.widths]
    sums = sum(widths) * (stream.plan.n_clusters or 1)
    work = chunk_size * sums
    if source.in_memory and work <= SMALL_WORK:
        return max(1, TOGETHER // chunk_size) * chunk_size
    return chunk_size * (CHUNKS_TOGETHER if source.in_place and sums <= MOST_SUMS else 1)


def read_together(source: Source, chunk_size: int) -> int:
    """Rows of whole chunks that are better read and labelled together, as far as is known."""
    if source.row_bytes is None:
        return chunk_size
    fitting = min(READ_TOGETHER, READ_BYTES // max(source.row_bytes, 1))
    return max(1, fitting // chunk_size) * chunk_size


class Sheet:
    """Labels by row number; grows where the number of rows shows only in reading."""

    def __init__(self, n_rows: int | None) -> None:
        self._labels = np.full(n_rows or 0, -1, dtype=np.int32)

    def put(self, decided: Assigned | None) -> None:
        """Write down labels that have been decided."""
        if decided is None:
            return
        stop = decided.start + len(decided.labels)
        if stop > len(self._labels):  # in place, by a share of the length: memory is not doubled
            self._labels.resize(stop + stop // 8, refcheck=False)
        self._labels[decided.start : stop] = decided.labels

    def cut(self, start: int, n_rows: int) -> Labels:
        """Labels of some consecutive rows."""
        return self._labels[start : start + n_rows]

    def whole(self, n_rows: int) -> Labels:
        """All labels, without the room left for more."""
        self._labels.resize(n_rows, refcheck=False)
        return self._labels


def check_passes(source: Source, n_passes: int) -> None:
    """Refuse to read a stream more often than it can be, before anything is read."""
    if n_passes > 1 and not source.rereadable:
        raise DataError(
            f"{n_passes} passes over a stream that can be read once only. Use n_passes=1, or give data that "
            "can be read again: files, a table or a frame."
        )


def check_enough(stream: Stream) -> None:
    """After the first pass: refuse fewer rows than clusters."""
    n_clusters = stream.plan.n_clusters or 1
    n_seen = stream.n_rows - (stream.model.n_without_views if stream.started else stream.n_rows)
    if n_seen < n_clusters:
        raise DataError(too_few(n_seen, n_clusters))


def too_few(n_seen: int, n_clusters: int) -> str:
    """Say that there are fewer rows than clusters."""
    return (
        f"{n_seen} sample{'s' if n_seen != 1 else ''} with at least one view cannot form "
        f"{n_clusters} clusters (n_samples = {n_seen}). Give more rows or a smaller n_clusters."
    )


def labels_of(model: Model, source: Source, workspace: Workspace, *, block: int) -> Iterator[Labels]:
    """Labels of the source's rows under the model, a block at a time."""
    for chunk in source.chunks(read_together(source, block)):
        yield label(chunk, model, workspace)
