"""One machine: drive a core stream over a source, pass after pass."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import numpy as np

from viewpass.core.assign import Workspace
from viewpass.core.stream import Model, Stream, label
from viewpass.errors import DataError
from viewpass.kernels.grid import Labels
from viewpass.sources.source import Source

logger = logging.getLogger("viewpass")


def run(stream: Stream, source: Source, *, chunk_size: int, n_passes: int) -> Labels:
    """Read the source `n_passes` times; give the labels as the stream decided them last."""
    labels = np.full(source.n_rows, -1, dtype=np.int32)
    for number in range(n_passes):
        for chunk in source.chunks(chunk_size):
            there = slice(chunk.start, chunk.start + chunk.n_rows)
            decided = stream.feed(chunk) if number == 0 else stream.refeed(chunk, labels[there])
            if decided is not None:
                labels[decided.start : decided.start + len(decided.labels)] = decided.labels
        if number == 0:
            last = stream.finish()
            if last is not None:
                labels[last.start : last.start + len(last.labels)] = last.labels
            _check_enough(stream)
        if logger.isEnabledFor(logging.INFO):
            curve = stream.model.loss_curve
            logger.info("pass %d of %d: average loss %.6g", number + 1, n_passes, curve[-1])
    stream.workspace.release()
    return labels


def _check_enough(stream: Stream) -> None:
    n_clusters = stream.plan.n_clusters
    n_seen = stream.n_rows - (stream.model.n_unseen if stream.started else stream.n_rows)
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
    for chunk in source.chunks(block):
        yield label(chunk, model, workspace)
