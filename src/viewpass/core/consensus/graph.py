"""The graph of anchors cut into K parts: leading eigenvectors of D^-1/2 G D^-1/2, then k-means."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from viewpass.core.links import Mixture
from viewpass.kernels.grid import Floats, Integers
from viewpass.kernels.threads import single_threaded_blas

RESTARTS = 20


@dataclass(frozen=True)
class GraphCut:
    """Anchors in the space of the leading eigenvectors, and the clusters there."""

    labels: Integers  # the cluster of each anchor
    places: Floats  # of the anchors: what rows are mixtures of
    centres: Floats  # of the clusters

    def labels_of(self, rows: Mixture) -> Integers:
        """The cluster of rows: that nearest to the direction of their mixture of anchors."""
        nearest: Integers = self._farness(_directions(rows.of(self.places))).argmin(axis=1)
        return nearest

    def margins_of(self, rows: Mixture) -> tuple[Floats, Floats]:
        """By how much that cluster is nearer than any other, and how long the mixture is."""
        mixed = rows.of(self.places)
        two = np.partition(self._farness(_directions(mixed)), 1, axis=1)
        margins: Floats = two[:, 1] - two[:, 0]
        return margins, np.linalg.norm(mixed, axis=1)

    def _farness(self, directions: Floats) -> Floats:
        """Squared distances to the clusters but for what they have in common."""
        squares = np.einsum("ij,ij->i", self.centres, self.centres)
        # Column after column: a product by BLAS has other bits for other numbers of rows and threads.
        nearness = np.zeros((len(directions), len(self.centres)))
        for axis in range(directions.shape[1]):
            nearness += directions[:, axis, None] * self.centres[:, axis]
        farness: Floats = squares - 2.0 * nearness
        return farness


def spectrum(links: Integers, n_leading: int) -> tuple[Floats, Floats]:
    """The largest eigenvalues, falling, and their vectors, of the links scaled by the anchors' degrees."""
    scale = _scale(links)
    n_anchors = len(links)
    n_leading = min(n_leading, n_anchors)
    with single_threaded_blas():
        values, vectors = scipy.linalg.eigh(
            links * scale[:, None] * scale, subset_by_index=[n_anchors - n_leading, n_anchors - 1]
        )
    return values[::-1], vectors[:, ::-1]


def cut(links: Integers, n_clusters: int, n_restarts: int = RESTARTS) -> GraphCut:
    """Cut the anchors into clusters, numbered by their lowest anchor."""
    _, vectors = spectrum(links, n_clusters)
    degrees = np.maximum(links.sum(axis=1), 1).astype(np.float64)
    found = KMeans(n_clusters, n_init=n_restarts, random_state=0)
    alone = threadpool_limits(1, user_api="openmp")  # threads would add in any order
    with single_threaded_blas(), alone, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer places than clusters: some stay empty
        found.fit(_directions(vectors), sample_weight=degrees / degrees.max())
    order = _by_first(found.labels_, n_clusters)
    places = vectors * _scale(links)[:, None]
    return GraphCut(order[found.labels_], places, found.cluster_centers_[np.argsort(order)])


def _by_first(labels: Integers, n_clusters: int) -> Integers:
    """New numbers for clusters, by their lowest anchor; those without any come last."""
    firsts = np.full(n_clusters, len(labels))
    np.minimum.at(firsts, labels, np.arange(len(labels)))
    order = np.empty(n_clusters, dtype=np.int64)
    order[np.argsort(firsts, kind="stable")] = np.arange(n_clusters)
    return order


def _scale(links: Integers) -> Floats:
    degrees = links.sum(axis=1).astype(np.float64)
    scale: Floats = 1.0 / np.sqrt(np.where(degrees > 0, degrees, 1.0))
    return scale


def _directions(places: Floats) -> Floats:
    lengths = np.linalg.norm(places, axis=1, keepdims=True)
    directions: Floats = np.divide(places, lengths, out=np.zeros_like(places), where=lengths > 0)
    return directions
