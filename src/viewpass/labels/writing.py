"""Label files of data larger than memory: rows are labelled under a model, chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from sklearn.utils.validation import check_is_fitted

from viewpass.errors import DataError
from viewpass.kernels.grid import Integers
from viewpass.labels.columns import Labelled, Wanted, cluster_rows, reason_columns
from viewpass.labels.files.formats import FINAL
from viewpass.labels.files.parquet import ID, LabelFile, as_ids, label_columns
from viewpass.model.model import Model
from viewpass.sample.sample import Sampler
from viewpass.sources.source import Source, rows_per_read
from viewpass.store.container.files import replacing
from viewpass.sums.rules import Workspace
from viewpass.views.chunk import Chunk

CHUNK = 8192
MOST_CHUNKS = 4  # labelled at a time: progress is shown, and a stop answered, this often
PLAIN = Wanted()

Watch = Callable[[int, Integers], None]  # rows labelled, rows per cluster
Also = Callable[[Chunk, Labelled], None]  # what else is done with labelled rows


class Written(NamedTuple):
    """Rows that were labelled, rows of each cluster, and which views some row has."""

    n_rows: int
    sizes: Integers
    views_there: list[bool]


def write_labels(
    model: Any,
    data: Source,
    path: Path,
    watch: Watch,
    growing: Path | None = None,
    wanted: Wanted = PLAIN,
) -> Written:
    """Write the labels of all rows under a model to a file, in the format of its name."""
    check_is_fitted(model)
    source = model._read(data, None, reset=False)
    learnt, workspace = model._fitted_model(), model._workspace(source)
    return write_rows(learnt, source, path, workspace, watch, wanted.given_names(model), growing=growing)


def write_rows(
    model: Model,
    source: Source,
    path: Path,
    workspace: Workspace,
    watch: Watch,
    wanted: Wanted,
    *,
    growing: Path | None,
    also: Also | None = None,
    staged: bool = False,
) -> Written:
    """Write labels."""
    wanted.check(source.id_name, model)
    source = source.keeping(wanted.kept)
    sizes = np.zeros(model.n_clusters, dtype=np.int64)
    id_type, there = None, list[bool]()
    with replacing(path, growing) as file, LabelFile(file, path, FINAL, source.id_name, staged=staged) as out:
        for chunk in source.chunks(_rows_at_once(source)):
            found = cluster_rows(chunk, model, workspace)
            ids = None if chunk.row_ids is None else as_ids(chunk.row_ids, id_type)
            id_type = None if ids is None else ids.type
            reasons = reason_columns(chunk, found, model, workspace, wanted)
            out.add(found.records, ids, chunk.origin.kept, reasons)
            there = chunk.views_there(there)
            if also is not None:
                also(chunk, found)
            clusters = found.records["cluster"]
            sizes += np.bincount(clusters[clusters >= 0], minlength=len(sizes))
            watch(out.n_rows, sizes)
        if not out.n_rows:
            raise DataError("the data has no rows: there is nothing to label.")
    return Written(out.n_rows, sizes, there)


def labelled_tables(
    model: Any, source: Source, wanted: Wanted = PLAIN, sampler: Sampler | None = None
) -> Iterator[Any]:
    """The rows of a label file as Arrow tables, one per chunk; `source` fits the model.

    The sampler takes its rows on the way.
    """
    learnt, workspace, wanted = model._fitted_model(), model._workspace(source), wanted.given_names(model)
    wanted.check(source.id_name, learnt)
    for chunk in source.keeping(wanted.kept).chunks(CHUNK):
        if sampler is not None:
            sampler.add(chunk)
        found = cluster_rows(chunk, learnt, workspace)
        ids = np.arange(chunk.start, chunk.start + chunk.n_rows) if chunk.row_ids is None else chunk.row_ids
        values, fields = label_columns(found.records)
        parts = [chunk.origin.kept, pa.table(values, schema=pa.schema(fields))]
        parts.append(reason_columns(chunk, found, learnt, workspace, wanted))
        columns = {source.id_name or ID: as_ids(ids)}
        for part in parts:
            columns |= {} if part is None else dict(zip(part.column_names, part.columns, strict=True))
        yield pa.table(columns)


def _rows_at_once(source: Source) -> int:
    """Rows to label at a time: several chunks."""
    return min(rows_per_read(source, CHUNK), MOST_CHUNKS * CHUNK)
