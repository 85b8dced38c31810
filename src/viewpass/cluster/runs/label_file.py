"""Label files of data larger than memory: rows are labelled under a model, chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from viewpass.core.reasons.gathering import Gathered, gathered
from viewpass.engine.labelling import cluster_rows
from viewpass.engine.run import rows_per_read
from viewpass.errors import DataError
from viewpass.kernels.grid import Integers
from viewpass.sources.source import Source
from viewpass.store.container.files import replacing
from viewpass.store.labels.formats import FINAL
from viewpass.store.labels.parquet import LabelFile, as_ids

MOST_CHUNKS = 4  # labelled at a time: progress is shown, and a stop answered, this often

Watch = Callable[[int, Integers], None]  # rows labelled, rows per cluster


def write_labels(
    model: Any,
    data: Source,
    path: Path,
    chunk_size: int,
    watch: Watch,
    growing: Path | None = None,
    *,
    sample: list[Gathered] | None = None,
) -> tuple[int, Integers]:
    """Write the labels of all rows under a model to a file, in the format of its name.

    Gives the number of rows, and of rows per cluster; `sample` gets what sampled rows show.
    """
    check_is_fitted(model)
    source = model._read(data, None, reset=False)
    learnt, workspace = model._fitted_model(), model._workspace(source)
    sizes = np.zeros(learnt.clusters.n_clusters, dtype=np.int64)
    id_type = None
    with replacing(path, growing) as file, LabelFile(file, path, FINAL) as out:
        for chunk in source.chunks(_rows_at_once(source, chunk_size)):
            if sample is not None:
                sample.append(gathered(chunk, learnt, workspace))
            rows = cluster_rows(chunk, learnt, workspace)
            ids = None if chunk.row_ids is None else as_ids(chunk.row_ids, id_type)
            id_type = None if ids is None else ids.type
            out.add(rows, ids)
            sizes += np.bincount(rows["cluster"][rows["cluster"] >= 0], minlength=len(sizes))
            watch(out.n_rows, sizes)
        if not out.n_rows:
            raise DataError("the data has no rows: there is nothing to label.")
    return out.n_rows, sizes


def _rows_at_once(source: Source, chunk_size: int) -> int:
    """Rows to label at a time: several chunks."""
    return min(rows_per_read(source, chunk_size), MOST_CHUNKS * chunk_size)
