"""Label files of data larger than memory: rows are labelled under a model, chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.utils.validation import check_is_fitted

from viewpass.cluster.runs.reason_columns import Wanted, reason_columns, with_names
from viewpass.core.model import Model
from viewpass.core.step.workspace import Workspace
from viewpass.engine.labelling import Labelled, cluster_rows
from viewpass.engine.local import rows_per_read
from viewpass.errors import DataError
from viewpass.kernels.grid import Integers
from viewpass.sample.sample import Sampler
from viewpass.sources.source import Source
from viewpass.store.container.files import naming, replacing
from viewpass.store.folder import RunFolder
from viewpass.store.labels.formats import FINAL, staged_tables, table_writer
from viewpass.store.labels.parquet import ID, LabelFile, as_ids, label_columns
from viewpass.views.chunk import Chunk

CHUNK = 8192
MOST_CHUNKS = 4  # labelled at a time: progress is shown, and a stop answered, this often
PLAIN = Wanted()

Watch = Callable[[int, Integers], None]  # rows labelled, rows per cluster
Also = Callable[[Chunk, Labelled], None]  # what else is done with labelled rows


def write_labels(
    model: Any,
    data: Source,
    path: Path,
    watch: Watch,
    growing: Path | None = None,
    wanted: Wanted = PLAIN,
) -> tuple[int, Integers]:
    """Write the labels of all rows under a model to a file, in the format of its name.

    Gives the number of rows, and of rows per cluster.
    """
    check_is_fitted(model)
    source = model._read(data, None, reset=False)
    learnt, workspace = model._fitted_model(), model._workspace(source)
    return _written(learnt, source, path, workspace, watch, wanted, growing=growing)


def write_final_labels(
    model: Model,
    source: Source,
    folder: RunFolder,
    workspace: Workspace,
    watch: Watch,
    wanted: Wanted,
    also: Also,
) -> Integers:
    """Write the label file of a run; gives rows per cluster.

    Names of clusters follow from the labels of all rows, which are staged until then.
    """
    given = workspace, watch, wanted
    if not wanted.named:
        return _written(model, source, folder.labels, *given, growing=folder.growing, also=also)[1]
    staged = folder.staging / "final.arrows"
    sizes = _written(model, source, staged, *given, growing=folder.growing, also=also, staged=True)[1]
    names = wanted.names(model, staged_tables(staged, ["cluster", *wanted.name_by]))
    with naming(staged), replacing(folder.labels, folder.growing) as out:
        writer = None
        for rows in staged_tables(staged):
            table = with_names(rows, names)
            if writer is None:
                writer = table_writer("Parquet", out, table.schema)
            with naming(folder.labels):
                writer.write_table(table)
        if writer is not None:
            writer.close()
    staged.unlink()
    return sizes


def _written(
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
) -> tuple[int, Integers]:
    """Write labels; gives the number of rows, and of rows per cluster."""
    wanted.check(source.id_name, model)
    source = source.keeping(wanted.kept)
    sizes = np.zeros(model.n_clusters, dtype=np.int64)
    id_type = None
    with replacing(path, growing) as file, LabelFile(file, path, FINAL, source.id_name, staged=staged) as out:
        for chunk in source.chunks(_rows_at_once(source)):
            found = cluster_rows(chunk, model, workspace)
            ids = None if chunk.row_ids is None else as_ids(chunk.row_ids, id_type)
            id_type = None if ids is None else ids.type
            out.add(found.records, ids, chunk.kept, reason_columns(chunk, found, model, workspace, wanted))
            if also is not None:
                also(chunk, found)
            clusters = found.records["cluster"]
            sizes += np.bincount(clusters[clusters >= 0], minlength=len(sizes))
            watch(out.n_rows, sizes)
        if not out.n_rows:
            raise DataError("the data has no rows: there is nothing to label.")
    return out.n_rows, sizes


def labelled_tables(
    model: Any, source: Source, wanted: Wanted = PLAIN, sampler: Sampler | None = None
) -> Iterator[Any]:
    """The rows of a label file as Arrow tables, one per chunk; `source` fits the model.

    The sampler takes its rows on the way.
    """
    learnt, workspace = model._fitted_model(), model._workspace(source)
    wanted.check(source.id_name, learnt)
    for chunk in source.keeping(wanted.kept).chunks(CHUNK):
        if sampler is not None:
            sampler.add(chunk)
        found = cluster_rows(chunk, learnt, workspace)
        ids = np.arange(chunk.start, chunk.start + chunk.n_rows) if chunk.row_ids is None else chunk.row_ids
        values, fields = label_columns(found.records)
        parts = [chunk.kept, pa.table(values, schema=pa.schema(fields))]
        parts.append(reason_columns(chunk, found, learnt, workspace, wanted))
        columns = {source.id_name or ID: as_ids(ids)}
        for part in parts:
            columns |= {} if part is None else dict(zip(part.column_names, part.columns, strict=True))
        yield pa.table(columns)


def _rows_at_once(source: Source) -> int:
    """Rows to label at a time: several chunks."""
    return min(rows_per_read(source, CHUNK), MOST_CHUNKS * CHUNK)
