"""Shards: the rows of a chunk that one worker holds, and the sums it reports of them (Eq. 11-16).

Sums are exact, so a chunk cut into shards gives the same bits as the whole chunk, in whatever order the
shards report.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from viewpass.core.consensus.births import Candidates, candidates
from viewpass.core.consensus.soft_assignment import SoftAssignment, links_of, soft_assignment
from viewpass.core.state.centres import Centres
from viewpass.core.state.lineage import Lineage
from viewpass.core.state.row_counts import RowCounts
from viewpass.core.state.sample import Sample, lowest
from viewpass.core.state.statistics import Statistics, added
from viewpass.core.step.workspace import Workspace
from viewpass.kernels.backend import backend
from viewpass.kernels.grid import Labels, Links, Mask
from viewpass.views.chunk import Schema
from viewpass.views.rows import MeasuredRows


@dataclass(frozen=True)
class Stage:
    """Centres that shards assign their rows by."""

    name: str  # unique within a run
    centres: Centres
    linked: bool = False  # the centres are anchors: new rows also report their links
    searched: bool = False  # rows meet the anchors by groups
    lineage: Lineage | None = None  # of anchors that are born and merge: what rows are recorded under

    @property
    def names(self) -> Labels | None:
        """What rows of each centre are recorded under; None: its number."""
        return None if self.lineage is None else self.lineage.names

    def places(self, recorded: Labels) -> Labels:
        """The centres of rows, given what they were recorded under."""
        return recorded if self.lineage is None else self.lineage.places(recorded)

    def __sizeof__(self) -> int:
        """Bytes of the centres: Dask decides by them how to send this."""
        return 1000 + sum(0 if u is None else u.nbytes for u in self.centres.values)


@dataclass(frozen=True)
class Tally:
    """How the rows of shards change the sums: all that leaves a worker. Tallies add up in any order."""

    schema: Schema
    change: Statistics
    touched: Mask  # clusters that rows left or joined
    seen: Mask  # views observed in some row
    read: RowCounts
    n_moved: int
    links: Links | None = None  # of the anchor graph

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.schema.merged(other.schema),
            added(self.change, other.change),
            self.touched | other.touched,
            self.seen | other.seen,
            self.read + other.read,
            self.n_moved + other.n_moved,
            None if self.links is None or other.links is None else self.links + other.links,
        )

    def __getstate__(self) -> dict[str, Any]:
        """Send only the clusters that rows touched: the other sums are zero."""
        return {**self.__dict__, "change": _packed(self.change, self.touched)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({**state, "change": _unpacked(state["change"], state["touched"])})


def _packed(change: Statistics, touched: Mask) -> tuple[Any, ...]:
    unmapped = None if change.unmapped is None else _packed(change.unmapped, touched)
    sums = [steps[touched] for steps in change.steps]
    return sums, change.flat_counts, change.kept, unmapped


def _unpacked(packed: tuple[Any, ...], touched: Mask) -> Statistics:
    sums, counts, kept, unmapped = packed
    change = Statistics(counts.shape[1], [part.shape[1] for part in sums])
    for steps, part in zip(change.steps, sums, strict=True):
        steps[touched] = part
    change.flat_counts[:] = counts
    change.kept = kept
    change.unmapped = None if unmapped is None else _unpacked(unmapped, touched)
    return change


class Shard:
    """Some rows of a chunk, and how they were assigned last.

    Every result depends on the rows and the arguments alone. The last assignment only saves distances:
    a shard made again on another worker gives the same results.
    """

    def __init__(self, rows: MeasuredRows, n_threads: int = 1) -> None:
        self.rows = rows
        self.workspace = Workspace(n_threads)
        self._labels: Labels = np.full(rows.n_rows, -1, dtype=np.int32)
        self._shard: Any = None
        self._stage: str | None = None
        self._mixed: tuple[str, SoftAssignment] | None = None

    def measured(self, n_clusters: int) -> Tally:
        """Count the rows and views, before anything is assigned."""
        self.rows.measure(self.workspace.n_threads)
        return self._tally(self._no_rows(n_clusters), np.zeros(n_clusters, dtype=bool), 0)

    def assign(self, stage: Stage) -> Tally:
        """Assign new rows to the centres so far (Eq. 15-16)."""
        labels = self.labels(stage)
        change = self._no_rows(stage.centres.n_clusters, stage.centres)
        change.move(self.rows, labels, 1, self.workspace.n_threads)
        touched = np.asarray((change.flat_counts > 0).any(axis=0))
        links = self.links(stage) if stage.linked else None
        tally = self._tally(change, touched, self.rows.n_rows)
        return replace(tally, links=links, read=RowCounts.of(self.rows))

    def candidates(self, stage: Stage, start: int) -> Candidates:
        """Rows that may open an anchor; the first row is number `start` of the data."""
        return candidates(self.rows.measure(self.workspace.n_threads), start, stage.centres)

    def sampled(self, most: int, limit: int) -> Sample:
        """The rows that belong to the sample of the stream, as far as these rows tell."""
        return lowest(self.rows.measure(self.workspace.n_threads), most, limit)

    def links(self, stage: Stage) -> Links:
        """Edge weights of the anchor graph from these rows."""
        return links_of(self._soft(stage), stage.centres.n_clusters)

    def _soft(self, stage: Stage) -> SoftAssignment:
        """The soft assignment of the rows to anchors."""
        if self._mixed is None or self._mixed[0] != stage.name:
            self._mixed = stage.name, soft_assignment(self.rows, stage.centres, self.workspace)
        return self._mixed[1]

    def follow(self, before: Stage | Labels, after: Stage) -> Tally:
        """Reassign the rows; reports the moves from the assignment (or the labels) before."""
        n_threads = self.workspace.n_threads
        if isinstance(before, Stage):
            old = self.labels(before).copy()
            self._stage = None  # until all rows are reassigned
            self._shard.follow(after.centres.handle(), n_threads)
            self._stage = after.name
        else:
            self.rows.measure(n_threads)
            old = np.where(self.rows.n_seen > 0, after.places(before), -1).astype(np.int32)
            self.labels(after)
        moved = np.flatnonzero(old != self._labels)
        change = self._no_rows(after.centres.n_clusters, after.centres)
        change.move(self.rows, old, -1, n_threads, moved)
        change.move(self.rows, self._labels, 1, n_threads, moved)
        touched = np.zeros(after.centres.n_clusters, dtype=bool)
        touched[old[moved]] = touched[self._labels[moved]] = True
        return self._tally(change, touched, len(moved))

    def labels(self, stage: Stage) -> Labels:
        """The labels under these centres; valid until the next call."""
        if stage.searched and self._stage != stage.name:
            self._labels, self._stage = self._soft(stage).labels, stage.name
        while self._stage != stage.name:
            kernels = backend(self.rows.reference)
            self._shard = kernels.Shard(self.rows.handle, self._labels)
            worst = self._shard.assign(stage.centres.handle(), self.workspace.n_threads)
            if self.rows.measured or self.rows.accept(worst):
                self._stage = stage.name
        return self._labels

    def row_sums(self) -> Statistics:
        """The sum of all rows, as if they were one cluster: for the mean of the chunk."""
        self.rows.measure(self.workspace.n_threads)
        total = self._no_rows(1)
        total.move(self.rows, np.zeros(self.rows.n_rows, dtype=np.int32), 1)
        return total

    def _no_rows(self, n_clusters: int, centres: Centres | None = None) -> Statistics:
        rows = self.rows
        made = Statistics(n_clusters, rows.widths if centres is None else centres.widths(rows.widths))
        if rows.unmapped is not None:
            made.unmapped = Statistics(n_clusters, rows.unmapped.widths)
        return made

    def _tally(self, change: Statistics, touched: Mask, n_moved: int) -> Tally:
        rows = self.rows
        read = RowCounts(rows.n_rows, int((rows.n_seen == 0).sum()))
        seen = np.asarray(rows.inverse.any(axis=1))
        return Tally(rows.chunk.schema, change, touched, seen, read, n_moved)
