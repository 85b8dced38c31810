"""The tally of rows under a model that stays as it is: sums over rows, in any order and on any machine.

    R, T, squares   sums and counts of each centre (Eq. 12), or of each cluster by the rows' labels
    links           z z' of the anchor graph (graph/soft_assignment.py)
    census          rows of each of them along the data, and of each presence pattern

All of it is whole numbers, so tallies of parts of the data are added in any order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from viewpass.graph.soft_assignment import links_of, soft_assignment
from viewpass.kernels.grid import Labels, Links
from viewpass.model.model import Model, assign, labels_of, prepare
from viewpass.sums.census import Census
from viewpass.sums.row_counts import RowCounts
from viewpass.sums.statistics import Statistics, added
from viewpass.sums.workspace import Workspace
from viewpass.views.chunk import Chunk, Schema
from viewpass.views.rows import MeasuredRows


@dataclass(frozen=True)
class Tally:
    """Sums over rows: by centre, or by label."""

    schema: Schema
    total: Statistics
    census: Census
    read: RowCounts
    links: Links | None = None

    def plus(self, other: Tally) -> Tally:
        """The tally of the rows of both."""
        links = self.links if other.links is None else other.links
        if self.links is not None and other.links is not None:
            links = self.links + other.links
        total = added(self.total, other.total)
        total.check_room()
        return Tally(
            self.schema.merged(other.schema),
            total,
            self.census.joined(other.census),
            self.read + other.read,
            links,
        )


def tally_by_centre(chunk: Chunk, model: Model, workspace: Workspace) -> Tally:
    """What the rows of a chunk add to the centres of a model, and to the links of its anchors."""
    rows = prepare(chunk, model, workspace)
    links = None
    if model.links is None:
        labels = assign(rows, model.centres, workspace)[0]
    else:
        soft = soft_assignment(rows, model.centres, workspace)
        labels = soft.labels
        links = links_of(soft, model.centres.n_clusters, rows.chunk.copies)
    return replace(tally_rows(chunk, rows, labels, model.centres.n_clusters, workspace), links=links)


def tally_by_label(chunk: Chunk, model: Model, workspace: Workspace) -> tuple[Tally, Labels]:
    """What the rows of a chunk add to the clusters of a model, and their labels."""
    rows = prepare(chunk, model, workspace)
    labels = labels_of(rows, model, workspace)
    return tally_rows(chunk, rows, labels, model.n_clusters, workspace), labels


def tally_rows(
    chunk: Chunk, rows: MeasuredRows, labels: Labels, n_groups: int, workspace: Workspace
) -> Tally:
    """What rows of these labels add; `rows` are those of the chunk as they were compared."""
    total = Statistics(n_groups, rows.widths)
    if rows.unmapped is not None:
        total.unmapped = Statistics(n_groups, rows.unmapped.widths)
    rows.measure(workspace.n_threads)
    labels = np.where(rows.counted, labels, -1).astype(np.int32)
    total.move(rows, labels, 1, workspace.n_threads)
    total.check_room()
    census = Census.none(n_groups).added(labels, chunk.start, rows.inverse > 0)
    return Tally(chunk.schema, total, census, RowCounts.of(rows))
