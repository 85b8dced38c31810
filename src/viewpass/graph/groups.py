"""Groups of anchors: a row is compared with the centres of groups, then with anchors of its nearest groups.

    groups      ceil(sqrt(M)), by k-means on the M anchors
    searched    the nearest groups of a row, one after another, until they hold as many anchors as
                GROUPS_SEARCHED average groups

With few anchors (below FEWEST_GROUPED) a row is compared with all of them. The groups are a function of the
anchors alone: they are made anew for other anchors, and nothing about them is stored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isqrt

import numpy as np

from viewpass.kernels.grid import FEWEST_GROUPED, GROUPS_SEARCHED, MANY_NEIGHBOURS, Labels
from viewpass.sums.centres import Centres
from viewpass.sums.chunk_step import ChunkStep, State
from viewpass.sums.rules import Rules
from viewpass.sums.workspace import Workspace
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows

UPDATES = 2  # of k-means


@dataclass(frozen=True)
class Groups:
    """Groups of anchors, and how many anchors a row meets."""

    centres: Centres
    labels: Labels  # the group of each anchor

    @property
    def fewest(self) -> int:
        """Anchors that a row meets, at least."""
        n_anchors = len(self.labels)
        return min(
            max(-(-GROUPS_SEARCHED * n_anchors // self.centres.n_clusters), MANY_NEIGHBOURS + 1), n_anchors
        )

    @property
    def share(self) -> float:
        """Of a distance pass: what it costs to meet the groups and their anchors."""
        return min(1.0, (self.centres.n_clusters + self.fewest) / len(self.labels))


def groups_of(anchors: Centres, like: MeasuredRows, workspace: Workspace) -> Groups | None:
    """The groups of the anchors; None if these are few.

    `like`: any rows that may meet them.
    """
    if anchors.n_clusters < FEWEST_GROUPED:
        return None
    found: Groups = anchors.derived("groups", lambda: _grouped(anchors, like, workspace))
    return found


def _grouped(anchors: Centres, like: MeasuredRows, workspace: Workspace) -> Groups:
    """K-means on the anchors, from evenly spaced ones."""
    n_anchors = anchors.n_clusters
    n_groups = isqrt(n_anchors - 1) + 1
    spaced = np.arange(n_groups) * n_anchors // n_groups
    rules = Rules(alpha=0.0, max_iter=UPDATES, tol=0.0, fill="mean")
    rows = _as_rows(anchors, like)
    state = State.without_rows(rows, anchors.take(spaced))
    found = ChunkStep(rules, Workspace(workspace.n_threads)).from_centres(rows, state)
    return Groups(found.centres, found.labels)


def _as_rows(anchors: Centres, like: MeasuredRows) -> MeasuredRows:
    """The anchors as rows that have every view there are centres in, at the length they have."""
    chunk = Chunk.of(list(anchors.values))
    if like.chunk.lengths is not None:
        chunk = replace(chunk, lengths=like.chunk.lengths.at_most())
    inverse = np.array([np.full(anchors.n_clusters, float(u is not None)) for u in anchors.values])
    return MeasuredRows.known(chunk, inverse, reference=like.reference)
