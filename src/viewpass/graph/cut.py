"""Grouping of anchors into K clusters, by their graph or by merging, from statistics and links alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from viewpass.graph import spectral as graph
from viewpass.graph.agglomeration import merges
from viewpass.graph.soft_assignment import SoftAssignment
from viewpass.kernels.grid import Floats, Integers, Labels, Links
from viewpass.sums.rules import Alpha
from viewpass.sums.statistics import Statistics


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
