"""Clusters of two labelings of the same rows, matched: which go on, and what happened to the others.

A cluster goes on as the one that it shares most rows with, one to one (the assignment that keeps most rows),
if they share enough: half of the smaller of the two, and a part of the larger. What is left is told by where
most of its rows are in the other labeling:

    new, most rows without a cluster before    born
    new, otherwise                             split from the cluster that most of its rows were in
    old, no rows left or most without one      died
    old, otherwise                             merged into the cluster that most of its rows are in
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from viewpass.kernels.grid import Integers, Labels
from viewpass.streams.events import BORN, DIED, MERGED, RETURNED, SPLIT, Event

LEAST_PART = 20  # at least one row in so many of the larger cluster is shared by the smaller that goes on
GONE = -1


@dataclass(frozen=True)
class Matching:
    """Clusters of two labelings, by number; -1 where there is none."""

    shared: Integers  # (n_old + 1, n_new + 1) rows in both; last: without a cluster
    continues: Labels  # of each new cluster: the old one that goes on as it
    places: Labels  # of each old cluster: the new one that most of its rows are in

    @property
    def born(self) -> list[int]:
        """New clusters that no old one goes on as, and most of whose rows had none before."""
        loose, sizes = self.shared[-1, :-1], self.shared.sum(axis=0)[:-1]
        found: list[int] = np.flatnonzero(
            (self.continues == GONE) & (2 * loose >= sizes) & (sizes > 0)
        ).tolist()
        return found

    def events(
        self,
        old_ids: Integers,
        new_ids: Integers,
        row: int,
        time: str | None = None,
        returned: frozenset[int] = frozenset(),
    ) -> list[Event]:
        """What happened, given the ids of both; ordered by kind, then by id.

        `returned`: ids of new clusters that had ended before.
        """
        shared, n_old = self.shared, len(self.places)
        before, after = shared.sum(axis=1), shared.sum(axis=0)
        splits, mergers, found = dict[int, list[int]](), dict[int, list[int]](), list[Event]()
        for new in np.flatnonzero(self.continues == GONE).tolist():
            source = int(shared[:n_old, new].argmax()) if n_old else 0
            if int(new_ids[new]) in returned:
                found.append(Event(RETURNED, row, int(new_ids[new]), (), 0, int(after[new]), (), 1.0, time))
            elif not n_old or 2 * shared[n_old, new] >= after[new]:
                sure = float(shared[n_old, new] / max(after[new], 1))
                found.append(Event(BORN, row, int(new_ids[new]), (), 0, int(after[new]), (), sure, time))
            else:
                splits.setdefault(source, []).append(new)
        for old in np.flatnonzero(~np.isin(np.arange(n_old), self.continues)).tolist():
            place = int(self.places[old])
            if place == GONE:
                sure = float(shared[old, -1] / max(before[old], 1)) if before[old] else 1.0
                found.append(Event(DIED, row, int(old_ids[old]), (), int(before[old]), 0, (), sure, time))
            else:
                mergers.setdefault(place, []).append(old)
        for old, parts in splits.items():
            goes_on = np.flatnonzero(self.continues == old)
            n_left = int(after[goes_on].sum())
            sure = float(shared[old, parts].sum() / max(after[parts].sum(), 1))
            others = tuple(sorted(int(new_ids[part]) for part in parts))
            given = row, int(old_ids[old]), others, int(before[old]), n_left, (), sure, time
            found.append(Event(SPLIT, *given))
        for new, ended in mergers.items():
            sure = float(shared[ended, new].sum() / max(before[ended].sum(), 1))
            others = tuple(sorted(int(old_ids[old]) for old in ended))
            main = int(self.continues[new])
            n_before = int(before[main]) if main != GONE else 0
            given = row, int(new_ids[new]), others, n_before, int(after[new]), (), sure, time
            found.append(Event(MERGED, *given))
        return sorted(found, key=lambda event: (event.what, event.cluster))


def matched(old: Labels, new: Labels, n_old: int, n_new: int) -> Matching:
    """Match clusters by old and new labels of the same rows; -1 is a row without a cluster.

    >>> import numpy as np
    >>> matched(np.array([1, 1, 0, 0]), np.array([0, 0, 1, 1]), 2, 2).continues
    array([1, 0], dtype=int32)
    """
    shared = np.zeros((n_old + 1, n_new + 1), dtype=np.int64)
    np.add.at(shared, (old, new), 1)  # -1: the last
    shared[-1, -1] = 0
    inner, before, after = shared[:-1, :-1], shared.sum(axis=1)[:-1], shared.sum(axis=0)[:-1]
    rows, columns = linear_sum_assignment(-inner)
    both, smaller = inner[rows, columns], np.minimum(before[rows], after[columns])
    larger = np.maximum(before[rows], after[columns])
    enough = (both > 0) & (2 * both >= smaller) & (LEAST_PART * both >= larger)
    continues, places = np.full(n_new, GONE, dtype=np.int32), np.full(n_old, GONE, dtype=np.int32)
    continues[columns[enough]] = rows[enough]
    if n_new:
        nearest = inner.argmax(axis=1).astype(np.int32)
        left = (before > 0) & (2 * shared[:-1, -1] <= before) & (inner.max(axis=1) > 0)
        places[left] = nearest[left]
    places[rows[enough]] = columns[enough]
    return Matching(shared, continues, places)


def numbers_of(matching: Matching) -> Labels:
    """Numbers for the new clusters: that of the cluster that goes on, if there is one, or the lowest free."""
    n_new = len(matching.continues)
    numbers = np.where(matching.continues < n_new, matching.continues, np.int32(GONE))
    numbers[numbers < 0] = np.setdiff1d(np.arange(n_new), numbers[numbers >= 0])
    found: Labels = numbers.astype(np.int32)
    return found


def renumbered(matching: Matching, numbers: Labels) -> Matching:
    """The same matching with these numbers for the new clusters."""
    order = np.argsort(numbers)
    places = np.append(numbers, np.int32(GONE))[matching.places]
    return Matching(matching.shared[:, [*order, len(order)]], matching.continues[order], places)
