"""Many small clusters: of sparse rows, and merged where they are too many for a table of all prices.

Sparse rows are assigned to a few clusters at a time to save memory. Centres of sparse views are as wide as
all vocabularies together, and a merged start has hundreds of them: holding all sums and centres at once would
take more memory than the stream needs afterwards. But the distance of a row to a centre (Eq. 15) does not
involve other clusters, and merging needs only the products R R' of one view after another.

Of very many clusters only those that are near each other may merge. The prices are those of graph/cut.py,
with a ridge towards the mean of all rows:

    price of merging a and b = sum_v [E_va + E_vb - E_vab],  E = |R - T g|^2 / (T + ridge)

A table of all prices would grow with the square of the clusters. Here the candidates of a small cluster are
the few nearest to its centre, and those of a merged cluster are the candidates of both its parts.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from viewpass.graph.cut import Merges, Products
from viewpass.graph.soft_assignment import soft_assignment
from viewpass.kernels.backend import backend
from viewpass.kernels.grid import NEIGHBOURS, STEP, Floats, Integers, Labels
from viewpass.sums.centres import Centres
from viewpass.sums.chunk_step import ChunkStep, State
from viewpass.sums.rules import Alpha, Workspace, each_view
from viewpass.sums.statistics import Statistics
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows

BLOCK_VALUES = 2**20  # of the centres that are held at a time


def assigned(
    rows: MeasuredRows, drawn: MeasuredRows, labels: Labels, n_clusters: int, step: ChunkStep
) -> Labels:
    """Labels of the rows after one centre update: those of `step.from_centres`, to the bit.

    The first centres are those of the rows `drawn` under `labels`. If `drawn` is `rows`, that already is
    the update, as in `step.from_labels`.
    """
    first = _Group(drawn, labels, n_clusters, step, zeros_too=step.rules.zero_filled)
    found = _nearest(rows, [first], step)
    if drawn is rows:
        return found
    return _nearest(rows, [first, _Group(rows, found, n_clusters, step)], step)


def products(rows: MeasuredRows, labels: Labels, n_clusters: int, workspace: Workspace) -> Products:
    """Counts and products R R' of the clusters, for merging."""
    made = Products.room(n_clusters, rows.n_views)
    for v, x in enumerate(rows.chunk.views):
        if x is not None:
            one = rows.only(v)
            total = Statistics(n_clusters, one.widths)
            total.move(one, labels, 1, workspace.n_threads)
            made.counts[v] = total.counts[v]
            made.put(v, total.sums(v))
    return made


class _Group:
    """Labelled rows that centres are made of."""

    def __init__(
        self,
        rows: MeasuredRows,
        labels: Labels,
        n_clusters: int,
        step: ChunkStep,
        *,
        zeros_too: bool = False,
    ) -> None:
        self.rows, self.n_clusters, self._step = rows, n_clusters, step
        self._labels = np.where(rows.n_seen > 0, labels, -1).astype(np.int32)
        whole = Statistics(1, rows.widths)
        whole.move(rows, np.minimum(self._labels, 0), 1)
        self._means = [whole.mean(v, rows, zeros_too=zeros_too) for v in range(rows.n_views)]

    def centres(self, begin: int, end: int, before: Centres) -> Centres:
        """Eq. 13 for clusters `begin` to `end`; those without rows keep the centre before, or are filled."""
        inside = (self._labels >= begin) & (self._labels < end)
        labels = np.where(inside, self._labels - begin, -1).astype(np.int32)
        total = Statistics(end - begin, self.rows.widths)
        total.move(self.rows, labels, 1, self._step.workspace.n_threads)
        return self._step.updated(self.rows, State(total, before), self._means)


def _nearest(rows: MeasuredRows, groups: list[_Group], step: ChunkStep) -> Labels:
    """The nearest cluster of each row by exact distances, the lowest among equals.

    A centre is that of the last group in which its cluster has rows.
    """
    n_clusters, n_threads = groups[0].n_clusters, step.workspace.n_threads
    size = max(1, BLOCK_VALUES // rows.n_columns)
    least, nearest = np.full(rows.n_rows, np.inf), np.zeros(rows.n_rows, dtype=np.int32)
    for begin in range(0, n_clusters, size):
        end = min(begin + size, n_clusters)
        centres = Centres.none(end - begin, rows.n_views)
        for group in groups:
            centres = group.centres(begin, end, centres)
        distance: Floats = backend().all_distances(rows.handle, centres.handle(), True, n_threads)
        here = distance.argmin(axis=1)
        value = distance[np.arange(rows.n_rows), here]
        closer = value < least
        least[closer], nearest[closer] = value[closer], begin + here[closer]
    step.workspace.n_compared += rows.n_rows
    return np.where(rows.n_seen > 0, nearest, -1).astype(np.int32)


def merged_labels(
    total: Statistics, n_clusters: int, ridge: Alpha, rows: MeasuredRows, workspace: Workspace
) -> Integers:
    """The cluster of each small cluster when `n_clusters` are left, numbered by their lowest small one.

    `rows`: those that the statistics are of.
    """
    return near_merges(total, total.n_clusters - n_clusters, ridge, rows, workspace).labels(n_clusters)


def near_merges(
    total: Statistics, most: int, ridge: Alpha, rows: MeasuredRows, workspace: Workspace
) -> Merges:
    """The first merges, and their prices.

    Where no candidates are left, the smallest cluster joins the one for which that costs least.
    """
    ridges = each_view(ridge, len(total.counts))
    means, sums = list[Floats](), list[Floats]()  # g, and R - T g
    for v, counts in enumerate(total.counts):
        means.append(total.steps[v].sum(axis=0) * STEP / max(float(counts.sum()), 1.0))
        sums.append(total.sums(v) - counts[:, None] * means[v])
    centres = [
        mean + of_view / (counts[:, None] + ridge) if counts.any() else None
        for mean, of_view, counts, ridge in zip(means, sums, total.counts, ridges, strict=True)
    ]
    near = _near(centres, total, rows, workspace)
    starts = np.arange(len(near) + 1) * near.shape[1]
    given = total.flat_counts, sums, ridges, starts, near.ravel(), False, most
    pairs, prices = backend().merge_near(*given)
    return Merges(total.n_clusters, pairs, prices, 0)


def _near(
    centres: list[Floats | None], total: Statistics, rows: MeasuredRows, workspace: Workspace
) -> Integers:
    """The centres nearest to each centre, over the views it has."""
    means = [None if u is None else np.ascontiguousarray(u) for u in centres]
    observed = np.ascontiguousarray((total.flat_counts > 0).T)
    units = np.sqrt(rows.squares)  # that rows were multiplied by where they keep their lengths
    given = [None if u is None else u / unit if unit else u for u, unit in zip(means, units, strict=True)]
    chunk = Chunk.of(given, observed=observed)
    if rows.chunk.lengths is not None:
        chunk = replace(chunk, lengths=rows.chunk.lengths.at_most())
    places = MeasuredRows(chunk, weights=rows.weights)
    soft = soft_assignment(places, Centres.of(means), workspace, n_near=NEIGHBOURS)
    return soft.near.astype(np.int64)
