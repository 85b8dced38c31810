"""Spectral clustering of the anchor graph: leading eigenvectors of D^-1/2 G D^-1/2, then k-means.

    G  links between anchors (soft_assignment.py),  D = diag(G 1)
    row  nearest cluster to the direction of z D^-1/2 E,  E the eigenvectors, z its soft assignment

Every sum that a label depends on is added in a fixed order, compiled or not, so the same links give the
same clusters on every processor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from viewpass.graph.soft_assignment import SoftAssignment, link_parts
from viewpass.kernels.backend import backend
from viewpass.kernels.grid import Floats, Integers, Labels, Links
from viewpass.kernels.portable import directions

RESTARTS = 20  # of the k-means that cuts the final graph
SPLINTER = 0.01  # of the links that a cluster has on average


@dataclass(frozen=True)
class GraphCut:
    """Anchors in the space of the leading eigenvectors, and the clusters there."""

    labels: Integers  # the cluster of each anchor
    places: Floats  # coordinates of the anchors; those of a row are a weighted mean of them
    centres: Floats  # of the clusters

    def labels_of(self, rows: SoftAssignment) -> Labels:
        """The cluster nearest to the direction of each row's mean of anchors."""
        labels: Labels = backend().graph_labels(rows.near, rows.weights, self.places, self.centres)
        return labels


def spectrum(links: Links, n_leading: int, tie: int = 0) -> tuple[Floats, Floats]:
    """The largest eigenvalues of D^-1/2 G D^-1/2, in descending order, and their eigenvectors.

    The entry of largest magnitude in each vector is positive. `tie`: more links between any two anchors.
    """
    given = *link_parts(links), min(n_leading, links.shape[0]), tie
    found: tuple[Floats, Floats] = backend().spectrum(*given)
    return found


def cut(links: Links, n_clusters: int, n_restarts: int = RESTARTS) -> GraphCut:
    """Group the anchors into clusters, numbered by their lowest anchor."""
    return next(cuts(links, [n_clusters], n_restarts))


def cuts(links: Links, numbers: Sequence[int], n_restarts: int) -> Iterator[GraphCut]:
    """Group the anchors into each of these numbers of clusters."""
    graph, tied = _Graph.of(links, max(numbers)), None
    for n_clusters in numbers:
        found = graph.cut(n_clusters, n_restarts)
        if graph.has_splinter(found):
            tied = tied or _Graph.of(links, max(numbers), _tie(links))
            found = tied.cut(n_clusters, n_restarts)
        yield found


class _Graph(NamedTuple):
    """The eigenvectors of a graph, and its degrees."""

    leading: Floats
    degrees: Floats

    @classmethod
    def of(cls, links: Links, most: int, tie: int = 0) -> _Graph:
        degrees = np.asarray(links.sum(axis=1)).reshape(-1) + tie * links.shape[0]
        return cls(spectrum(links, most, tie)[1], np.maximum(degrees, 1).astype(np.float64))

    def cut(self, n_clusters: int, n_restarts: int) -> GraphCut:
        degrees, vectors = self.degrees, np.ascontiguousarray(self.leading[:, :n_clusters])
        given = directions(vectors), degrees / degrees.max(), n_clusters, n_restarts
        labels, centres = backend().small_kmeans(*given, seed=0)
        order = _by_first(labels, n_clusters)
        lengths = (1.0 / np.sqrt(degrees))[:, None]
        return GraphCut(order[labels], vectors * lengths, centres[np.argsort(order)])

    def has_splinter(self, found: GraphCut) -> bool:
        """Whether a cluster has next to nothing of the graph: a few odd rows without links to others."""
        n_clusters = len(found.centres)
        sizes = np.bincount(found.labels, self.degrees, minlength=n_clusters)
        return bool(sizes.min() * n_clusters < SPLINTER * self.degrees.sum())


def _tie(links: Links) -> int:
    """As many links again, spread evenly over all pairs: to cut off a splinter costs more."""
    n_pairs = links.shape[0] ** 2
    return max(int(links.sum()) // int(n_pairs), 1)


def _by_first(labels: Integers, n_clusters: int) -> Integers:
    """New numbers for clusters, by their lowest anchor; those without any come last."""
    firsts = np.full(n_clusters, len(labels))
    np.minimum.at(firsts, labels, np.arange(len(labels)))
    order = np.empty(n_clusters, dtype=np.int64)
    order[np.argsort(firsts, kind="stable")] = np.arange(n_clusters)
    return order
