"""The specification of native/agglomeration.cpp and native/near_merges.cpp: merges by what they add to J.

In the first any two clusters may merge, in the second those that are candidates of each other.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np

from viewpass.kernels.grid import Floats, Integers
from viewpass.kernels.portable import ordered_sum


def agglomerate(
    counts: Integers, products: Floats, alpha: Floats, to_mean: bool, most: int = 2**63 - 1
) -> tuple[Integers, Floats, int]:
    """The first `most` merges, or all down to one cluster: pairs, prices, and the number of empty clusters.

    Those are merged first. INOUT products: R R' of each view, used up. `alpha`: the ridge of each view.
    """
    table = _PriceTable(counts.astype(np.float64), products, alpha[:, None], to_mean)
    empty = np.flatnonzero(~counts.any(axis=0)).tolist()
    if len(empty) == counts.shape[1]:
        empty = []
    n_merges = min(max(counts.shape[1] - 1, 0), most)
    pairs, prices = np.zeros((n_merges, 2), dtype=np.int64), np.zeros(n_merges)
    for step in range(n_merges):
        if step < len(empty):
            a, b = empty[step], table.largest_but(empty[step])
        else:
            a, b, prices[step] = table.cheapest()
        pairs[step] = min(a, b), max(a, b)
        table.merge(min(a, b), max(a, b))
    return pairs, prices, len(empty)


class _PriceTable:
    """The prices of all merges, kept up to date while clusters are merged."""

    def __init__(self, counts: Floats, products: Floats, alpha: Floats, to_mean: bool) -> None:
        n_clusters = counts.shape[1]
        self.counts, self.products, self.alpha = counts, products, alpha
        self.alive = np.ones(n_clusters, dtype=bool)
        if to_mean:
            for of_view, counts_of_view in zip(products, counts, strict=True):
                of_view[:] = _centred(of_view, counts_of_view)
        self.squares = np.diagonal(products, axis1=1, axis2=2).copy()
        self.energy = _ratio(self.squares, counts + alpha)
        self.prices = np.array([self._prices(k) for k in range(n_clusters)]).reshape(n_clusters, n_clusters)
        self.best, self.partner = np.empty(n_clusters), np.zeros(n_clusters, dtype=np.int64)
        self._find_best(np.arange(n_clusters))

    def _prices(self, k: int) -> Floats:
        """What merging a cluster with each other one adds to J; inf where they share no view."""
        counts, energy = self.counts, self.energy
        both = self.squares + self.squares[:, k, None] + 2.0 * self.products[:, k]
        terms = energy + energy[:, k, None] - _ratio(both, counts + counts[:, k, None] + self.alpha)
        price = np.zeros(counts.shape[1])
        for of_view in terms:
            price += of_view
        shared = ((counts > 0) & (counts[:, k, None] > 0)).any(axis=0)
        price[~(shared & self.alive)] = np.inf
        price[k] = np.inf
        return price

    def _find_best(self, some: Integers) -> None:
        """The cheapest merge of each of these clusters, and its partner: the lowest of equals."""
        self.partner[some] = self.prices[some].argmin(axis=1)
        self.best[some] = self.prices[some, self.partner[some]]

    def largest_but(self, empty: int) -> int:
        """The cluster with most rows, other than an empty one."""
        sizes = np.where(self.alive, self.counts.sum(axis=0), -1.0)
        sizes[empty] = -1.0
        return int(sizes.argmax())

    def cheapest(self) -> tuple[int, int, float]:
        """The cheapest pair and its price; where no two share a view, the two with the fewest rows."""
        a = int(self.best.argmin())
        if np.isfinite(self.best[a]):
            return a, int(self.partner[a]), float(self.best[a])
        sizes = np.where(self.alive, self.counts.max(axis=0), np.inf)
        a, b = np.argsort(sizes, kind="stable")[:2].tolist()
        return a, b, 0.0

    def merge(self, kept: int, gone: int) -> None:
        """Merge one cluster into another."""
        self.counts[:, kept] += self.counts[:, gone]
        self.products[:, kept] += self.products[:, gone]
        self.products[:, :, kept] += self.products[:, :, gone]
        self.squares[:, kept] = self.products[:, kept, kept]
        self.energy[:, kept] = _ratio(self.squares[:, kept], self.counts[:, kept] + self.alpha[:, 0])
        self.alive[gone] = False
        price = self._prices(kept)
        self.prices[gone] = self.prices[:, gone] = np.inf
        self.prices[kept] = self.prices[:, kept] = price
        gained = (price < self.best) | ((price == self.best) & (kept < self.partner))
        lost = (self.partner == kept) | (self.partner == gone)
        lost[kept] = lost[gone] = True
        self.best[gained], self.partner[gained] = price[gained], kept
        self._find_best(np.flatnonzero(lost))


def _centred(products: Floats, counts: Floats) -> Floats:
    """The products of R - T g, where g is the mean of all rows; they add up in merges, as those of R do."""
    n_rows = counts.sum()
    if n_rows == 0:
        return products
    along = ordered_sum(products) / n_rows  # R g
    square = ordered_sum(along) / n_rows  # |g|^2
    across = np.outer(counts, along)
    centred: Floats = products - (across + across.T) + square * np.outer(counts, counts)
    return centred


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
