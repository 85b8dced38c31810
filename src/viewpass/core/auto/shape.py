"""Round clusters, or clusters of any shape? The views are asked: a vote without labels.

A sample of the first rows is clustered in each view by itself, by centres and by a graph of anchors. What
is there in the data shows in every view; what one way of clustering makes up does not. So the way in which
the views' clusters have more in common is the better one.
"""

from __future__ import annotations

import numpy as np

from viewpass.core.auto.scale import CLEARLY, by_one_view, in_common, sample_of
from viewpass.core.consensus.graph import cut
from viewpass.core.consensus.soft_assignment import links_of, soft_assignment
from viewpass.core.model import ANCHORS_A_CLUSTER, ROWS_AN_ANCHOR
from viewpass.core.start import candidates as start
from viewpass.core.step.chunk_step import Rules
from viewpass.core.step.workspace import Workspace
from viewpass.kernels.grid import Labels
from viewpass.views.rows import MeasuredRows

ROWS = 2000
LEAST_A_CLUSTER = 2  # anchors
ANCHOR_SUMS = 2**22  # kept of a view's anchors, at most
RESTARTS = 5
RULES = Rules(alpha=0.1, max_iter=5, tol=1e-3, fill="mean")


def prefer_graph(rows: MeasuredRows, n_clusters: int, workspace: Workspace) -> bool | None:
    """Whether the views agree better on the clusters of a graph; None where no two can be compared."""
    sample = sample_of(rows, ROWS)
    alone = Workspace(workspace.n_threads)
    round_ones, linked = [], []
    for v in range(rows.n_views):
        view = by_one_view(sample, v)
        n_anchors = 0 if view is None else _n_anchors(view, n_clusters)
        if view is None or n_anchors < LEAST_A_CLUSTER * n_clusters:
            continue
        rng = np.random.default_rng(0)
        round_ones.append([start.seeded(view, n_clusters, RULES, alone, rng).labels])
        linked.append([_of_graph(view, n_anchors, n_clusters, alone, rng)])
    workspace.n_compared += alone.n_compared / rows.n_views  # each was at one view only
    by_centres, by_graph = in_common(round_ones), in_common(linked)
    if by_centres is None or by_graph is None:
        return None
    return by_graph > by_centres + CLEARLY


def _n_anchors(view: MeasuredRows, n_clusters: int) -> int:
    n_seen = int((view.n_seen > 0).sum())
    return min(ANCHORS_A_CLUSTER * n_clusters, n_seen // ROWS_AN_ANCHOR, ANCHOR_SUMS // view.n_columns)


def _of_graph(
    view: MeasuredRows, n_anchors: int, n_clusters: int, workspace: Workspace, rng: np.random.Generator
) -> Labels:
    anchors = start.scattered(view, n_anchors, RULES, workspace, rng, whole=False)
    mixtures = soft_assignment(view, anchors.centres, workspace)
    labels = cut(links_of(mixtures, n_anchors), n_clusters, RESTARTS).labels_of(mixtures)
    return np.where(view.n_seen > 0, labels, -1).astype(np.int32)
