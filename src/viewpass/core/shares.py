"""A chunk step (Algorithm 1, Eq. 11-16) in shares: those who hold rows look at them, a lead sees sums alone.

Sums are exact, so a chunk cut into shares is the chunk itself, to the bit, in whatever order the shares
report: `Share` is the half of `step.settle` that needs rows, `Lead` the half that needs only their sums.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from viewpass.core import centres as centre_rules
from viewpass.core.assign import Decision, Workspace, assign, assign_and_add, look_again
from viewpass.core.bounds import doubtful_rows
from viewpass.core.centres import Centres, Filling
from viewpass.core.links import first_mixture, links_of, mixture_of
from viewpass.core.loss import loss
from viewpass.core.statistics import Statistics
from viewpass.core.step import Rules, move_rows
from viewpass.kernels.grid import STEP, Floats, Integers, Labels, Mask
from viewpass.views.chunk import Schema
from viewpass.views.rows import MeasuredRows


@dataclass(frozen=True)
class Stage:
    """Centres that shares are asked to look by; `moves` is how far they came from those before."""

    name: str  # no two different centres of a run have the same
    centres: Centres
    moves: Floats | None = None
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


class Share:
    """Some rows of a chunk, and what was decided of them last.

    Every answer depends on the rows and the arguments alone. What was decided last only spares looking
    again, so that a share made anew elsewhere answers the same.
    """

    def __init__(self, rows: MeasuredRows, n_threads: int = 1) -> None:
        self.rows = rows
        self.workspace = Workspace(n_threads)
        self._decision: Decision | None = None
        self._stage: str | None = None

    def measured(self, n_clusters: int) -> Tally:
        """What the rows are, before anything is decided."""
        self.rows.measure(self.workspace.n_threads)
        return self._tally(self._nothing(n_clusters), np.zeros(n_clusters, dtype=bool), 0)

    def look(self, stage: Stage) -> Tally:
        """New rows under the centres so far (Eq. 15-16)."""
        decision, change = assign_and_add(
            *(self.rows, stage.centres, self._nothing(stage.centres.n_clusters, stage.centres)),
            self.workspace,
            keep=True,
            mixed=stage.mixed,
        )
        assert change is not None
        self._decision, self._stage = decision, stage.name
        touched = np.asarray((change.flat_counts > 0).any(axis=0))
        tally = self._tally(change, touched, self.rows.n_rows)
        if not stage.mixed:
            return tally
        rows = first_mixture(self.rows, stage.centres, decision, self.workspace)
        return replace(tally, links=links_of(rows, stage.centres.n_clusters))

    def links(self, stage: Stage) -> Integers:
        """What the anchors have in common by these rows."""
        rows = mixture_of(self.rows, stage.centres, self.workspace)
        return links_of(rows, stage.centres.n_clusters)

    def follow(self, before: Stage | Labels, after: Stage) -> Tally:
        """How the rows move from where the centres (or labels) before had them to where they belong now."""
        if isinstance(before, Stage):
            decision, known = self._decided(before), before.centres
        else:
            decision, known = self._given(before, after.centres.n_clusters), None
        old = decision.labels.copy()
        self._stage = None  # until all rows are where they belong
        if known is None or after.moves is None:
            decision = self._decided(after)
        else:
            doubtful = doubtful_rows(self.rows, decision, known, after.centres, after.moves)
            moved = np.asarray((after.moves > 0).any(axis=0))
            look_again(self.rows, doubtful, after.centres, moved, decision, self.workspace)
        self._decision, self._stage = decision, after.name
        change = self._nothing(after.centres.n_clusters, after.centres)
        touched = move_rows(self.rows, change, old, decision.labels)
        return self._tally(change, touched, int((old != decision.labels).sum()))

    def labels(self, stage: Stage) -> Labels:
        """Where the rows belong under these centres."""
        return self._decided(stage).labels

    def row_sums(self) -> Statistics:
        """The sum of all rows, as if there were one cluster: for the mean of the chunk."""
        self.rows.measure(self.workspace.n_threads)
        total = self._nothing(1)
        total.move(self.rows, np.arange(self.rows.n_rows), np.zeros(self.rows.n_rows, dtype=np.int32), 1)
        return total

    def _decided(self, stage: Stage) -> Decision:
        if self._decision is None or self._stage != stage.name:
            self._decision = assign(self.rows, stage.centres, self.workspace, keep=True)
            self._stage = stage.name
        return self._decision

    def _given(self, labels: Labels, n_clusters: int) -> Decision:
        self.rows.measure(self.workspace.n_threads)
        decision = Decision(self.rows.n_rows, n_clusters)
        decision.labels[:] = np.where(self.rows.n_seen > 0, labels, -1)
        return decision

    def _nothing(self, n_clusters: int, centres: Centres | None = None) -> Statistics:
        widths = self.rows.chunk.schema.widths
        known = [width or 0 for width in widths] if centres is None else centres.widths(widths)
        return Statistics(n_clusters, known)

    def _tally(self, change: Statistics, touched: Mask, n_moved: int) -> Tally:
        rows = self.rows
        n_seen = int((rows.n_seen > 0).sum())
        seen = np.asarray(rows.inverse.any(axis=1))
        return Tally(rows.chunk.schema, change, touched, seen, rows.n_rows, n_seen, n_moved)


class Lead:
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
            before = self.centres.views[v]
            empty = self.total.counts[v] == 0
            if before is None and empty.any():
                return True
            if before is not None and (self._changed & empty & ~self.centres.known[v]).any():
                return True
        return False

    def update(self, mean: Callable[[int], Floats], n_threads: int = 1) -> Floats:
        """Eq. 13; gives how far the centres moved."""
        self.n_iter += 1
        filling = Filling(self._rules.fill, False, mean)
        self.centres, moves = centre_rules.update(
            *(self.total, self._seen, self.centres, self._changed, self._rules.alpha, filling, n_threads)
        )
        return moves

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


def added(one: Statistics, other: Statistics) -> Statistics:
    """The sum of both; a view that only one of them knows is as wide as there."""
    widths = [max(pair) for pair in zip(one.widths, other.widths, strict=True)]
    return one.widened(widths) + other.widened(widths)


def mean_of(sums: Sequence[Statistics]) -> Callable[[int], Floats]:
    """The mean of a chunk's observed rows by view, from the sums of its shares."""
    total = reduce(added, sums)
    return lambda v: total.steps[v][0] * STEP / int(total.counts[v][0])
