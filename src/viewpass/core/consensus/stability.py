"""Stability of the clusters of an anchor graph, measured on the warm-up rows without labels.

Clusters can be trusted if they do not depend on which anchors were drawn. The anchors are split at random
into halves, each half gives a graph and a clustering of the same rows, and the two clusterings are compared
(adjusted mutual information).
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

STABLE = 0.45  # at least, to use the graph where views cannot be compared
STABLE_ENOUGH = 0.35  # at least, where views agree better on the graph
SPLITS = 3
RESTARTS = 5
ROWS = 2000  # compared, at most


def stability(rows: MeasuredRows, anchors: Centres, n_clusters: int, workspace: Workspace) -> float:
    """Mean agreement of the clusterings by two halves of the anchors: 0 (by chance) to 1."""
    seen = np.flatnonzero(rows.counted)[:ROWS]
    chunk, inverse = rows.take(seen)
    some = MeasuredRows.known(chunk, inverse, reference=rows.reference)
    n_anchors = anchors.n_clusters
    if n_anchors < 2 * n_clusters:  # too few for halves to be grouped
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
    soft = soft_assignment(rows, anchors, workspace)
    links = links_of(soft, anchors.n_clusters, rows.chunk.copies)
    return cut(links, n_clusters, RESTARTS).labels_of(soft)
