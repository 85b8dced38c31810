"""The specification of native/small_kmeans.cpp, in NumPy, to the same bits.

Sums over the columns of a point, and over points, run one after another.
"""

from __future__ import annotations

import numpy as np

from viewpass.kernels.grid import UNIT, Array, Floats, Integers, Labels
from viewpass.kernels.portable import directions, farness
from viewpass.kernels.reference.eigen import Draws

MOST_ITERATIONS = 100
BEYOND = 2.0**1000  # any distance


def small_kmeans(
    places: Floats, weights: Floats, n_clusters: int, n_restarts: int, seed: int
) -> tuple[Integers, Floats]:
    """Labels and centres of weighted points: the best of several restarts."""
    draws = Draws(seed)
    best = np.inf
    for _ in range(n_restarts):
        labels, centres = _lloyd(places, weights, _seeds(places, weights, n_clusters, draws))
        inertia = float(np.cumsum(weights * _own_distances(places, centres, labels))[-1])
        if inertia < best:
            best, found = inertia, (labels, centres)
    return found


def n_trials(n_clusters: int) -> int:
    """Candidates for each seed: about 2 + log K."""
    return 2 + 7 * (n_clusters.bit_length() - 1) // 10


def _seeds(places: Floats, weights: Floats, n_clusters: int, draws: Draws) -> Floats:
    """Greedy k-means++: of a few drawn points the one that leaves the least inertia."""
    distances = np.full(len(places), BEYOND)
    running = np.cumsum(weights)
    chosen = np.empty(n_clusters, dtype=np.int64)
    for k in range(n_clusters):
        targets = draws.next(1 if k == 0 else n_trials(n_clusters)) * running[-1]
        tried = np.minimum(np.searchsorted(running, targets, side="right"), len(places) - 1)
        nearer = np.minimum(_distances(places, places[tried]), distances)
        sums = np.cumsum(weights * nearer, axis=1)
        best = int(sums[:, -1].argmin())
        chosen[k], distances, running = tried[best], nearer[best], sums[best]
    return places[chosen]


def _distances(places: Floats, others: Floats) -> Floats:
    """Squared distances, (others, places)."""
    sums = np.zeros((len(others), len(places)))
    for mine, theirs in zip(places.T, others.T, strict=True):
        apart = mine - theirs[:, None]
        sums += apart * apart
    return sums


def _own_distances(places: Floats, centres: Floats, labels: Integers) -> Floats:
    sums = np.zeros(len(places))
    for mine, theirs in zip(places.T, centres.T, strict=True):
        apart = mine - theirs[labels]
        sums += apart * apart
    return sums


def _lloyd(places: Floats, weights: Floats, centres: Floats) -> tuple[Integers, Floats]:
    """Until labels stop moving: each point to its nearest centre, each centre to the mean of its points."""
    labels = farness(places, centres).argmin(axis=1)
    for _ in range(MOST_ITERATIONS):
        centres = _means(places, weights, centres, labels)
        before, labels = labels, farness(places, centres).argmin(axis=1)
        if np.array_equal(before, labels):
            break
    return labels, centres


def _means(places: Floats, weights: Floats, centres: Floats, labels: Integers) -> Floats:
    """The means of clusters; one that has nothing stays where it is."""
    masses, sums = np.zeros((len(centres), 1)), np.zeros_like(centres)
    np.add.at(masses, labels, weights[:, None])
    np.add.at(sums, labels, weights[:, None] * places)
    return np.divide(sums, masses, out=centres.copy(), where=masses > 0.0)


def graph_labels(near: Array, weights: Integers, places: Floats, centres: Floats) -> Labels:
    """The cluster of rows: that nearest to the direction of their mixture of anchors."""
    mixed = np.zeros((len(near), places.shape[1]))
    for column, weight in zip(near.T, weights.T, strict=True):
        mixed += (weight / UNIT)[:, None] * places[column]
    labels: Labels = farness(directions(mixed), centres).argmin(axis=1).astype(np.int32)
    return labels
