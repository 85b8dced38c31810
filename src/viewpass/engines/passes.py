"""Runs Algorithm 1 over a source, pass after pass, and keeps the labels."""

from __future__ import annotations

import logging

import numpy as np

from viewpass.algorithm1.algorithm1 import Algorithm1
from viewpass.engines.local import RowReader
from viewpass.engines.progress import Callback, Progress
from viewpass.errors import DataError
from viewpass.kernels.grid import Labels
from viewpass.solve.solve import too_few
from viewpass.sources.source import Source

logger = logging.getLogger("viewpass")

SMALL_STEP = 2**21  # multiplications per chunk below which calling costs more than computing
SMALL_STEP_ROWS = 4096  # rows of such chunks that are processed in one call
CHUNKS_PER_CALL = 16  # larger chunks processed in one call, where rows are read in place
MOST_SUMS = 2**20  # and the sums, of which there are three copies then, are no larger than this


def run_passes(
    algorithm: Algorithm1,
    reader: RowReader,
    chunk_size: int,
    n_passes: int,
    *,
    whole: bool = True,
    callback: Callback | None = None,
) -> Labels:
    """Read the data `n_passes` times; gives the labels of the last pass. `whole`: no other rows will come."""
    check_passes(reader.source, n_passes)
    n_clusters, labels = algorithm.settings.n_clusters, np.empty(0, dtype=np.int32)
    rows, stopped = rows_per_call(reader.source, n_clusters, chunk_size), False
    for number in range(n_passes):
        parts = [np.empty(0, dtype=np.int32)]
        for chunk in reader.chunks(0, algorithm.n_rows if number else None, size=rows):
            start, stop = chunk.start, chunk.start + chunk.n_rows
            parts += algorithm.learn(chunk, chunk_size, labels[start:stop] if number else None)
            loss = algorithm.model.loss_curve[-1] if algorithm.model is not None else None
            if callback is not None and callback(Progress(number, n_passes, stop, reader.n_rows, loss)):
                stopped = True
                break
        done = np.concatenate(parts)
        labels = np.concatenate([done, labels[len(done) :]])
        if number == 0 and whole and algorithm.read.n_seen < n_clusters:
            raise DataError(too_few(algorithm.read.n_seen, n_clusters))
        if algorithm.model is not None:
            average = algorithm.model.loss_curve[-1]
            logger.info("pass %d of %d: average loss %.6g", number + 1, n_passes, average)
        if stopped:
            break
    algorithm.workspace.release()
    return labels


def rows_per_call(source: Source, n_clusters: int, chunk_size: int) -> int:
    """Rows processed in one call: several chunks of data in memory, many small ones, or one."""
    sums = sum(width or 0 for width in source.schema.widths) * n_clusters
    if source.in_memory and chunk_size * sums <= SMALL_STEP:
        return max(1, SMALL_STEP_ROWS // chunk_size) * chunk_size
    return chunk_size * (CHUNKS_PER_CALL if source.in_place and sums <= MOST_SUMS else 1)


def check_passes(source: Source, n_passes: int) -> None:
    """Refuse to read a stream more often than it can be, before anything is read."""
    if n_passes > 1 and not source.rereadable:
        raise DataError(
            f"{n_passes} passes over a stream that can be read only once. Use n_passes=1, or give data that "
            "can be read again: files, a table or a frame."
        )
