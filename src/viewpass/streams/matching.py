"""Clusters of two labelings of the same rows, matched: which go on, and what happened to the others.

A cluster goes on as the one that it shares most rows with, one to one (the assignment that keeps most),
if they share enough. That is, of their rows that have a cluster in both labelings more than half of the
smaller one and a part of the larger, and of all their rows a part of the smaller. The others are told by
where more than half of their rows are in the other labeling:

    new, most rows from one old cluster    split from it
    new, otherwise                         born
    old, most rows in one new cluster      merged into it
    old, otherwise                         died

With the labelings swapped, splits are mergers and births are deaths.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from viewpass.kernels.grid import Integers, Labels
from viewpass.streams.events import NO_CLUSTER, Event

LEAST_PART = 20  # a cluster that goes on shares at least one row in so many
MOST = 2000  # clusters that are assigned to keep most rows; more by the largest pair first


@dataclass(frozen=True)
class Shared:
    """Rows that old and new clusters have in common: a sparse table, one entry per pair that shares any.

    Cluster `n_old` or `n_new` of a pair: no cluster.
    """

    old: Integers  # per pair
    new: Integers
    rows: Integers
    n_old: int
    n_new: int

    @classmethod
    def of(cls, old: Labels | Integers, new: Labels | Integers, n_old: int, n_new: int) -> Shared:
        """Count the labels of the same rows; -1 is a row without a cluster."""
        before, after = np.where(old < 0, n_old, old), np.where(new < 0, n_new, new)
        pairs, rows = np.unique(before.astype(np.int64) * (n_new + 1) + after, return_counts=True)
        return cls(pairs // (n_new + 1), pairs % (n_new + 1), rows.astype(np.int64), n_old, n_new)

    def swapped(self) -> Shared:
        """The same with new for old."""
        order = np.lexsort((self.old, self.new))
        return Shared(self.new[order], self.old[order], self.rows[order], self.n_new, self.n_old)

    def sizes(self) -> Integers:
        """Rows of each old cluster."""
        sizes = np.zeros(self.n_old + 1, dtype=np.int64)
        np.add.at(sizes, self.old, self.rows)
        return sizes[: self.n_old]

    def inner(self) -> Shared:
        """The pairs of two clusters."""
        both = (self.old < self.n_old) & (self.new < self.n_new)
        return Shared(self.old[both], self.new[both], self.rows[both], self.n_old, self.n_new)

    def nearest(self) -> tuple[Labels, Integers]:
        """The new cluster that most rows of each old one are in, -1 where none are, and these rows."""
        pairs = self.inner()
        order = np.lexsort((pairs.new, -pairs.rows, pairs.old))
        found, first = np.unique(pairs.old[order], return_index=True)
        places, rows = np.full(self.n_old, NO_CLUSTER, dtype=np.int32), np.zeros(self.n_old, dtype=np.int64)
        places[found], rows[found] = pairs.new[order][first], pairs.rows[order][first]
        return places, rows


@dataclass(frozen=True)
class Matching:
    """Clusters of two labelings, by number; -1 where there is none."""

    shared: Shared
    continues: Labels  # of each new cluster: the old one that goes on as it
    places: Labels  # of each old cluster: the new one that goes on as it or has most of its rows

    @property
    def born(self) -> list[int]:
        """New clusters that no old one goes on as, and that are no part of one."""
        after = self.shared.swapped()
        return _Left.of(after, after.sizes(), self.continues == NO_CLUSTER).alone

    def nearest(self, old_ids: Integers) -> Integers:
        """An id for each new cluster: of the old one that goes on, or else that most of its rows were in."""
        main, _ = self.shared.swapped().nearest()
        old = np.where(self.continues == NO_CLUSTER, main, self.continues)
        return np.append(old_ids, NO_CLUSTER)[old]

    def events(
        self,
        old_ids: Integers,
        new_ids: Integers,
        row: int,
        *,
        returned: Collection[int] = (),
    ) -> list[Event]:
        """What happened, given the ids of both; ordered by kind, then by id.

        New clusters whose ids are in `returned` came back, instead of being born or a part of another.
        """
        before, after = self.shared.sizes(), self.shared.swapped().sizes()
        goes_on = np.full(len(before), NO_CLUSTER)
        goes_on[self.continues[self.continues != NO_CLUSTER]] = np.flatnonzero(self.continues != NO_CLUSTER)
        back = np.isin(new_ids, np.array(list(returned), dtype=np.int64))
        fresh = _Left.of(self.shared.swapped(), after, (self.continues == NO_CLUSTER) & ~back)
        ended = _Left.of(self.shared, before, goes_on == NO_CLUSTER)
        found = [
            Event("returned", row, int(new_ids[new]), (), 0, int(after[new]))
            for new in np.flatnonzero(back & (self.continues == NO_CLUSTER)).tolist()
        ]
        for new in fresh.alone:
            found.append(Event("born", row, int(new_ids[new]), (), 0, int(after[new]), (), fresh.sure(new)))
        for old in ended.alone:
            found.append(Event("died", row, int(old_ids[old]), (), int(before[old]), 0, (), ended.sure(old)))
        for old, parts in fresh.by_main.items():
            n_left = int(after[goes_on[old]]) if goes_on[old] != NO_CLUSTER else 0
            others = tuple(sorted(int(new_ids[part]) for part in parts))
            sizes, sure = (int(before[old]), n_left), fresh.share(parts)
            found.append(Event("split", row, int(old_ids[old]), others, *sizes, (), sure))
        for new, parts in ended.by_main.items():
            main = self.continues[new]
            n_before = int(before[main]) if main != NO_CLUSTER else 0
            others = tuple(sorted(int(old_ids[part]) for part in parts))
            sizes, sure = (n_before, int(after[new])), ended.share(parts)
            found.append(Event("merged", row, int(new_ids[new]), others, *sizes, (), sure))
        return sorted(found, key=lambda event: (event.what, event.cluster))


@dataclass(frozen=True)
class _Left:
    """Clusters without a counterpart: those with most rows in one other cluster, and the rest."""

    by_main: dict[int, list[int]]  # by that cluster
    alone: list[int]
    rows: Integers  # of each cluster, in the other that has most
    sizes: Integers

    @classmethod
    def of(cls, shared: Shared, sizes: Integers, left: Labels) -> _Left:
        main, rows = shared.nearest()
        by_main, alone = dict[int, list[int]](), list[int]()
        for cluster in np.flatnonzero(left).tolist():
            if 2 * rows[cluster] > sizes[cluster]:
                by_main.setdefault(int(main[cluster]), []).append(cluster)
            else:
                alone.append(cluster)
        return cls(by_main, alone, rows, sizes)

    def sure(self, cluster: int) -> float:
        """Share of its rows that are in no one other cluster."""
        return 1.0 - float(self.rows[cluster] / max(self.sizes[cluster], 1))

    def share(self, clusters: list[int]) -> float:
        """Share of the rows of some clusters that are in the one other."""
        return float(self.rows[clusters].sum() / self.sizes[clusters].sum())


def matched(old: Labels, new: Labels, n_old: int, n_new: int) -> Matching:
    """Match clusters by old and new labels of the same rows; -1 is a row without a cluster.

    >>> import numpy as np
    >>> matched(np.array([1, 1, 0, 0]), np.array([0, 0, 1, 1]), 2, 2).continues
    array([1, 0], dtype=int32)
    """
    return matching(Shared.of(old, new, n_old, n_new))


def matching(shared: Shared, *, sure: bool = True) -> Matching:
    """Match clusters by the rows that they share; `sure`: only by enough of them."""
    pairs, before, after = shared.inner(), shared.sizes(), shared.swapped().sizes()
    compared = pairs.sizes()[pairs.old], pairs.swapped().sizes()[pairs.new]
    part = np.maximum(np.maximum(*compared), np.minimum(before[pairs.old], after[pairs.new]))
    enough = (2 * pairs.rows > np.minimum(*compared)) & (LEAST_PART * pairs.rows >= part)
    chosen = np.flatnonzero((enough | (not sure)) & _assigned(pairs))
    continues = np.full(shared.n_new, NO_CLUSTER, dtype=np.int32)
    continues[pairs.new[chosen]] = pairs.old[chosen]
    places, _ = shared.nearest()
    left = np.zeros(shared.n_old, dtype=np.int64)
    np.add.at(left, pairs.old, pairs.rows)
    places[2 * left < before] = NO_CLUSTER  # most of its rows have no cluster now
    places[pairs.old[chosen]] = pairs.new[chosen]
    return Matching(shared, continues, places)


def _assigned(pairs: Shared) -> Labels:
    """Say which pairs are in the one-to-one assignment that keeps most rows."""
    if max(pairs.n_old, pairs.n_new) <= MOST:
        table = np.zeros((pairs.n_old, pairs.n_new), dtype=np.int64)
        table[pairs.old, pairs.new] = pairs.rows
        chosen = np.zeros(table.shape, dtype=bool)
        chosen[linear_sum_assignment(-table)] = True
        return np.asarray(chosen[pairs.old, pairs.new])
    found, taken = np.zeros(len(pairs.rows), dtype=bool), (set[int](), set[int]())
    for pair in np.lexsort((pairs.new, pairs.old, -pairs.rows)).tolist():
        old, new = int(pairs.old[pair]), int(pairs.new[pair])
        if old not in taken[0] and new not in taken[1]:
            taken[0].add(old)
            taken[1].add(new)
            found[pair] = True
    return found


def numbers_of(matching: Matching) -> Labels:
    """Numbers for the new clusters: that of the cluster that goes on, if there is one, or the lowest free."""
    n_new = len(matching.continues)
    numbers = np.where(matching.continues < n_new, matching.continues, np.int32(NO_CLUSTER))
    numbers[numbers < 0] = np.setdiff1d(np.arange(n_new), numbers[numbers >= 0])
    found: Labels = numbers.astype(np.int32)
    return found


def renumbered(matching: Matching, numbers: Labels) -> Matching:
    """The same matching with these numbers for the new clusters."""
    shared, n_new = matching.shared, len(numbers)
    new = np.append(numbers, n_new).astype(np.int64)[shared.new]
    places = np.append(numbers, np.int32(NO_CLUSTER))[matching.places]
    order = np.lexsort((new, shared.old))
    table = Shared(shared.old[order], new[order], shared.rows[order], shared.n_old, n_new)
    return Matching(table, matching.continues[np.argsort(numbers)], places)
