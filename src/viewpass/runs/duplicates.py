"""`viewpass dedup`: pairs of rows of a cluster that are nearly the same in the views both have.

The similarity of two rows is the mean over these views of the cosine between them, in the model's scale. Fast
products in float32 are a filter; what may reach the threshold is computed in a fixed order in float64, so the
pairs are the same on every machine, and the same as those of all pairs compared one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse

from viewpass.errors import DataError, SettingError
from viewpass.kernels.grid import Array, Floats, Integers, Labels
from viewpass.labels.files.formats import label_format, table_writer
from viewpass.model.model import Model, prepare
from viewpass.runs.run_labels import RunLabels
from viewpass.runs.unit_views import DenseView, SparseView, UnitView
from viewpass.sources.source import Source
from viewpass.store.container.files import naming, replacing
from viewpass.sums.workspace import Workspace

ROWS = 8192
BLOCK = 2048  # rows that are compared with as many others at a time
ROUGH = 2.0**-22  # a bound on the error of float32 products of unit rows, per column


@dataclass(frozen=True)
class Grouped:
    """Unit rows in the order of their clusters, and what belongs to them."""

    views: Sequence[UnitView]  # that some row has; zeros where a row lacks one
    observed: Array  # (rows, views)
    rows: Integers  # their numbers in the data
    starts: Integers  # of the clusters


def dedup(
    labels: RunLabels,
    model: Any,
    data: Source,
    path: Path,
    threshold: float,
    watch: Callable[[int, int], None] = lambda done, pairs: None,
) -> tuple[int, int]:
    """Write the pairs of at least this similarity to a file; gives how many, and how many rows are in them.

    The rows are staged on disk beside the file, by cluster; in memory are those of two blocks.
    """
    if not 0.0 < threshold <= 1.0:
        raise SettingError(f"threshold={threshold}: a number above 0 and at most 1 was expected.")
    source = model._read(data, None, reset=False)
    learnt, workspace = model._fitted_model(), model._workspace(source)
    clusters, ids = _clusters_and_ids(labels)
    format, writer, n_pairs = label_format(path), None, 0
    doubled = np.zeros(len(clusters), dtype=bool)
    with (
        TemporaryDirectory(dir=path.absolute().parent, prefix=".viewpass-") as folder,
        replacing(path) as file,
    ):
        grouped = _grouped(source, learnt, workspace, clusters, Path(folder))
        for cluster, pairs, similarity in _pairs(grouped, threshold):
            numbers = grouped.rows[pairs]
            doubled[numbers.reshape(-1)] = True
            shared = (grouped.observed[pairs[:, 0]] & grouped.observed[pairs[:, 1]]).sum(axis=1)
            table = _table(numbers, similarity, shared, cluster, ids, labels.id_name)
            writer = writer or table_writer(format, file, table.schema)
            with naming(path):
                writer.write_table(table)
            n_pairs += len(pairs)
            watch(int(grouped.starts[cluster + 1]), n_pairs)
        if writer is None:
            none = np.empty((0, 2), np.int64), np.empty(0), np.empty(0)
            nothing = _table(*none, 0, ids, labels.id_name)
            writer = table_writer(format, file, nothing.schema)
            writer.write_table(nothing)
        writer.close()
    return n_pairs, int(doubled.sum())


def _clusters_and_ids(labels: RunLabels) -> tuple[Labels, Any]:
    names = ["cluster"] if labels.id_name is None else ["cluster", labels.id_name]
    table = pa.concat_tables(labels.tables(2**17, names))
    ids = None if labels.id_name is None else table[labels.id_name].combine_chunks()
    return np.asarray(table["cluster"], dtype=np.int32), ids


def _grouped(source: Source, model: Model, workspace: Workspace, clusters: Labels, folder: Path) -> Grouped:
    """Stage the unit rows on disk, to be read in the order of their clusters."""
    order = np.argsort(clusters, kind="stable")
    order = order[clusters[order] >= 0]
    place = np.full(len(clusters), -1, dtype=np.int64)
    place[order] = np.arange(len(order))
    widths = model.widths
    views = list[UnitView | None]([None] * len(widths))
    observed = np.zeros((len(order), len(widths)), dtype=bool)
    n_rows = 0
    for chunk in source.chunks(ROWS):
        if chunk.start + chunk.n_rows > len(clusters):
            break
        rows = prepare(chunk, model, workspace).measure(workspace.n_threads)
        mine = place[chunk.start : chunk.start + chunk.n_rows]
        for v, view in enumerate(rows.chunk.own_views):
            which = np.flatnonzero(rows.present(v) & (mine >= 0))
            if view is None or not len(which):
                continue
            staged = views[v]
            if staged is None:
                kind = SparseView if scipy.sparse.issparse(view) else DenseView
                staged = views[v] = kind(folder / f"view{v}", len(order), widths[v])
            staged.put(rows.in_columns(v), v, which, mine[which])
            observed[mine[which], v] = True
        n_rows += chunk.n_rows
    if n_rows != len(clusters) or (source.n_rows or n_rows) != len(clusters):
        raise DataError(
            f"the labels are those of {len(clusters):,} rows, which the data does not have. Give "
            "the data that was labelled."
        )
    starts = np.searchsorted(clusters[order], np.arange(model.clusters.n_clusters + 1))
    there = [v for v, view in enumerate(views) if view is not None]
    return Grouped([view for view in views if view is not None], observed[:, there], order, starts)


def _pairs(grouped: Grouped, threshold: float) -> Iterator[tuple[int, Integers, Floats]]:
    """Pairs of places that are similar enough, and how similar, cluster by cluster."""
    least = threshold - ROUGH * (8 + max((view.n_terms for view in grouped.views), default=0))
    for cluster, (first, last) in enumerate(zip(grouped.starts[:-1], grouped.starts[1:], strict=True)):
        for a in range(int(first), int(last), BLOCK):
            one = _block(grouped, a, min(a + BLOCK, int(last)))
            for b in range(a, int(last), BLOCK):
                other = one if b == a else _block(grouped, b, min(b + BLOCK, int(last)))
                rough, shared = _rough(grouped.views, one, other)
                near = np.argwhere(rough >= least * shared)
                near = near[(shared[near[:, 0], near[:, 1]] > 0) & (near[:, 0] + a < near[:, 1] + b)]
                similarity = _exact(grouped.views, one, other, near)
                enough = similarity >= threshold
                if enough.any():
                    yield cluster, near[enough] + (a, b), similarity[enough]


Block = tuple[list[Any], Array]  # the rows of each view, and which views they have


def _block(grouped: Grouped, first: int, last: int) -> Block:
    return [view.block(first, last) for view in grouped.views], grouped.observed[first:last]


def _rough(views: Sequence[UnitView], one: Block, other: Block) -> tuple[Array, Array]:
    """Sums of cosines of all pairs in float32, and the number of views that both rows have."""
    total = np.zeros((len(one[1]), len(other[1])), dtype=np.float32)
    for view, mine, theirs in zip(views, one[0], other[0], strict=True):
        total += view.product(mine, theirs)
    return total, one[1].astype(np.float32) @ other[1].T.astype(np.float32)


def _exact(views: Sequence[UnitView], one: Block, other: Block, pairs: Integers) -> Floats:
    """The similarity of some pairs, added up in a fixed order."""
    total, shared = np.zeros(len(pairs)), (one[1][pairs[:, 0]] & other[1][pairs[:, 1]]).sum(axis=1)
    for view, mine, theirs in zip(views, one[0], other[0], strict=True):
        total += view.exact(mine, theirs, pairs)
    found: Floats = total / np.maximum(shared, 1)
    return found


def _table(
    rows: Integers, similarity: Floats, shared: Array, cluster: int, ids: Any, name: str | None
) -> Any:
    both = [pa.array(rows[:, side]) for side in (0, 1)]
    columns = {f"row_{side + 1}": numbers for side, numbers in enumerate(both)}
    if ids is not None:
        columns |= {f"{name}_{side + 1}": ids.take(numbers) for side, numbers in enumerate(both)}
    columns["cluster"] = pa.array(np.full(len(rows), cluster, dtype=np.int32))
    columns["similarity"] = pa.array(similarity.astype(np.float32))
    columns["views_shared"] = pa.array(shared.astype(np.int16))
    return pa.table(columns)
