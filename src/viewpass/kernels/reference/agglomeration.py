"""The specification of native/agglomeration.cpp: merges of clusters by what they add to the objective."""

from __future__ import annotations

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


def _ratio(above: Floats, below: Floats) -> Floats:
    """Above / below; 0 where there is nothing."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)
