"""Label files of data larger than memory: rows are labelled under a model, chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.utils.validation import check_is_fitted

from viewpass.cluster.runs.reason_columns import (
    Wanted,
    completed,
    reason_columns,
    staged_columns,
)
from viewpass.cluster.runs.sampled_rows import RowSampler, write_reasons
from viewpass.core.reasons.gathering import Gathered, gathered, needed, recalibrate
from viewpass.engine.labelling import cluster_rows
from viewpass.engine.run import rows_per_read
from viewpass.errors import DataError
from viewpass.kernels.grid import Integers
from viewpass.sources.source import Source
from viewpass.store.container.files import naming, replacing
from viewpass.store.folder import RunFolder
from viewpass.store.labels.formats import FINAL, staged_tables, table_writer
from viewpass.store.labels.parquet import ID, LabelFile, as_ids, label_columns

MOST_CHUNKS = 4  # labelled at a time: progress is shown, and a stop answered, this often

CHUNK = 8192
PLAIN = Wanted()

Watch = Callable[[int, Integers], None]  # rows labelled, rows per cluster


@dataclass(frozen=True)
class Taken:
    """What is taken of rows while they are labelled."""

    rows: RowSampler | None = None  # for the summary
    calibrating: list[Gathered] | None = None  # to learn how sure labels are


def write_labels(
    model: Any,
    data: Source,
    path: Path,
    chunk_size: int,
    watch: Watch,
    growing: Path | None = None,
    wanted: Wanted = PLAIN,
) -> tuple[int, Integers]:
    """Write the labels of all rows under a model to a file, in the format of its name.

    Gives the number of rows, and of rows per cluster.
    """
    return _written(model, data, path, chunk_size, watch, growing, wanted, Taken())


def write_final_labels(
    model: Any, data: Source, folder: RunFolder, chunk_size: int, watch: Watch, wanted: Wanted = PLAIN
) -> Integers:
    """Write the label file of a run, and let the model learn how sure labels are; gives rows per cluster.

    What sampled rows show is written beside it.
    Where that is learnt from the same rows, it is known only when all are labelled: the labels are then
    staged with what their confidence follows from.
    """
    learnt = model._fitted_model()
    given = model, data, folder.labels, chunk_size, watch
    again, sampler = needed(learnt), RowSampler.of(learnt)
    if not again and not wanted.named:
        sizes = _written(*given, folder.growing, wanted, Taken(sampler))[1]
        write_reasons(sampler.reasons(learnt, model._workspace()), folder.sample, folder.growing)
        return sizes
    staged, sample = folder.staging / "final.arrows", list[Gathered]()
    given = model, data, staged, chunk_size, watch
    sizes = _written(*given, folder.growing, wanted, Taken(sampler, sample))[1]
    if again:
        recalibrate(learnt, sample, model._workspace())
    write_reasons(sampler.reasons(learnt, model._workspace()), folder.sample, folder.growing)
    with naming(staged), replacing(folder.labels, folder.growing) as out:
        writer, names = None, None
        if wanted.named:
            names = wanted.names(learnt, staged_tables(staged, ["cluster", *wanted.name_by]))
        about = len(sizes), learnt.calibration, names, learnt.schema.names
        for rows in staged_tables(staged):
            table = completed(rows, *about)
            if writer is None:
                writer = table_writer("Parquet", out, table.schema)
            with naming(folder.labels):
                writer.write_table(table)
        if writer is not None:
            writer.close()
    staged.unlink()
    return sizes


def _written(
    model: Any,
    data: Source,
    path: Path,
    chunk_size: int,
    watch: Watch,
    growing: Path | None,
    wanted: Wanted,
    taken: Taken,
) -> tuple[int, Integers]:
    """Write labels; where they are calibrated by the same rows, confidence is left for later."""
    check_is_fitted(model)
    source = model._read(data, None, reset=False)
    learnt, workspace = model._fitted_model(), model._workspace(source)
    wanted.check(source.id_name, learnt)
    source = source.keeping(wanted.kept)
    sizes = np.zeros(learnt.clusters.n_clusters, dtype=np.int64)
    id_type = None
    staged = taken.calibrating is not None
    with replacing(path, growing) as file, LabelFile(file, path, FINAL, source.id_name, staged=staged) as out:
        for chunk in source.chunks(_rows_at_once(source, chunk_size)):
            found = cluster_rows(chunk, learnt, workspace)
            ids = None if chunk.row_ids is None else as_ids(chunk.row_ids, id_type)
            id_type = None if ids is None else ids.type
            if taken.rows is not None:
                taken.rows.add(chunk)
            if taken.calibrating is None:
                more = reason_columns(chunk, found, learnt, workspace, wanted)
            else:
                taken.calibrating.append(gathered(chunk, learnt, workspace))
                more = staged_columns(found, learnt)
            out.add(found.records, ids, chunk.kept, more)
            clusters = found.records["cluster"]
            sizes += np.bincount(clusters[clusters >= 0], minlength=len(sizes))
            watch(out.n_rows, sizes)
        if not out.n_rows:
            raise DataError("the data has no rows: there is nothing to label.")
    return out.n_rows, sizes


def labelled_tables(
    model: Any, source: Source, wanted: Wanted = PLAIN, sampler: RowSampler | None = None
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


def _rows_at_once(source: Source, chunk_size: int) -> int:
    """Rows to label at a time: several chunks."""
    return min(rows_per_read(source, chunk_size), MOST_CHUNKS * chunk_size)
