"""Label files of data larger than memory: rows are labelled under a model, chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from viewpass.errors import DataError
from viewpass.kernels.grid import Integers
from viewpass.labels.columns import Labelled, Wanted, label_rows
from viewpass.labels.formats import FINAL, TableFile, about_labels
from viewpass.model.model import Model
from viewpass.sample.sample import Sampler
from viewpass.sources.source import Source, rows_per_read
from viewpass.store.container.files import replacing
from viewpass.sums.rules import Workspace
from viewpass.views.chunk import Chunk

CHUNK = 8192
GROUP_ROWS = 2**17  # written at a time
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
    about = about_labels(FINAL, source.id_name)
    with (
        replacing(path, growing) as file,
        TableFile(path, file, group_rows=GROUP_ROWS, about=about, staged=staged) as out,
    ):
        for chunk in source.chunks(min(rows_per_read(source, CHUNK), MOST_CHUNKS * CHUNK)):
            found, table = label_rows(chunk, model, workspace, wanted, source.id_name, id_type)
            id_type = table.schema.field(0).type
            out.write(table)
            there = chunk.views_there(there)
            if also is not None:
                also(chunk, found)
            sizes += np.bincount(found.clusters[found.clusters >= 0], minlength=len(sizes))
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
        yield label_rows(chunk, learnt, workspace, wanted, source.id_name)[1]
