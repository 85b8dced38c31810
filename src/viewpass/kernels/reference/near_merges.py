"""The specification of native/near_merges.cpp: merges of clusters that are candidates of each other."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np

from viewpass.kernels.grid import Floats, Integers
from viewpass.kernels.portable import ordered_sum


def merge_near(
    counts: Integers,
    sums: list[Floats],
    ridges: Floats,
    starts: Integers,
    others: Integers,
    share_views: bool,
    most: int,
) -> tuple[Integers, Floats]:
    """The first `most` merges, the cheapest first: pairs and prices.

    INOUT sums: of each view, used up. The candidates of cluster k are others[starts[k] : starts[k + 1]],
    those of a merged cluster the candidates of both its parts. Where none are left, the smallest cluster
    joins the one for which that costs least. `share_views`: clusters without a common view merge last.
    """
    clusters = _Clusters(counts.astype(np.float64), sums, ridges, share_views)
    for a in range(counts.shape[1]):
        clusters.join(a, others[starts[a] : starts[a + 1]].tolist())
    clusters.begin()
    pairs, prices = list[tuple[int, int]](), list[float]()
    while len(pairs) < min(most, counts.shape[1] - 1):
        price, a, b = clusters.cheapest()
        pairs.append((a, b))
        prices.append(price)
        clusters.merge(a, b)
    return np.array(pairs, dtype=np.int64).reshape(-1, 2), np.array(prices)


class _Clusters:
    """Clusters that are merged, cheapest candidates first."""

    def __init__(self, counts: Floats, sums: list[Floats], ridges: Floats, share_views: bool) -> None:
        self.counts, self.sums, self.ridges, self.share_views = counts, sums, ridges, share_views
        self.squares = np.array([ordered_sum(np.square(of_view)) for of_view in sums])
        self.alive = np.ones(counts.shape[1], dtype=bool)
        self.version = [0] * counts.shape[1]
        self.near: list[set[int]] = [set() for _ in range(counts.shape[1])]
        self.queue: list[tuple[float, int, int, int, int]] = []

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
        price, shared = np.zeros(len(others)), np.full(len(others), not self.share_views)
        for v, sums in enumerate(self.sums):
            own, theirs, ridge = self.counts[v, a], self.counts[v, others], self.ridges[v]
            both = self.squares[v, a] + self.squares[v, others] + 2.0 * ordered_sum(sums[others] * sums[a])
            price += _ratio(self.squares[v, a], own + ridge) + _ratio(self.squares[v, others], theirs + ridge)
            price -= _ratio(both, own + theirs + ridge)
            shared |= (own > 0) & (theirs > 0)
        price[~shared] = np.inf
        return price

    def cheapest(self) -> tuple[float, int, int]:
        """The cheapest pair of candidates that are both still there, and its price."""
        while self.queue:
            price, a, b, version_a, version_b = heappop(self.queue)
            if self.version[a] == version_a and self.version[b] == version_b:
                return price, a, b
        alive = np.flatnonzero(self.alive)
        sizes = np.zeros(len(alive))
        for counts in self.counts:  # in this order
            sizes += counts[alive]
        a = int(alive[sizes.argmin()])
        others = alive[alive != a]
        prices = self.prices(a, others)
        b = int(others[prices.argmin()])
        return float(prices.min()), min(a, b), max(a, b)

    def merge(self, kept: int, gone: int) -> None:
        """Merge one cluster into another."""
        self.counts[:, kept] += self.counts[:, gone]
        for v, sums in enumerate(self.sums):
            sums[kept] += sums[gone]
            self.squares[v, kept] = ordered_sum(np.square(sums[kept]))
        self.version[kept] += 1
        self.version[gone] = -1
        self.alive[gone] = False
        for b in self.near[gone]:
            self.near[b].discard(gone)
            if b != kept:
                self.near[b].add(kept)
                self.near[kept].add(b)
        self.near[gone] = set()
        for entry in self._priced(kept, sorted(self.near[kept])):
            heappush(self.queue, entry)


def _ratio(above: Floats, below: Floats) -> Floats:
    """Above / below; 0 where there is nothing."""
    above, below = np.broadcast_arrays(np.asarray(above, dtype=np.float64), below)
    return np.divide(above, below, out=np.zeros(above.shape), where=below > 0)
