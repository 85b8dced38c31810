"""Can the graph of anchors be trusted? Told without labels, once, from the first rows.

A graph is worth following where its clusters do not depend on which anchors were drawn: the anchors
are split in two at random, each half makes a graph of its own of the same rows, and the two
clusterings are compared (adjusted mutual information).
"""

from __future__ import annotations

import numpy as np

from viewpass.core.consensus.graph import cut
from viewpass.core.consensus.mutual_information import adjusted_mutual_information
from viewpass.core.consensus.soft_assignment import links_of, soft_assignment
from viewpass.core.state.centres import Centres
from viewpass.core.step.workspace import Workspace
from viewpass.kernels.grid import Labels
from viewpass.views.rows import MeasuredRows

STABLE = 0.45  # the graph is taken from here on,
STABLE_ENOUGH = 0.35  # or from here on where the views ask for it
SPLITS = 3
RESTARTS = 5
MOST_ROWS = 2000


def stability(rows: MeasuredRows, anchors: Centres, n_clusters: int, workspace: Workspace) -> float:
    """How far the graphs of two halves of the anchors agree, 0 (by chance) to 1, on average over splits."""
    seen = np.flatnonzero(rows.n_seen > 0)[:MOST_ROWS]
    chunk, inverse = rows.take(seen)
    some = MeasuredRows.known(chunk, inverse, reference=rows.reference)
    n_anchors = anchors.n_clusters
    if n_anchors < 2 * n_clusters:  # half of them cannot be cut
        return 0.0
    rng = np.random.default_rng(0)
    agreed = []
    for _ in range(SPLITS):
        order = rng.permutation(n_anchors)
        halves = np.sort(order[: n_anchors // 2]), np.sort(order[n_anchors // 2 :])
        first, second = (_clusters(some, anchors.take(half), n_clusters, workspace) for half in halves)
        agreed.append(adjusted_mutual_information(first, second))
    return float(np.cumsum(agreed)[-1]) / SPLITS


def _clusters(rows: MeasuredRows, anchors: Centres, n_clusters: int, workspace: Workspace) -> Labels:
    mixed = soft_assignment(rows, anchors, workspace)
    return cut(links_of(mixed, anchors.n_clusters), n_clusters, RESTARTS).labels_of(mixed)
