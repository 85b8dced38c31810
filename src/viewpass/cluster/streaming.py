"""Data that does not fit under a model: labels into a file, or further learning, chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from viewpass.cluster.opimc import OPIMC
from viewpass.engine.labelling import cluster_rows
from viewpass.engine.local import read_together
from viewpass.errors import DataError
from viewpass.kernels.grid import Integers
from viewpass.sources.source import Source
from viewpass.store.container.files import replacing
from viewpass.store.labels.parquet import LabelFile, as_ids

MOST_TOGETHER = 4  # chunks: whoever wants to stop, or to see progress, does not wait longer

Watch = Callable[[int, float | None, Integers], None]  # rows read, loss, sizes of the clusters


def write_labels(
    model: Any, data: Source, path: Path, *, chunk_size: int, watch: Watch
) -> tuple[int, Integers]:
    """Label every row of the data under a model, into Parquet; gives their number and the clusters' sizes."""
    check_is_fitted(model)
    source = model._read(data, None, reset=False)
    learnt, workspace = model._fitted_model(), model._workspace(source)
    sizes = np.zeros(learnt.clusters.n_clusters, dtype=np.int64)
    id_type = None
    with replacing(path) as file, LabelFile(file, path) as out:
        for chunk in source.chunks(_rows_at_once(source, chunk_size)):
            rows = cluster_rows(chunk, learnt, workspace)
            ids = None if chunk.row_ids is None else as_ids(chunk.row_ids, id_type)
            id_type = None if ids is None else ids.type
            out.add(rows, ids)
            sizes += np.bincount(rows["cluster"][rows["cluster"] >= 0], minlength=len(sizes))
            watch(out.n_rows, None, sizes)
        if not out.n_rows:
            raise DataError("the data has no rows: there is nothing to label.")
    return out.n_rows, sizes


def _rows_at_once(source: Source, chunk_size: int) -> int:
    """Rows to label at a time: several chunks."""
    return min(read_together(source, chunk_size), MOST_TOGETHER * chunk_size)


def learn(model: OPIMC, data: Source, *, chunk_size: int, watch: Watch) -> int:
    """Let a model go on with more rows, chunk by chunk; gives their number."""
    source = model._read(data, None, reset=False)
    stream = model._learnt
    stream.workspace = model._workspace(source)
    n_rows = 0
    sizes = np.zeros(stream.plan.most_centres, dtype=np.int64)
    for chunk in source.chunks(chunk_size):
        decided = stream.learn(chunk if stream.started else chunk.copy())
        n_rows += chunk.n_rows
        if decided is not None:
            sizes += np.bincount(decided.labels[decided.labels >= 0], minlength=len(sizes))
        n_centres = stream.model.total.n_clusters if stream.started else 0
        watch(n_rows, stream.model.loss_curve[-1] if stream.started else None, sizes[:n_centres])
    if not n_rows:
        raise DataError("the data has no rows: there is nothing to learn from.")
    if not model._cut_by_views:
        model.n_features_in_ = sum(width or 0 for width in stream.schema.widths)
    return n_rows
