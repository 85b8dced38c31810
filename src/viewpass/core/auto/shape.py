"""Choice between round clusters and clusters of any shape: centres, or an anchor graph.

The warm-up rows are clustered in each view alone, by centres and by an anchor graph; the method under which
the views agree better is taken (agreement.py).
"""

from __future__ import annotations

import numpy as np

from viewpass.core.auto.agreement import MIN_GAIN, mean_agreement, sample, single_view
from viewpass.core.consensus.graph import cut
from viewpass.core.consensus.soft_assignment import links_of, soft_assignment
from viewpass.core.plan import ANCHORS_PER_CLUSTER, ROWS_PER_ANCHOR, Rules
from viewpass.core.start import candidates
from viewpass.core.step.chunk_step import ChunkStep
from viewpass.core.step.workspace import Workspace
from viewpass.kernels.grid import Labels
from viewpass.views.rows import MeasuredRows

ROWS = 2000
MIN_ANCHORS_PER_CLUSTER = 2
ANCHOR_VALUES = 2**22  # of the anchors of one view, at most
RESTARTS = 5
RULES = Rules(alpha=0.1, max_iter=5, tol=1e-3, fill="mean")


def views_prefer_graph(rows: MeasuredRows, n_clusters: int, workspace: Workspace) -> bool | None:
    """Whether views agree better on the clusters of an anchor graph; None if no two can be compared."""
    chunk = sample(rows, ROWS)
    step = ChunkStep(RULES, Workspace(workspace.n_threads))
    by_centres, by_graph = [], []
    for v in range(rows.n_views):
        view = single_view(chunk, v)
        n_anchors = 0 if view is None else _n_anchors(view, n_clusters)
        if view is None or n_anchors < MIN_ANCHORS_PER_CLUSTER * n_clusters:
            continue
        rng = np.random.default_rng(0)
        by_centres.append([candidates.seeded(view, n_clusters, step, rng).labels])
        by_graph.append([_graph_labels(view, n_anchors, n_clusters, step, rng)])
    workspace.n_compared += step.workspace.n_compared / rows.n_views  # each pass was over one view
    centres_agree, graphs_agree = mean_agreement(by_centres), mean_agreement(by_graph)
    if centres_agree is None or graphs_agree is None:
        return None
    return graphs_agree > centres_agree + MIN_GAIN


def _n_anchors(view: MeasuredRows, n_clusters: int) -> int:
    n_seen = int(view.counted.sum())
    return min(ANCHORS_PER_CLUSTER * n_clusters, n_seen // ROWS_PER_ANCHOR, ANCHOR_VALUES // view.n_columns)


def _graph_labels(
    view: MeasuredRows, n_anchors: int, n_clusters: int, step: ChunkStep, rng: np.random.Generator
) -> Labels:
    anchors = candidates.anchors(view, n_anchors, step, rng, whole=False)
    soft = soft_assignment(view, anchors.centres, step.workspace)
    labels = cut(links_of(soft, n_anchors, view.chunk.copies), n_clusters, RESTARTS).labels_of(soft)
    return np.where(view.n_seen > 0, labels, -1).astype(np.int32)
