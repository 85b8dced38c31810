"""Many small clusters of sparse rows, a few of them at a time.

Their centres are as wide as all vocabularies together, and there may be hundreds of them: sums, centres
and layouts of all at once would take more memory than the stream does afterwards. But the distance of a
row from a cluster asks for no other cluster, and what merging needs is told view by view.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viewpass.core.assign import Workspace
from viewpass.core.centres import ChunkMean
from viewpass.core.consensus.merging import Products
from viewpass.core.step import Rules
from viewpass.kernels.grid import STEP, Floats, Integers, Labels
from viewpass.kernels.means import in_columns, squared_norms
from viewpass.kernels.scratch import Scratch
from viewpass.kernels.sparse_view import SparseView
from viewpass.kernels.threads import run_blocks
from viewpass.views.rows import MeasuredRows

TOGETHER = 2**19  # values, in the widest view, of the centres that a thread holds at a time


def all_sparse(rows: MeasuredRows) -> bool:
    """Whether the views are sparse, all that are there."""
    return all(view is None or isinstance(view, SparseView) for view in rows.views)


def settled(
    rows: MeasuredRows,
    drawn: MeasuredRows,
    labels: Labels,
    n_clusters: int,
    rules: Rules,
    workspace: Workspace,
) -> Labels:
    """The rows' labels after one update of centres: those of `step.from_centres`, to the bit.

    The first centres are those of the rows `drawn` under these labels; if they are the rows themselves,
    that is the update, as in `step.from_labels`.
    """
    seeds = _Group(drawn, labels, n_clusters, zeros_too=rules.fill == "zero-filled-mean")
    found = _nearest(rows, (seeds,), n_clusters, rules, workspace)
    if drawn is rows:
        return found
    return _nearest(rows, (seeds, _Group(rows, found, n_clusters)), n_clusters, rules, workspace)


def products(rows: MeasuredRows, labels: Labels, n_clusters: int, workspace: Workspace) -> Products:
    """What merging needs to know of the clusters."""
    made = Products.room(n_clusters, rows.n_views)
    everyone = np.arange(rows.n_rows)
    _make_room(workspace, {"steps": n_clusters * _widest(rows)})

    def work(v: int, worker: int) -> None:
        view = rows.views[v]
        if view is not None:
            steps = _no_steps(workspace.scratches[worker], (n_clusters, view.shape[1]))
            view.add(everyone, rows.inverse[v], labels, 1, steps, made.counts[v])
            sums: Floats = steps.view(np.float64)
            for whole, real in zip(steps, sums, strict=True):  # in place: all at once, NumPy makes a copy
                np.multiply(whole, STEP, out=real)
            made.put(v, sums)

    run_blocks(work, rows.n_views, workspace.n_threads)
    return made


def _widest(rows: MeasuredRows) -> int:
    return max(1 if view is None else view.shape[1] for view in rows.views)


def _make_room(workspace: Workspace, sizes: dict[str, int]) -> None:
    """Have the caller's thread ask for the memory: what another frees, nobody else may get again."""
    for scratch in workspace.scratches:
        for name, size in sizes.items():
            scratch.room(name, (size,), np.int64 if name == "steps" else np.float64)


def _no_steps(scratch: Scratch, shape: tuple[int, int]) -> Integers:
    steps: Integers = scratch.room("steps", shape, np.int64)
    steps[:] = 0
    return steps


class _Group:
    """Rows by cluster, for centres to be made of."""

    def __init__(
        self, rows: MeasuredRows, labels: Labels, n_clusters: int, *, zeros_too: bool = False
    ) -> None:
        self.rows, self.labels = rows, labels
        self.mean = ChunkMean(rows, zeros_too=zeros_too)
        self.order: Integers = np.argsort(labels, kind="stable")
        self.ends = np.searchsorted(labels[self.order], np.arange(n_clusters + 1))
        self.counts = np.zeros((rows.n_views, n_clusters), dtype=np.int64)
        for v in range(rows.n_views):
            there = labels[rows.present(v)]
            self.counts[v] = np.bincount(there[there >= 0], minlength=n_clusters)

    def lay(
        self, v: int, at: slice, alpha: float, columns: Floats, squares: Floats, scratch: Scratch
    ) -> None:
        """Eq. 13 for some clusters that have rows in view `v`.  OUT columns (d x K), squares."""
        view, counts = self.rows.views[v], np.zeros(len(squares), dtype=np.int64)
        assert view is not None
        steps = _no_steps(scratch, (len(squares), len(columns)))
        mine = self.order[self.ends[at.start] : self.ends[at.stop]]
        view.add(mine, self.rows.inverse[v], self.labels - np.int32(at.start), 1, steps, counts)
        in_columns(steps, counts, alpha, columns, squares)


def _nearest(
    rows: MeasuredRows, groups: Sequence[_Group], n_clusters: int, rules: Rules, workspace: Workspace
) -> Labels:
    """The nearest cluster of each row by float64 distances, the lowest among equals.

    A centre is that of the last group; where it has no rows there, that of the group before, if Algorithm 1
    fills such centres.
    """
    n_rounds = -(-n_clusters * _widest(rows) // (TOGETHER * workspace.n_threads))
    n_blocks = min(n_rounds * workspace.n_threads, n_clusters)
    cuts = [n_clusters * block // n_blocks for block in range(n_blocks + 1)]
    least, nearest = np.empty((n_blocks, rows.n_rows)), np.empty((n_blocks, rows.n_rows), dtype=np.int64)
    everyone = np.arange(rows.n_rows)
    most = -(-n_clusters // n_blocks)
    wide = most * _widest(rows)
    _make_room(workspace, {"steps": wide, "columns": wide, "distance": most * rows.n_rows})

    def work(block: int, worker: int) -> None:
        scratch, at = workspace.scratches[worker], slice(cuts[block], cuts[block + 1])
        n_here = at.stop - at.start
        distance = scratch.room("distance", (rows.n_rows, n_here), np.float64)
        distance[:] = 0.0
        for v, view in enumerate(rows.views):
            if isinstance(view, SparseView) and any(group.counts[v].any() for group in groups):
                columns = scratch.room("columns", (view.shape[1], n_here), np.float64)
                squares = np.zeros(n_here)
                _lay(groups, v, at, rules, columns, squares, scratch)
                view.distances_by(everyone, rows.inverse[v], columns, squares, distance)
        nearest[block] = distance.argmin(axis=1)
        least[block] = distance[everyone, nearest[block]]
        nearest[block] += at.start

    run_blocks(work, n_blocks, workspace.n_threads)
    workspace.n_looks += rows.n_rows
    found = nearest[least.argmin(axis=0), everyone]
    return np.where(rows.n_seen > 0, found, -1).astype(np.int32)


def _lay(
    groups: Sequence[_Group],
    v: int,
    at: slice,
    rules: Rules,
    columns: Floats,
    squares: Floats,
    scratch: Scratch,
) -> None:
    """The centres of some clusters in view `v`.  OUT columns (d x K), squares."""
    *before, last = groups
    without = last.counts[v, at] == 0
    if without.any():
        mean = np.zeros(len(columns))
        if rules.fill is not None:
            mean = next(group.mean(v) for group in groups if group.counts[v].any())
        columns[:, without] = mean[:, None]
        squares[without] = squared_norms(mean[None])[0]
        for group in before if rules.fill is not None else ():
            if group.counts[v, at].any():
                group.lay(v, at, rules.alpha, columns, squares, scratch)
    if not without.all():
        last.lay(v, at, rules.alpha, columns, squares, scratch)
