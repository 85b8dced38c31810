"""What became of the clusters of one labeling in the next one, and the ids that they keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from viewpass.errors import DataError, printable
from viewpass.kernels.grid import Array, Integers
from viewpass.streams.events import NO_CLUSTER, Event
from viewpass.streams.matching import Matching, Shared, matching

Label: TypeAlias = int | str
SHOWN = 40  # events and clusters in the text


@dataclass(frozen=True)
class Labeling:
    """Rows and their clusters.

    `rows` are the ids of the rows, or their numbers. `clusters` are places in `names`, -1 for a row without a
    cluster; `ids` are those that the clusters have already.
    """

    rows: Array
    clusters: Integers
    names: tuple[Label, ...]
    ids: Integers
    numbered: bool  # rows have no ids: their number is what they are
    next_id: int
    ended: Mapping[int, Array] = field(default_factory=dict)  # rows that clusters had when they ended, by id


@dataclass(frozen=True)
class Track:
    """What became of clusters, and the ids that they keep.

    Attributes
    ----------
    ids : dict
        The lasting id of each cluster of `after`, by its label there. A cluster that goes on keeps its id,
        one that comes back gets the id that it had, and a new one gets an id that no cluster has had.
    old_ids : dict
        The ids of the clusters of `before`: their labels, where these are whole numbers and not negative.
    events : tuple of Event
        What happened: "born", "split", "merged", "died" and "returned".
    row_ids : (n,) array of int64
        The lasting id of the cluster of each row of `after`; -1 for a row without one.
    rows : (n,) array
        The ids of these rows, or their numbers.
    n_rows, n_moved : int
        Rows in both labelings, and those among them that have another cluster (or none any more).
    n_only_before, n_only_after : int
        Rows in one labeling only.
    sizes : dict
        Rows before and after, by id.
    """

    ids: dict[Label, int]
    old_ids: dict[Label, int]
    events: tuple[Event, ...]
    row_ids: Integers
    rows: Array
    n_rows: int
    n_moved: int
    n_only_before: int
    n_only_after: int
    sizes: dict[int, tuple[int, int]]
    numbered: bool
    next_id: int
    ended: Mapping[int, Array]

    def labeling(self) -> Labeling:
        """The clusters of `after` under their lasting ids, to be tracked further."""
        ids = np.array(sorted(self.ids.values()), dtype=np.int64)
        clusters = np.where(self.row_ids == NO_CLUSTER, NO_CLUSTER, np.searchsorted(ids, self.row_ids))
        names = tuple(ids.tolist())
        return Labeling(self.rows, clusters, names, ids, self.numbered, self.next_id, self.ended)

    def as_dict(self) -> dict[str, Any]:
        """Ids, events and counts as plain values, for JSON."""
        return {
            "rows": self.n_rows,
            "moved": self.n_moved,
            "only_before": self.n_only_before,
            "only_after": self.n_only_after,
            "ids": [{"label": label, "id": id} for label, id in self.ids.items()],
            "events": [event.as_dict() for event in self.events],
        }

    def __str__(self) -> str:
        """Say it in words."""
        share = self.n_moved / max(self.n_rows, 1)
        only = f", {self.n_only_before:,} only before, {self.n_only_after:,} only after"
        lines = [
            f"{self.n_rows:,} rows in both{only if self.n_only_before or self.n_only_after else ''}; "
            f"{self.n_moved:,} ({share:.1%}) changed their cluster.",
            f"{len(set(self.ids.values()) & set(self.old_ids.values()))} clusters go on."
            + ("" if self.events else " Nothing else happened."),
        ]
        lines += [f"{event.words()}, {event.certainty:.0%} sure" for event in self.events[:SHOWN]]
        if len(self.events) > SHOWN:
            lines.append(f"and {len(self.events) - SHOWN:,} more (events has all)")
        others = [(label, id) for label, id in self.ids.items() if label != id]
        if others:
            lines.append("ids of clusters that have another label after:")
            lines += [f"  {printable(label)} is {id}" for label, id in others[:SHOWN]]
        if len(others) > SHOWN:
            lines.append(f"  and {len(others) - SHOWN:,} more (ids has all)")
        return "\n".join(lines)


def tracked(before: Labeling, after: Labeling) -> Track:
    """Match the clusters of two labelings, and give those of the second their lasting ids."""
    places = _places(before.rows, after.rows)
    both = places != NO_CLUSTER
    n_rows = int(both.sum())
    if not n_rows:
        first = [printable(repr(each.rows[0])) if len(each.rows) else "none" for each in (before, after)]
        raise DataError(
            f"no row is in both labelings, so there is nothing to match their clusters by. Ids of rows are "
            f"such as {first[0]} before and {first[1]} after."
        )
    stayed = np.zeros(len(before.rows), dtype=bool)
    stayed[places[both]] = True
    none = np.full(int((~both).sum()), NO_CLUSTER, dtype=np.int64)
    old = np.concatenate((before.clusters[places[both]], none, before.clusters[~stayed]))
    new = np.concatenate(
        (after.clusters[both], after.clusters[~both], np.full(int((~stayed).sum()), NO_CLUSTER))
    )
    found = matching(Shared.of(old, new, len(before.names), len(after.names)))
    back = _returned(before.ended, after, found)
    ids, next_id = _ids(found, before, back)
    events = found.events(before.ids, ids, n_rows, returned=back.values())
    row_ids = _by_row(ids, after.clusters)
    was, now = _by_row(before.ids, before.clusters)[places[both]], row_ids[both]
    sizes = dict.fromkeys([*before.ids.tolist(), *ids.tolist()], (0, 0))
    for id, size in zip(before.ids.tolist(), found.shared.sizes().tolist(), strict=True):
        sizes[id] = size, 0
    for id, size in zip(ids.tolist(), found.shared.swapped().sizes().tolist(), strict=True):
        sizes[id] = sizes[id][0], size
    return Track(
        ids=dict(zip(after.names, ids.tolist(), strict=True)),
        old_ids=dict(zip(before.names, before.ids.tolist(), strict=True)),
        events=tuple(events),
        row_ids=row_ids,
        rows=after.rows,
        n_rows=n_rows,
        n_moved=int(((was != now) & (was != NO_CLUSTER)).sum()),
        n_only_before=int((~stayed).sum()),
        n_only_after=len(none),
        sizes=sizes,
        numbered=before.numbered,
        next_id=next_id,
        ended=_ended(before, ids),
    )


def _places(before: Array, after: Array) -> Integers:
    """The place before of each row after; -1 where it was not there."""
    known = {row: place for place, row in enumerate(before.tolist())}
    return np.fromiter(
        (known.get(row, NO_CLUSTER) for row in after.tolist()), dtype=np.int64, count=len(after)
    )


def _returned(ended: Mapping[int, Array], after: Labeling, found: Matching) -> dict[int, int]:
    """Ids of ended clusters that go on as new ones without a counterpart, by number of the new one."""
    fresh = found.continues == NO_CLUSTER
    if not ended or not fresh.any():
        return {}
    ids = list(ended)
    lost = {row: place for place, id in enumerate(ids) for row in ended[id].tolist()}  # the last that ended
    was = np.fromiter((lost.get(row, NO_CLUSTER) for row in after.rows.tolist()), np.int64, len(after.rows))
    now = np.where((after.clusters != NO_CLUSTER) & fresh[after.clusters], after.clusters, NO_CLUSTER)
    continues = matching(Shared.of(was, now, len(ids), len(after.names))).continues
    return {new: ids[old] for new, old in enumerate(continues.tolist()) if old != NO_CLUSTER}


def _ids(found: Matching, before: Labeling, back: dict[int, int]) -> tuple[Integers, int]:
    """Ids of the new clusters, and the next one that no cluster has had."""
    ids, next_id = np.empty(len(found.continues), dtype=np.int64), before.next_id
    for new, old in enumerate(found.continues.tolist()):
        if old != NO_CLUSTER:
            ids[new] = before.ids[old]
        elif new in back:
            ids[new] = back[new]
        else:
            ids[new], next_id = next_id, next_id + 1
    return ids, next_id


def _ended(before: Labeling, ids: Integers) -> dict[int, Array]:
    """Rows that clusters had when they ended; of clusters that are there again, nothing is kept."""
    there = set(ids.tolist())
    ended = {id: rows for id, rows in before.ended.items() if id not in there}
    for place, id in enumerate(before.ids.tolist()):
        if id not in there:
            ended[id] = before.rows[before.clusters == place]
    return ended


def _by_row(ids: Integers, clusters: Integers) -> Integers:
    """The id of each row's cluster."""
    return np.append(ids, NO_CLUSTER)[clusters]
