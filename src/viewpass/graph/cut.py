"""Grouping of anchors into K clusters, by their graph or by merging, from statistics and links alone.

Merging is agglomerative clustering by the objective: the two clusters that raise J least, down to one.

    J = sum_v [S_v - sum_k E_vk],  E_vk = |R_vk|^2 / (T_vk + alpha)           (Eq. 17 with the best centres)
    price of merging a and b = sum_v [E_va + E_vb - |R_va + R_vb|^2 / (T_va + T_vb + alpha)]

Prices follow from the statistics alone. They are Ward's where alpha is 0 and no view is missing; with a
ridge a price can be negative. Clusters that share no view have no price and are merged only when nothing
else is left. Clusters without rows are merged first, at price 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from viewpass.graph import spectral as graph
from viewpass.graph.soft_assignment import SoftAssignment
from viewpass.kernels.backend import backend
from viewpass.kernels.grid import Floats, Integers, Labels, Links
from viewpass.sums.rules import Alpha, each_view
from viewpass.sums.statistics import Statistics


class Merges(NamedTuple):
    """Merges in order: the second cluster of each pair becomes part of the first, at a price in J."""

    n_anchors: int
    pairs: Integers  # (n_anchors - 1, 2)
    prices: Floats
    n_empty: int  # number of first merges that are of clusters without rows

    def labels(self, n_clusters: int) -> Integers:
        """The cluster of each anchor when `n_clusters` are left, numbered by their lowest anchor."""
        pairs = self.pairs[: max(self.n_anchors - n_clusters, 0)]
        parent = np.arange(self.n_anchors)
        parent[pairs[:, 1]] = pairs[:, 0]
        while (parent != parent[parent]).any():
            parent = parent[parent]
        return np.unique(parent, return_inverse=True)[1].astype(np.int64)

    def objective(self, value: float) -> Floats:
        """J for 1, 2, ... clusters, given J of all anchors; the last is that of all anchors."""
        losses: Floats = value + np.concatenate([[0.0], np.cumsum(self.prices)])[::-1]
        return losses


def merges(total: Statistics, alpha: Alpha, *, to_mean: bool = False) -> Merges:
    """The merges of the clusters down to one, the cheapest first.

    `to_mean`: alpha pulls centres towards the mean of all rows instead of the origin, which makes small
    clusters cheap to merge wherever that mean lies.
    """
    sums = [total.sums(v) for v in range(len(total.widths))]
    products = np.stack([backend().products(each, each) for each in sums])
    given = products, each_view(alpha, len(sums)), to_mean
    return Merges(total.n_clusters, *backend().agglomerate(np.stack(total.counts), *given))


@dataclass(frozen=True)
class Cut:
    """The cluster of each anchor, and labels of rows by it."""

    n_clusters: int
    anchors: Labels  # the cluster of each
    graph: graph.GraphCut | None

    def of_anchors(self, labels: Labels) -> Labels:
        """Clusters of rows, given their nearest anchors; -1 stays -1."""
        return np.append(self.anchors, np.int32(-1))[labels]

    def of_soft_assignment(self, rows: SoftAssignment) -> Labels:
        """Clusters of rows by the anchor graph, given their soft assignment; -1 without any view."""
        assert self.graph is not None
        labels = self.graph.labels_of(rows).astype(np.int32)
        labels[rows.weights[:, 0] == 0] = -1
        return labels

    def numbered(self, numbers: Labels) -> Cut:
        """The same cut with other numbers for its clusters."""
        graph = self.graph
        if graph is not None:
            labels, centres = numbers[graph.labels].astype(np.int64), graph.centres[np.argsort(numbers)]
            graph = replace(graph, labels=labels, centres=centres)
        return Cut(self.n_clusters, numbers[self.anchors], graph)

    def nearest(self, distance: Floats, some: Integers) -> Floats:
        """Distances to clusters (rows x clusters): to the nearest of `some` anchors of each; NaN: none."""
        out = np.full((len(distance), self.n_clusters), np.nan)
        clusters = self.anchors[some]
        for k in range(self.n_clusters):
            mine = clusters == k
            if mine.any():
                out[:, k] = distance[:, mine].min(axis=1)
        return out


def cut(total: Statistics, links: Links | None, alpha: Alpha, n_clusters: int) -> Cut:
    """Group anchors into clusters: by their graph where there are links, otherwise by merging."""
    if links is not None:
        made = graph.cut(links, n_clusters)
        return Cut(n_clusters, made.labels.astype(np.int32), made)
    return Cut(n_clusters, merges(total, alpha).labels(n_clusters).astype(np.int32), None)
