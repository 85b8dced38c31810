"""Shards of a chunk (Algorithm 1, Eq. 11-16): workers hold the rows, the coordinator sees only their sums.

Sums are exact, so a chunk cut into shards is the chunk itself, to the bit, in whatever order they report.
`Shard` is the half of the chunk step that needs rows, `Coordinator` the half that needs only their sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from viewpass.core.consensus.soft_assignment import links_of, soft_assignment
from viewpass.core.state.centres import Centres, loss, update
from viewpass.core.state.statistics import Statistics, added
from viewpass.core.step.chunk_step import Rules
from viewpass.core.step.workspace import Workspace
from viewpass.kernels.backend import backend
from viewpass.kernels.grid import STEP, Floats, Integers, Labels, Mask
from viewpass.views.chunk import Schema
from viewpass.views.rows import MeasuredRows


@dataclass(frozen=True)
class Stage:
    """Centres that shares are asked to assign rows by."""

    name: str  # no two different centres of a run have the same
    centres: Centres
    mixed: bool = False  # the centres are anchors, and rows that are first looked at tell their links

    def __sizeof__(self) -> int:
        """Bytes of the centres, by which those who send them judge."""
        return 1000 + sum(0 if u is None else u.nbytes for u in self.centres.values)


@dataclass(frozen=True)
class Tally:
    """What shares report: how their rows change the sums, never the rows. Tallies add up in any order."""

    schema: Schema
    change: Statistics
    touched: Mask  # clusters that rows left or came to
    seen: Mask  # views that some row has
    n_rows: int
    n_seen: int  # rows with a view
    n_moved: int
    links: Integers | None = None  # of anchors

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.schema.merged(other.schema),
            added(self.change, other.change),
            self.touched | other.touched,
            self.seen | other.seen,
            self.n_rows + other.n_rows,
            self.n_seen + other.n_seen,
            self.n_moved + other.n_moved,
            None if self.links is None or other.links is None else self.links + other.links,
        )

    def __getstate__(self) -> dict[str, Any]:
        """Only what changed travels: sums of clusters that no row touched are zero."""
        sums = [steps[self.touched] for steps in self.change.steps]
        return {**self.__dict__, "change": (sums, self.change.flat_counts)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        sums, counts = state["change"]
        change = Statistics(counts.shape[1], [part.shape[1] for part in sums])
        for steps, part in zip(change.steps, sums, strict=True):
            steps[state["touched"]] = part
        change.flat_counts[:] = counts
        self.__dict__.update({**state, "change": change})


class Shard:
    """Some rows of a chunk, and what was decided of them last.

    Every answer depends on the rows and the arguments alone. What was decided last only spares computing
    distances again, so that a share made anew elsewhere answers the same.
    """

    def __init__(self, rows: MeasuredRows, n_threads: int = 1) -> None:
        self.rows = rows
        self.workspace = Workspace(n_threads)
        self._labels: Labels = np.full(rows.n_rows, -1, dtype=np.int32)
        self._shard: Any = None
        self._stage: str | None = None

    def measured(self, n_clusters: int) -> Tally:
        """What the rows are, before anything is decided."""
        self.rows.measure(self.workspace.n_threads)
        return self._tally(self._nothing(n_clusters), np.zeros(n_clusters, dtype=bool), 0)

    def look(self, stage: Stage) -> Tally:
        """New rows under the centres so far (Eq. 15-16)."""
        labels = self.labels(stage)
        change = self._nothing(stage.centres.n_clusters, stage.centres)
        change.move(self.rows, labels, 1, self.workspace.n_threads)
        touched = np.asarray((change.flat_counts > 0).any(axis=0))
        tally = self._tally(change, touched, self.rows.n_rows)
        return replace(tally, links=self.links(stage)) if stage.mixed else tally

    def links(self, stage: Stage) -> Integers:
        """What the anchors have in common by these rows."""
        rows = soft_assignment(self.rows, stage.centres, self.workspace)
        return links_of(rows, stage.centres.n_clusters)

    def follow(self, before: Stage | Labels, after: Stage) -> Tally:
        """How the rows move from where the centres (or labels) before had them to where they belong now."""
        n_threads = self.workspace.n_threads
        if isinstance(before, Stage):
            old = self.labels(before).copy()
            self._stage = None  # until all rows are where they belong
            self._shard.follow(after.centres.handle(), n_threads)
            self._stage = after.name
        else:
            self.rows.measure(n_threads)
            old = np.where(self.rows.n_seen > 0, before, -1).astype(np.int32)
            self.labels(after)
        moved = np.flatnonzero(old != self._labels)
        change = self._nothing(after.centres.n_clusters, after.centres)
        change.move(self.rows, old, -1, n_threads, moved)
        change.move(self.rows, self._labels, 1, n_threads, moved)
        touched = np.zeros(after.centres.n_clusters, dtype=bool)
        touched[old[moved]] = touched[self._labels[moved]] = True
        return self._tally(change, touched, len(moved))

    def labels(self, stage: Stage) -> Labels:
        """Where the rows belong under these centres; good until the next question."""
        while self._stage != stage.name:
            kernels = backend(self.rows.reference)
            self._shard = kernels.Shard(self.rows.handle, self._labels)
            worst = self._shard.assign(stage.centres.handle(), self.workspace.n_threads)
            if self.rows.measured or self.rows.accept(worst):
                self._stage = stage.name
        return self._labels

    def row_sums(self) -> Statistics:
        """The sum of all rows, as if there were one cluster: for the mean of the chunk."""
        self.rows.measure(self.workspace.n_threads)
        total = self._nothing(1)
        total.move(self.rows, np.zeros(self.rows.n_rows, dtype=np.int32), 1)
        return total

    def _nothing(self, n_clusters: int, centres: Centres | None = None) -> Statistics:
        widths = self.rows.chunk.schema.widths
        known = [width or 0 for width in widths] if centres is None else centres.widths(widths)
        return Statistics(n_clusters, known)

    def _tally(self, change: Statistics, touched: Mask, n_moved: int) -> Tally:
        rows = self.rows
        n_seen = int((rows.n_seen > 0).sum())
        seen = np.asarray(rows.inverse.any(axis=1))
        return Tally(rows.chunk.schema, change, touched, seen, rows.n_rows, n_seen, n_moved)


class Coordinator:
    """The inner iterations of a chunk as whoever has the sums sees them: `update`, ask the shares, `take`."""

    def __init__(self, total: Statistics, centres: Centres, seen: Mask, rules: Rules) -> None:
        self.total, self.centres = total, centres
        self.loss = 0.0
        self.n_iter = 0
        self._seen, self._rules = seen, rules
        self._changed: Mask = np.ones(total.n_clusters, dtype=bool)
        self._last_loss: float | None = None

    def wants_mean(self) -> bool:
        """Whether the next update fills a centre with the mean of the chunk."""
        if self._rules.fill is None:
            return False
        for v in np.flatnonzero(self._seen):
            empty = self.total.counts[v] == 0
            if self.centres.values[v] is None and empty.any():
                return True
            if self.centres.values[v] is not None and (self._changed & empty & ~self.centres.known[v]).any():
                return True
        return False

    def update(self, means: Sequence[Floats | None]) -> None:
        """Eq. 13; `means` of the views fill clusters without rows that never had a centre."""
        self.n_iter += 1
        given = self.total, self._seen, self.centres, self._changed, self._rules.alpha
        self.centres = update(*given, fill=self._rules.fill is not None, means=means)

    def take(self, tally: Tally) -> bool:
        """Add what the shares report; says whether the chunk is settled."""
        self.total.flat += tally.change.widened(self.total.widths).flat
        self.total.flat_counts += tally.change.flat_counts
        self._changed = tally.touched
        self.loss = loss(self.centres, self.total, self._rules.alpha, tally.touched)
        last, self._last_loss = self._last_loss, self.loss
        if not tally.touched.any() or self.n_iter >= self._rules.max_iter:
            return True
        return last is not None and abs(self.loss - last) < self._rules.tol * abs(last)


def means_of(sums: Sequence[Statistics]) -> list[Floats | None]:
    """The mean of a chunk's observed rows in each view, from the sums of its shares."""
    total = reduce(added, sums)
    return [
        steps[0] * STEP / int(counts[0]) if counts[0] else None
        for steps, counts in zip(total.steps, total.counts, strict=True)
    ]
