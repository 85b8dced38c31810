"""`viewpass dedup`: pairs of rows of a cluster that are nearly the same in the views both have.

The similarity of two rows is the mean over these views of the cosine between them, in the model's scale. Unit
rows are staged on disk. Fast products in float32 are a filter. What may reach the threshold is computed in a
fixed order in float64, so the pairs are the same on every machine, and the same as those of all pairs
compared one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Protocol

import numpy as np
import pyarrow as pa
import scipy.sparse

from viewpass.errors import SettingError
from viewpass.kernels.grid import STEP, Array, Floats, Integers, Labels
from viewpass.kernels.portable import ordered_sum, unit_rows
from viewpass.labels.formats import TableFile
from viewpass.model.model import Model, prepare
from viewpass.runs.labels import RunLabels, RunRows, plain
from viewpass.sources.arrow.chunks import ArrowSource
from viewpass.sources.source import Source
from viewpass.store.container.files import naming, replacing
from viewpass.sums.rules import Workspace
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows

EXACT_VALUES = 2**20  # pairs x columns at a time
SPARSE_PAIRS = 2**13

NewFile = Callable[[], IO[bytes]]  # opens an empty file for reading and writing


def _inverse(squares: Array) -> Floats:
    """Inverse lengths; 0 for rows of length 0, which are like no other."""
    found: Floats = np.divide(1.0, np.sqrt(squares), out=np.zeros(len(squares)), where=squares > 0)
    return found


def _flushed(file: IO[bytes]) -> IO[bytes]:
    file.flush()
    return file


class UnitView(Protocol):
    """The rows of one view. A block of them is what `product` and `exact` take."""

    n_terms: int  # products that are added for a pair, at most

    def put(self, rows: MeasuredRows, v: int, which: Integers, places: Integers) -> None:
        """Stage some rows of a chunk, at their places; rows come in the order of the data."""

    def block(self, first: int, last: int) -> Any:
        """The rows at places from `first` on."""

    def product(self, one: Any, other: Any) -> Array:
        """The products of all pairs of rows of two blocks, in float32."""

    def exact(self, one: Any, other: Any, pairs: Integers) -> Floats:
        """The products of some pairs."""


class DenseView:
    """Rows in the order of their places."""

    def __init__(self, new_file: NewFile, n_rows: int, width: int) -> None:
        self.n_terms = width
        shape = max(n_rows, 1), max(width, 1)
        self._rows = np.memmap(new_file(), dtype=np.float32, mode="w+", shape=shape)

    def put(self, rows: MeasuredRows, v: int, which: Integers, places: Integers) -> None:
        """Write them where they belong."""
        unit = rows.unit(v)[which]
        self._rows[places] = unit * _inverse(ordered_sum(unit * unit))[:, None]

    def block(self, first: int, last: int) -> Array:
        """Read rows."""
        return np.asarray(self._rows[first:last])

    def product(self, one: Array, other: Array) -> Array:
        """One matrix product."""
        found: Array = one @ other.T
        return found

    def exact(self, one: Array, other: Array, pairs: Integers) -> Floats:
        """Column after column, in 64 partial sums."""
        found = np.empty(len(pairs))
        step = max(1, EXACT_VALUES // one.shape[1])
        for start in range(0, len(pairs), step):
            some = pairs[start : start + step]
            found[start : start + step] = ordered_sum(one[some[:, 0]].astype(np.float64) * other[some[:, 1]])
        return found


class SparseView:
    """Rows in the order of the data, one after the other; blocks take them by their places."""

    def __init__(self, new_file: NewFile, n_rows: int, width: int) -> None:
        self.n_terms = 0
        self._files = new_file(), new_file()  # values, columns
        self._lengths: list[Integers] = []
        self._row = np.full(n_rows, -1, dtype=np.int64)  # of each place, among those that are staged
        self._n_rows, self._width = 0, width
        self._whole: Any = None

    def put(self, rows: MeasuredRows, v: int, which: Integers, places: Integers) -> None:
        """Append the values and columns of their entries."""
        some, inverse = rows.take(which)
        view = scipy.sparse.csr_array(some.views[v])
        lengths = np.diff(view.indptr).astype(np.int64)
        row = np.repeat(np.arange(len(which)), lengths)
        unit = unit_rows(view.data[:, None], inverse[v][row])[:, 0] * STEP
        square = np.bincount(row, weights=unit * unit, minlength=len(which)).astype(np.float64)  # in order
        entries = (unit * _inverse(square)[row]).astype(np.float32), view.indices.astype(np.int64)
        for file, values in zip(self._files, entries, strict=True):
            file.write(values.tobytes())
        self._row[places] = self._n_rows + np.arange(len(which))
        self._lengths.append(lengths)
        self._n_rows += len(which)
        self.n_terms = max(self.n_terms, int(lengths.max(initial=0)))

    def block(self, first: int, last: int) -> Any:
        """Gather rows; those that lack the view are empty."""
        if self._whole is None:
            ends = np.concatenate([np.zeros(1, dtype=np.int64), *self._lengths]).cumsum()
            values, columns = (
                np.memmap(_flushed(file), dtype=kind, mode="r") if ends[-1] else np.empty(0, dtype=kind)
                for file, kind in zip(self._files, (np.float32, np.int64), strict=True)
            )
            whole = scipy.sparse.csr_array((self._n_rows + 1, self._width), dtype=np.float32)
            whole.data, whole.indices, whole.indptr = values, columns, np.append(ends, ends[-1])
            self._whole = whole
        rows = self._row[first:last]
        return self._whole[np.where(rows < 0, self._n_rows, rows)]

    def product(self, one: Any, other: Any) -> Array:
        """One product of sparse matrices."""
        found: Array = (one @ other.T).toarray()
        return found

    def exact(self, one: Any, other: Any, pairs: Integers) -> Floats:
        """Entry after entry, in the order of columns."""
        found = np.empty(len(pairs))
        one, other = one.astype(np.float64), other.astype(np.float64)
        for start in range(0, len(pairs), SPARSE_PAIRS):
            some = pairs[start : start + SPARSE_PAIRS]
            terms = scipy.sparse.csr_array(one[some[:, 0]].multiply(other[some[:, 1]]))
            terms.sort_indices()
            row = np.repeat(np.arange(len(some)), np.diff(terms.indptr))
            found[start : start + SPARSE_PAIRS] = np.bincount(row, weights=terms.data, minlength=len(some))
        return found


ROWS = 8192
BLOCK = 2048  # rows that are compared with as many others at a time
ROUGH = 2.0**-22  # a bound on the error of float32 products of unit rows, per column


Watch = Callable[[str, int], None]


@dataclass(frozen=True)
class Grouped:
    """Unit rows in the order of their clusters, and what belongs to them."""

    views: Sequence[UnitView]  # that some row has; zeros where a row lacks one
    observed: Array  # (rows, views)
    rows: Integers  # their numbers in the run
    starts: Integers  # of the clusters


def dedup(
    labels: RunLabels,
    model: Any,
    data: Source,
    path: Path,
    threshold: float,
    watch: Watch = lambda what, n_rows: None,
) -> tuple[int, int]:
    """Write the pairs of at least this similarity to a file; gives how many, and how many rows are in them.

    Rows are matched with those of the run by `RunRows`. They are staged on disk by cluster, in files without
    names in the folder of the file, which the system removes however the process ends; in memory are those of
    two blocks. `watch` is called with what is done, and with the rows that are done.
    """
    if not 0.0 < threshold <= 1.0:
        raise SettingError(f"threshold={threshold}: a number above 0 and at most 1 was expected.")
    source = model._read(data, None, reset=False)
    learnt, workspace = model._fitted_model(), model._workspace(source)
    clusters, ids = _clusters_and_ids(labels)
    doubled = np.zeros(len(clusters), dtype=bool)
    none = np.empty((0, 2), np.int64), np.empty(0), np.empty(0)
    with ExitStack() as files, replacing(path) as file, TableFile(path, file) as out:

        def new_file() -> IO[bytes]:
            with naming(path):
                return files.enter_context(TemporaryFile(dir=path.absolute().parent))

        grouped = _grouped(source, learnt, workspace, labels, clusters, new_file, watch)
        out.write(_table(*none, 0, ids, labels.id_name))
        for cluster, done, pairs, similarity in _pairs(grouped, threshold):
            if len(pairs):
                numbers = grouped.rows[pairs]
                doubled[numbers.reshape(-1)] = True
                shared = (grouped.observed[pairs[:, 0]] & grouped.observed[pairs[:, 1]]).sum(axis=1)
                out.write(_table(numbers, similarity, shared, cluster, ids, labels.id_name))
            watch("comparing", done)
    return out.n_rows, int(doubled.sum())


def _clusters_and_ids(labels: RunLabels) -> tuple[Labels, Any]:
    names = ["cluster"] if labels.id_name is None else ["cluster", labels.id_name]
    table = pa.concat_tables(labels.tables(2**17, names))
    ids = None if labels.id_name is None else table[labels.id_name].combine_chunks()
    return np.asarray(table["cluster"], dtype=np.int32), ids


def _grouped(
    source: Source,
    model: Model,
    workspace: Workspace,
    labels: RunLabels,
    clusters: Labels,
    new_file: NewFile,
    watch: Watch,
) -> Grouped:
    """Stage the unit rows on disk, to be read in the order of their clusters."""
    order = np.argsort(clusters, kind="stable")
    order = order[clusters[order] >= 0]
    place = np.full(len(clusters), -1, dtype=np.int64)
    place[order] = np.arange(len(order))
    widths = model.widths
    views = list[UnitView | None]([None] * len(widths))
    observed = np.zeros((len(order), len(widths)), dtype=bool)
    if isinstance(source, ArrowSource) and labels.check_id(source.column_names) is not None:
        source = source.keeping([labels.id_name or ""])
    found = RunRows(labels, [], once=True)
    for chunk in source.chunks(ROWS):
        numbers = found.find(_ids(chunk, labels), chunk.n_rows).numbers
        mine = np.where(numbers >= 0, place[numbers], -1)
        rows = prepare(chunk, model, workspace).measure(workspace.n_threads)
        for v, view in enumerate(rows.chunk.own_views):
            which = np.flatnonzero(rows.present(v) & (mine >= 0))
            if view is None or not len(which):
                continue
            staged = views[v]
            if staged is None:
                kind = SparseView if scipy.sparse.issparse(view) else DenseView
                staged = views[v] = kind(new_file, len(order), widths[v])
            staged.put(rows.in_columns(v), v, which, mine[which])
            observed[mine[which], v] = True
        watch("reading", chunk.start + chunk.n_rows)
    found.end()
    starts = np.searchsorted(clusters[order], np.arange(model.clusters.n_clusters + 1))
    there = [v for v, view in enumerate(views) if view is not None]
    return Grouped([view for view in views if view is not None], observed[:, there], order, starts)


def _ids(chunk: Chunk, labels: RunLabels) -> Any:
    """The ids of rows, as far as the run has ids."""
    if labels.id_name is None:
        return None
    if chunk.origin.kept is not None:
        return plain(chunk.origin.kept[labels.id_name])
    if chunk.row_ids is None:
        raise SettingError(f"{labels.path} was labelled with ids, which the data does not have.")
    return pa.array(chunk.row_ids)


def _pairs(grouped: Grouped, threshold: float) -> Iterator[tuple[int, int, Integers, Floats]]:
    """Pairs of places that are similar enough, and how similar, block by block of each cluster.

    With them come the cluster, and the rows that are compared with all others of theirs.
    """
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
                yield cluster, a, near[enough] + (a, b), similarity[enough]


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
