"""Many small clusters of sparse rows, computed for a few clusters at a time to save memory.

Centres of sparse views are as wide as all vocabularies together, and a merged start has hundreds of them:
holding all sums and centres at once would take more memory than the stream needs afterwards. But the
distance of a row to a centre (Eq. 15) does not involve other clusters, and merging needs only the products
R R' of one view after another.
"""

from __future__ import annotations

import numpy as np

from viewpass.graph.agglomeration import Products
from viewpass.kernels.backend import backend
from viewpass.kernels.grid import Floats, Labels
from viewpass.sums.centres import Centres
from viewpass.sums.chunk_step import ChunkStep, State
from viewpass.sums.statistics import Statistics
from viewpass.sums.workspace import Workspace
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
        distance: Floats = backend(rows.reference).all_distances(
            rows.handle, centres.handle(reference=rows.reference), True, n_threads
        )
        here = distance.argmin(axis=1)
        value = distance[np.arange(rows.n_rows), here]
        closer = value < least
        least[closer], nearest[closer] = value[closer], begin + here[closer]
    step.workspace.n_compared += rows.n_rows
    return np.where(rows.n_seen > 0, nearest, -1).astype(np.int32)
