"""Agglomerative clustering by the objective: merges the two clusters that raise J least, down to one.

    J = sum_v [S_v - sum_k E_vk],  E_vk = |R_vk|^2 / (T_vk + alpha)           (Eq. 17 with the best centres)
    price of merging a and b = sum_v [E_va + E_vb - |R_va + R_vb|^2 / (T_va + T_vb + alpha)]

Prices follow from the statistics alone. They are Ward's where alpha is 0 and no view is missing; with a
ridge a price can be negative. Clusters that share no view have no price and are merged only when nothing
else is left. Clusters without rows are merged first, at price 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from viewpass.core.state.statistics import Statistics
from viewpass.kernels.backend import backend
from viewpass.kernels.grid import Floats, Integers
from viewpass.kernels.reference.exact import lane_sum


class Merges(NamedTuple):
    """All merges in order: the second cluster of each pair becomes part of the first, at a price in J."""

    n_anchors: int
    pairs: Integers  # (n_anchors - 1, 2)
    prices: Floats
    n_empty: int  # number of first merges that are of clusters without rows

    def labels(self, n_clusters: int) -> Integers:
        """The cluster of each anchor when `n_clusters` are left, numbered by their lowest anchor."""
        parent = np.arange(self.n_anchors)
        for kept, gone in self.pairs[: max(self.n_anchors - n_clusters, 0)]:
            parent[parent == gone] = kept
        return np.unique(parent, return_inverse=True)[1].astype(np.int64)

    def objective(self, value: float) -> Floats:
        """J for 1, 2, ... clusters, given J of all anchors; the last is that of all anchors."""
        losses: Floats = value + np.concatenate([[0.0], np.cumsum(self.prices)])[::-1]
        return losses


class Products(NamedTuple):
    """What merging needs: rows per view and cluster (T), and R R' of each view (views x K x K)."""

    counts: Integers
    sums: Floats

    @classmethod
    def of(cls, total: Statistics) -> Products:
        """The products of these statistics."""
        made = cls.room(total.n_clusters, len(total.widths))
        made.counts[:] = total.counts
        for v in range(len(total.widths)):
            made.put(v, total.sums(v))
        return made

    @classmethod
    def room(cls, n_clusters: int, n_views: int) -> Products:
        """Products of no rows, to be filled view by view."""
        counts = np.zeros((n_views, n_clusters), dtype=np.int64)
        return cls(counts, np.zeros((n_views, n_clusters, n_clusters)))

    def put(self, v: int, sums: Floats) -> None:
        """Set the products of view v, given its R."""
        self.sums[v] = backend().products(sums, sums)


def merges(total: Statistics | Products, alpha: float, *, to_mean: bool = False) -> Merges:
    """All merges of the clusters down to one, the cheapest first.

    INOUT total, if it is products. `to_mean`: alpha pulls centres towards the mean of all rows instead of
    the origin, which makes small clusters cheap to merge wherever that mean lies.
    """
    board = _Board(Products.of(total) if isinstance(total, Statistics) else total, alpha, to_mean=to_mean)
    n_anchors = len(board.alive)
    pairs = np.zeros((max(n_anchors - 1, 0), 2), dtype=np.int64)
    prices = np.zeros(len(pairs))
    for at in range(len(pairs)):
        kept, gone, price = board.cheapest()
        board.merge(kept, gone)
        pairs[at], prices[at] = (kept, gone), price
    return Merges(n_anchors, pairs, prices, board.n_empty)


class _Board:
    """Prices of all pairs; products of the sums are enough to keep them up to date."""

    def __init__(self, total: Products, alpha: float, *, to_mean: bool = False) -> None:
        self.alpha = alpha
        self.counts = total.counts.astype(np.float64)
        n_clusters = self.counts.shape[1]
        self.alive = np.ones(n_clusters, dtype=bool)
        empty = ~self.counts.any(axis=0)
        self.n_empty = 0 if empty.all() else int(empty.sum())
        self._waiting = iter(np.flatnonzero(empty).tolist() if self.n_empty else [])
        self.products = total.sums
        if to_mean:
            for own, counts in zip(self.products, self.counts, strict=True):
                own[:] = _centred(own, counts)
        self.squares = np.diagonal(self.products, axis1=1, axis2=2).copy()
        self.energy = _ratio(self.squares, self.counts + alpha)
        self.prices = np.array([self._prices(k) for k in range(n_clusters)])
        self.best, self.with_whom = np.empty(n_clusters), np.zeros(n_clusters, dtype=np.int64)
        self._find_best(np.arange(n_clusters))

    def _prices(self, k: int) -> Floats:
        """What merging a cluster with each other one costs; inf where there is no price."""
        counts, energy = self.counts, self.energy
        both = self.squares + self.squares[:, k, None] + 2.0 * self.products[:, k]
        terms = energy + energy[:, k, None] - _ratio(both, counts + counts[:, k, None] + self.alpha)
        price: Floats = terms[0].copy()
        for of_view in terms[1:]:
            price += of_view
        shared = ((counts > 0) & (counts[:, k, None] > 0)).any(axis=0)
        price[~(shared & self.alive)] = np.inf
        price[k] = np.inf
        return price

    def _find_best(self, some: Integers) -> None:
        """The cheapest merge of each of these clusters, and with whom: the lowest of equals."""
        self.with_whom[some] = self.prices[some].argmin(axis=1)
        self.best[some] = self.prices[some, self.with_whom[some]]

    def cheapest(self) -> tuple[int, int, float]:
        """The next pair, the lower index first."""
        for gone in self._waiting:
            sizes = np.where(self.alive, self.counts.sum(axis=0), -1.0)
            sizes[gone] = -1.0
            largest = int(sizes.argmax())
            return min(gone, largest), max(gone, largest), 0.0
        a = int(self.best.argmin())
        if np.isfinite(self.best[a]):
            b = int(self.with_whom[a])
            return min(a, b), max(a, b), float(self.best[a])
        # Nothing that shares a view is left: the two with the fewest rows.
        sizes = np.where(self.alive, self.counts.max(axis=0), np.inf)
        a, b = (int(k) for k in np.argsort(sizes, kind="stable")[:2])
        return min(a, b), max(a, b), 0.0

    def merge(self, kept: int, gone: int) -> None:
        """Let one cluster go into another."""
        self.counts[:, kept] += self.counts[:, gone]
        self.products[:, kept] += self.products[:, gone]
        self.products[:, :, kept] += self.products[:, :, gone]
        self.squares[:, kept] = self.products[:, kept, kept]
        self.energy[:, kept] = _ratio(self.squares[:, kept], self.counts[:, kept] + self.alpha)
        self.alive[gone] = False
        price = self._prices(kept)
        self.prices[gone] = self.prices[:, gone] = np.inf
        self.prices[kept] = self.prices[:, kept] = price
        gained = (price < self.best) | ((price == self.best) & (kept < self.with_whom))
        lost = (self.with_whom == kept) | (self.with_whom == gone)
        lost[kept] = lost[gone] = True
        self.best[gained], self.with_whom[gained] = price[gained], kept
        self._find_best(np.flatnonzero(lost))


def _centred(products: Floats, counts: Floats) -> Floats:
    """The products of R - T g, where g is the mean of all rows: they add up under merges as those of R do."""
    n_rows = counts.sum()
    if n_rows == 0:
        return products
    along = lane_sum(products) / n_rows  # R g
    square = lane_sum(along) / n_rows  # |g|^2
    across = np.outer(counts, along)
    centred: Floats = products - (across + across.T) + square * np.outer(counts, counts)
    return centred


def _ratio(above: Floats, below: Floats) -> Floats:
    """Above / below; 0 where there is nothing."""
    some = below > 0
    return above / below if some.all() else np.divide(above, below, out=np.zeros_like(above), where=some)
