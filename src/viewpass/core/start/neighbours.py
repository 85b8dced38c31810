"""Agglomeration of very many small clusters: only clusters that are near each other may merge.

The prices are those of consensus/agglomeration.py, with a ridge towards the mean of all rows:

    price of merging a and b = sum_v [E_va + E_vb - E_vab],  E = |R - T g|^2 / (T + ridge)

A table of all prices would grow with the square of the clusters. Here the candidates of a small cluster are
the few nearest to its centre, and those of a merged cluster are the candidates of both its parts.
"""

from __future__ import annotations

from dataclasses import replace
from heapq import heapify, heappop, heappush

import numpy as np

from viewpass.core.consensus.soft_assignment import soft_assignment
from viewpass.core.state.alpha import Alpha, each_view
from viewpass.core.state.centres import Centres
from viewpass.core.state.statistics import Statistics
from viewpass.core.step.workspace import Workspace
from viewpass.kernels.grid import STEP, Floats, Integers
from viewpass.kernels.reference.exact import ordered_sum
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows


def merged_labels(
    total: Statistics, n_clusters: int, ridge: Alpha, rows: MeasuredRows, workspace: Workspace
) -> Integers:
    """The cluster of each small cluster when `n_clusters` are left, numbered by their lowest small one.

    `rows`: those that the statistics are of. Where no candidates are left, the smallest cluster joins the
    one for which that costs least.
    """
    clusters = _Clusters(total, ridge)
    for a, others in enumerate(_near(clusters, rows, workspace).tolist()):
        clusters.join(a, others)
    clusters.begin()
    while clusters.n_alive > n_clusters:
        clusters.merge(*clusters.cheapest())
    return np.unique(clusters.parents(), return_inverse=True)[1].astype(np.int64)


def _near(clusters: _Clusters, rows: MeasuredRows, workspace: Workspace) -> Integers:
    """The centres nearest to each centre, over the views it has."""
    means = [None if u is None else np.ascontiguousarray(u) for u in clusters.centres()]
    observed = np.ascontiguousarray((clusters.counts > 0).T)
    units = np.sqrt(rows.squares)  # that rows were multiplied by where they keep their lengths
    given = [None if u is None else u / unit if unit else u for u, unit in zip(means, units, strict=True)]
    chunk = Chunk.of(given, observed=observed)
    if rows.chunk.lengths is not None:
        chunk = replace(chunk, lengths=rows.chunk.lengths.at_most())
    places = MeasuredRows(chunk, reference=rows.reference, weights=rows.weights)
    near: Integers = soft_assignment(places, Centres.of(means), workspace).near.astype(np.int64)
    return near


class _Clusters:
    """Clusters that are merged, cheapest candidates first."""

    def __init__(self, total: Statistics, ridge: Alpha) -> None:
        self.counts = np.array(total.counts, dtype=np.float64)
        self.sums = []  # R - T g
        self.means = []  # g
        for v, counts in enumerate(self.counts):
            mean = total.steps[v].sum(axis=0) * STEP / max(counts.sum(), 1.0)
            self.means.append(mean)
            self.sums.append(total.sums(v) - counts[:, None] * mean)
        self.ridges = each_view(ridge, len(total.counts))
        self.squares = np.array([ordered_sum(np.square(sums)) for sums in self.sums])
        self.n_alive = total.n_clusters
        self.parent = np.arange(total.n_clusters)
        self.version = [0] * total.n_clusters
        self.near: list[set[int]] = [set() for _ in range(total.n_clusters)]
        self.queue: list[tuple[float, int, int, int, int]] = []

    def centres(self) -> list[Floats | None]:
        """Centres pulled towards the mean; None for a view that no row has."""
        return [
            mean + sums / (counts[:, None] + ridge) if counts.any() else None
            for mean, sums, counts, ridge in zip(self.means, self.sums, self.counts, self.ridges, strict=True)
        ]

    def join(self, a: int, others: list[int]) -> None:
        """Make clusters candidates of each other."""
        for b in others:
            if a != b:
                self.near[a].add(b)
                self.near[b].add(a)

    def begin(self) -> None:
        """Price all candidates."""
        for a, others in enumerate(self.near):
            self.queue += self._priced(a, [b for b in sorted(others) if b > a])
        heapify(self.queue)

    def _priced(self, a: int, others: list[int]) -> list[tuple[float, int, int, int, int]]:
        """Entries of the queue: prices, pairs, and the versions of both that the prices are of."""
        found = self.prices(a, np.array(others, dtype=np.int64)).tolist()
        pairs = [(min(a, b), max(a, b)) for b in others]
        return [
            (price, a, b, self.version[a], self.version[b])
            for price, (a, b) in zip(found, pairs, strict=True)
        ]

    def prices(self, a: int, others: Integers) -> Floats:
        """What merging a cluster with others adds to the objective."""
        price = np.zeros(len(others))
        for v, sums in enumerate(self.sums):
            own, theirs, ridge = self.counts[v, a], self.counts[v, others], self.ridges[v]
            both = self.squares[v, a] + self.squares[v, others] + 2.0 * ordered_sum(sums[others] * sums[a])
            price += self.squares[v, a] / (own + ridge) + self.squares[v, others] / (theirs + ridge)
            price -= both / (own + theirs + ridge)
        return price

    def cheapest(self) -> tuple[int, int]:
        """The cheapest pair of candidates that are both still there."""
        while self.queue:
            _, a, b, version_a, version_b = heappop(self.queue)
            if self.version[a] == version_a and self.version[b] == version_b:
                return a, b
        alive = np.flatnonzero(self.parent == np.arange(len(self.parent)))
        a = int(alive[self.counts[:, alive].sum(axis=0).argmin()])
        others = alive[alive != a]
        b = int(others[self.prices(a, others).argmin()])
        return min(a, b), max(a, b)

    def merge(self, kept: int, gone: int) -> None:
        """Merge one cluster into another."""
        self.counts[:, kept] += self.counts[:, gone]
        for v, sums in enumerate(self.sums):
            sums[kept] += sums[gone]
            self.squares[v, kept] = ordered_sum(np.square(sums[kept]))
        self.version[kept] += 1
        self.version[gone] = -1
        self.parent[gone] = kept
        self.n_alive -= 1
        for b in self.near[gone]:
            self.near[b].discard(gone)
            if b != kept:
                self.near[b].add(kept)
                self.near[kept].add(b)
        self.near[gone] = set()
        for entry in self._priced(kept, sorted(self.near[kept])):
            heappush(self.queue, entry)

    def parents(self) -> Integers:
        """The cluster that each has become part of."""
        found = self.parent.copy()
        while (found != self.parent[found]).any():
            found = self.parent[found]
        return found
