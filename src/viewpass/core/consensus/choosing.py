"""Can the graph of anchors be trusted? Told without labels, once, from the first rows.

A graph is worth following where its clusters do not depend on which anchors were drawn: the anchors
are split in two at random, each half makes a graph of its own of the same rows, and the two
clusterings are compared (adjusted mutual information).
"""

from __future__ import annotations

import numpy as np

from viewpass.core.consensus.comparing import adjusted_mutual_information
from viewpass.core.consensus.graph import cut
from viewpass.core.links import links_of, mixture
from viewpass.kernels.grid import Floats, Integers, Labels

STABLE = 0.45  # the graph is taken from here on,
STABLE_ENOUGH = 0.35  # or from here on where the views ask for it
SPLITS = 3
RESTARTS = 5
MOST_ROWS = 2000


def stability(distance: Floats, n_seen: Integers, n_clusters: int) -> float:
    """How far the graphs of two halves of the anchors agree, 0 (by chance) to 1, on average over splits."""
    seen = np.flatnonzero(n_seen > 0)[:MOST_ROWS]
    distance, n_seen = distance[seen], n_seen[seen]
    n_anchors = distance.shape[1]
    if n_anchors < 2 * n_clusters:  # half of them cannot be cut
        return 0.0
    rng = np.random.default_rng(0)
    agreed = []
    for _ in range(SPLITS):
        order = rng.permutation(n_anchors)
        halves = np.sort(order[: n_anchors // 2]), np.sort(order[n_anchors // 2 :])
        first, second = (_clusters(distance[:, half], n_seen, n_clusters) for half in halves)
        agreed.append(adjusted_mutual_information(first, second))
    return float(np.cumsum(agreed)[-1]) / SPLITS


def _clusters(distance: Floats, n_seen: Integers, n_clusters: int) -> Labels:
    rows = mixture(distance, n_seen)
    return cut(links_of(rows, distance.shape[1]), n_clusters, RESTARTS).labels_of(rows)
