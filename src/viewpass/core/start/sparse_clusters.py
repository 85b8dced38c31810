"""Many small clusters of sparse rows, a few of them at a time.

Their centres are as wide as all vocabularies together, and there may be hundreds of them: sums, centres
and layouts of all at once would take more memory than the stream does afterwards. But the distance of a
row from a cluster asks for no other cluster, and what merging needs is told view by view.
"""

from __future__ import annotations

import numpy as np

from viewpass.core.consensus.agglomeration import Products
from viewpass.core.state.centres import Centres
from viewpass.core.state.statistics import Statistics
from viewpass.core.step.chunk_step import Rules
from viewpass.core.step.workspace import Workspace
from viewpass.kernels.backend import backend
from viewpass.kernels.grid import Floats, Labels
from viewpass.views.rows import MeasuredRows

TOGETHER = 2**20  # values of the centres that are held at a time


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
    seeds = _Group(drawn, labels, n_clusters, zeros_too=rules.zero_filled)
    found = _nearest(rows, seeds, None, n_clusters, rules, workspace)
    if drawn is rows:
        return found
    return _nearest(rows, seeds, _Group(rows, found, n_clusters), n_clusters, rules, workspace)


def products(rows: MeasuredRows, labels: Labels, n_clusters: int, workspace: Workspace) -> Products:
    """What merging needs to know of the clusters."""
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
    """Rows by cluster, for centres to be made of."""

    def __init__(
        self, rows: MeasuredRows, labels: Labels, n_clusters: int, *, zeros_too: bool = False
    ) -> None:
        self.rows = rows
        self.labels = np.where(rows.n_seen > 0, labels, -1).astype(np.int32)
        widths = rows.widths
        whole = Statistics(1, widths)
        whole.move(rows, np.where(self.labels >= 0, 0, -1).astype(np.int32), 1)
        self.means = [whole.mean(v, rows, zeros_too=zeros_too) for v in range(len(widths))]

    def centres(self, begin: int, end: int, before: Centres, rules: Rules, workspace: Workspace) -> Centres:
        """Eq. 13 for some clusters; those without rows are filled."""
        inside = (self.labels >= begin) & (self.labels < end)
        mine = np.where(inside, self.labels - begin, -1).astype(np.int32)
        total = Statistics(end - begin, self.rows.widths)
        total.move(self.rows, mine, 1, workspace.n_threads)
        seen, everyone = np.asarray(self.rows.inverse.any(axis=1)), np.ones(end - begin, dtype=bool)
        fill = rules.fill is not None
        reference = self.rows.reference
        made = backend(reference).update_centres(
            *(before.handle(reference=reference), total.steps, total.flat_counts, seen, everyone),
            *(float(rules.alpha), fill, self.means),
        )
        return Centres.made(made, self.rows.n_views, reference=reference)


def _nearest(
    rows: MeasuredRows,
    seeds: _Group,
    last: _Group | None,
    n_clusters: int,
    rules: Rules,
    workspace: Workspace,
) -> Labels:
    """The nearest cluster of each row by exact distances, the lowest among equals.

    A centre is that of the last group; where it has no rows there, that of the seeds.
    """
    size = max(1, TOGETHER // rows.n_columns)
    least, nearest = np.full(rows.n_rows, np.inf), np.zeros(rows.n_rows, dtype=np.int32)
    for begin in range(0, n_clusters, size):
        end = min(begin + size, n_clusters)
        centres = seeds.centres(begin, end, Centres.none(end - begin, rows.n_views), rules, workspace)
        if last is not None:
            centres = last.centres(begin, end, centres, rules, workspace)
        distance: Floats = backend(rows.reference).all_distances(
            rows.handle, centres.handle(reference=rows.reference), True, workspace.n_threads
        )
        here = distance.argmin(axis=1)
        value = distance[np.arange(rows.n_rows), here]
        closer = value < least
        least[closer], nearest[closer] = value[closer], begin + here[closer]
    workspace.n_compared += rows.n_rows
    return np.where(rows.n_seen > 0, nearest, -1).astype(np.int32)
