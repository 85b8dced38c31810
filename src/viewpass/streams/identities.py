"""Ids of clusters: they last over solves, are never given twice, and come back with their cluster.

Of every cluster a few sampled rows are remembered, as they came. Where a new cluster takes most of the rows
that are remembered of one that ended, that one has returned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from viewpass.kernels.grid import Integers, Labels
from viewpass.sample.sample import Sample, taken
from viewpass.streams.events import NO_CLUSTER, Event
from viewpass.streams.matching import Matching
from viewpass.views.chunk import Chunk, Origin, join

PRESENCE = "silent", "sounding"
MOST_EVENTS = 10_000  # the last ones are kept
MOST_SIZES = 256  # points of the timeline
REMEMBERED = 32  # rows per cluster, those with the lowest keys
MOST_ENDED = 64  # clusters that ended and are remembered, the last ones


def no_ids() -> Integers:
    """No cluster."""
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Memory:
    """Sampled rows of clusters, as they came, with the ids of these."""

    chunk: Chunk | None = None
    ids: Integers = field(default_factory=no_ids)

    def updated(self, sample: Sample, ids: Integers) -> Memory:
        """With rows of a sample, whose clusters have these ids (-1: none), in place of those before."""
        assert sample.chunk is not None
        order = np.argsort(ids, kind="stable")  # of each id the lowest keys come first
        places = np.arange(len(ids)) - np.searchsorted(ids[order], ids[order])
        which = np.sort(order[(places < REMEMBERED) & (ids[order] >= 0)])
        ended = np.setdiff1d(self.ids, ids)[-MOST_ENDED:]
        kept = np.flatnonzero(np.isin(self.ids, ended))
        parts = [taken(sample.chunk, which)] if len(which) else []
        if self.chunk is not None and len(kept):
            parts.insert(0, taken(self.chunk, kept))
        chunk = replace(join(parts), origin=Origin()) if parts else None
        return Memory(chunk, np.concatenate([self.ids[kept], ids[which]]))


class Sizes(NamedTuple):
    """Rows that count of each cluster, by id, when so many rows had been read."""

    row: int
    rows: dict[int, int]


@dataclass(frozen=True)
class Identities:
    """The ids of the present clusters, and what happened to clusters so far."""

    ids: Integers = field(default_factory=no_ids)  # of cluster 0, 1, ...
    next_id: int = 0
    events: tuple[Event, ...] = ()
    memory: Memory = field(default_factory=Memory)
    timeline: tuple[Sizes, ...] = ()

    @classmethod
    def first(cls, n_clusters: int) -> Identities:
        """Those of the first clusters: their numbers."""
        return cls(np.arange(n_clusters, dtype=np.int64), n_clusters)

    @property
    def plain(self) -> bool:
        """Whether ids are numbers, and nothing has happened."""
        return not self.events and self.ids.tolist() == list(range(self.next_id))

    def continued(
        self, matching: Matching, recalled: Labels | None, row: int, time: int | None = None
    ) -> Identities:
        """The ids of new clusters; `recalled`: of each remembered row, its new cluster (-1: none)."""
        ids = np.where(matching.continues == NO_CLUSTER, -1, np.append(self.ids, -1)[matching.continues])
        back = self._back(matching, recalled, ids)
        for new, old_id in back.items():
            ids[new] = old_id
        fresh = np.flatnonzero(ids < 0)
        ids[fresh] = self.next_id + np.arange(len(fresh))
        events = matching.events(self.ids, ids, row, returned=frozenset(back.values()))
        return replace(self, ids=ids, next_id=self.next_id + len(fresh)).noted(events, time)

    def emptied(self, before: Integers, after: Integers, row: int, time: int | None) -> Identities:
        """With clusters told that lost their last row or have rows again."""
        found = [
            Event("died" if old else "returned", row, id, (), old, new)
            for id, old, new in zip(self.ids.tolist(), before.tolist(), after.tolist(), strict=True)
            if (old == 0) != (new == 0)
        ]
        return self.noted(found, time)

    @property
    def without_rows(self) -> Identities:
        """The same without the rows remembered of clusters."""
        return replace(self, memory=Memory())

    def counted(self, row: int, sizes: Integers) -> Identities:
        """With the sizes of the clusters; of more than MOST_SIZES every other is left out."""
        rows = dict(zip(self.ids.tolist(), sizes.tolist(), strict=True))
        timeline = (*self.timeline, Sizes(row, rows))
        return replace(self, timeline=timeline[::2] if len(timeline) > MOST_SIZES else timeline)

    def noted(self, events: Sequence[Event], time: int | None) -> Identities:
        """With these events, of this time."""
        timed = tuple(event.at(time) for event in events if not self._known(event))
        return replace(self, events=(*self.events, *timed)[-MOST_EVENTS:]) if timed else self

    def _known(self, event: Event) -> bool:
        """Whether the last of these events about a view says the same."""
        if event.what not in PRESENCE:
            return False
        told = (one for one in reversed(self.events) if one.what in PRESENCE and one.views == event.views)
        last = next(told, None)
        return last is not None and last.what == event.what

    def remembering(self, sample: Sample, labels: Labels) -> Identities:
        """With sampled rows of the present clusters."""
        ids = np.append(self.ids, -1)[labels]
        return replace(self, memory=self.memory.updated(sample, ids))

    def _back(self, matching: Matching, recalled: Labels | None, ids: Integers) -> dict[int, int]:
        """New clusters that take most of the rows remembered of one that had ended, and its id."""
        found = dict[int, int]()
        if recalled is None:
            return found
        living = np.union1d(self.ids, ids)
        for old_id in np.setdiff1d(self.memory.ids, living)[::-1].tolist():
            mine = recalled[self.memory.ids == old_id]
            counts = np.bincount(mine[mine >= 0], minlength=1)
            new = int(counts.argmax())
            if 2 * counts[new] > len(mine) and matching.continues[new] == NO_CLUSTER and new not in found:
                found[new] = old_id
        return found
