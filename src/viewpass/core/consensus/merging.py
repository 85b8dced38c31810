"""Agglomeration by the price in J: what the objective loses when two clusters become one.

With optimal centres J = sum_v [S_v - sum_k E_vk], E_vk = |R_vk|^2 / (T_vk + alpha), so the price of a
merge is known from the sums alone (Ward's, where alpha is 0 and no view is missing); with a ridge a
merge can be a gain. Clusters that share no view have no price: they are not merged directly, unless
nothing else is left. Clusters without rows are no clusters: they go first, for nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from viewpass.core.statistics import Statistics
from viewpass.kernels.grid import Floats, Integers
from viewpass.kernels.threads import single_threaded_blas


class Merges(NamedTuple):
    """Merges in order: at each the second cluster goes into the first, for a price in J."""

    n_anchors: int
    pairs: Integers  # (n_anchors - 1, 2)
    prices: Floats
    n_empty: int  # of the first merges: those of clusters without rows

    def labels(self, n_clusters: int) -> Integers:
        """The cluster of each anchor when so many are left; numbered by their lowest anchor."""
        parent = np.arange(self.n_anchors)
        for kept, gone in self.pairs[: max(self.n_anchors - n_clusters, 0)]:
            parent[parent == gone] = kept
        return np.unique(parent, return_inverse=True)[1].astype(np.int64)

    def objective(self, value: float) -> Floats:
        """J for 1, 2, ... clusters, given J of all anchors; the last is that of all anchors."""
        losses: Floats = value + np.concatenate([[0.0], np.cumsum(self.prices)])[::-1]
        return losses


def merges(total: Statistics, alpha: float, *, to_mean: bool = False) -> Merges:
    """All merges of the clusters down to one, the cheapest first.

    `to_mean`: alpha pulls centres to the mean of all rows, not to the origin. It then makes small clusters
    cheap to merge, whatever the rows have in common.
    """
    board = _Board(total, alpha, to_mean=to_mean)
    n_anchors = total.n_clusters
    pairs = np.zeros((max(n_anchors - 1, 0), 2), dtype=np.int64)
    prices = np.zeros(len(pairs))
    for at in range(len(pairs)):
        kept, gone, price = board.cheapest()
        board.merge(kept, gone)
        pairs[at], prices[at] = (kept, gone), price
    return Merges(n_anchors, pairs, prices, board.n_empty)


class _Board:
    """Prices of all pairs; products of the sums are enough to keep them up to date."""

    def __init__(self, total: Statistics, alpha: float, *, to_mean: bool = False) -> None:
        self.alpha = alpha
        self.alive = np.ones(total.n_clusters, dtype=bool)
        self.counts = np.array(total.counts, dtype=np.float64)
        empty = ~self.counts.any(axis=0)
        self.n_empty = 0 if empty.all() else int(empty.sum())
        self._waiting = iter(np.flatnonzero(empty).tolist() if self.n_empty else [])
        self.products = []
        for v in range(len(total.widths)):
            sums = total.sums(v)
            with single_threaded_blas():
                products = sums @ sums.T
            self.products.append(_centred(products, self.counts[v]) if to_mean else products)
        self.prices = np.empty((total.n_clusters, total.n_clusters))
        for k in range(total.n_clusters):
            self.prices[k] = self._row(k)
        self.best = self.prices.min(axis=1)

    def _row(self, k: int) -> Floats:
        """What merging cluster k with each other one costs; inf where there is no price."""
        price = np.zeros(len(self.alive))
        shared = np.zeros(len(self.alive), dtype=bool)
        for counts, products in zip(self.counts, self.products, strict=True):
            squares = np.diagonal(products)
            energy = _ratio(squares, counts + self.alpha)
            both = squares[k] + squares + 2.0 * products[k]
            price += energy[k] + energy - _ratio(both, counts[k] + counts + self.alpha)
            shared |= (counts[k] > 0) & (counts > 0)
        price[~shared | ~self.alive] = np.inf
        price[k] = np.inf
        return price

    def cheapest(self) -> tuple[int, int, float]:
        """The next pair, the lower index first."""
        for gone in self._waiting:
            sizes = np.where(self.alive, self.counts.sum(axis=0), -1.0)
            sizes[gone] = -1.0
            largest = int(sizes.argmax())
            return min(gone, largest), max(gone, largest), 0.0
        a = int(self.best.argmin())
        if np.isfinite(self.best[a]):
            b = int(self.prices[a].argmin())
            return min(a, b), max(a, b), float(self.prices[a, b])
        # Nothing that shares a view is left: the two with the fewest rows.
        sizes = np.where(self.alive, self.counts.max(axis=0), np.inf)
        a, b = (int(k) for k in np.argsort(sizes, kind="stable")[:2])
        return min(a, b), max(a, b), 0.0

    def merge(self, kept: int, gone: int) -> None:
        """Let one cluster go into another."""
        self.counts[:, kept] += self.counts[:, gone]
        for products in self.products:
            products[kept] += products[gone]
            products[:, kept] += products[:, gone]
        self.alive[gone] = False
        self.prices[gone] = self.prices[:, gone] = np.inf
        self.prices[kept] = self.prices[:, kept] = self._row(kept)
        self.best = self.prices.min(axis=1)


def _centred(products: Floats, counts: Floats) -> Floats:
    """The products of R - T g, where g is the mean of all rows: they add up under merges as those of R do."""
    n_rows = counts.sum()
    if n_rows == 0:
        return products
    along = products.sum(axis=1) / n_rows  # R g
    square = along.sum() / n_rows  # |g|^2
    across = np.outer(counts, along)
    centred: Floats = products - across - across.T + square * np.outer(counts, counts)
    return centred


def _ratio(above: Floats, below: Floats) -> Floats:
    """Above / below; 0 where there is nothing."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)
