"""The chunk step of Algorithm 1: assign, accumulate and update until convergence (Eq. 11-16).

    V  each row to the centre with the smallest distance over its observed views   (Eq. 15-16)
    R, T  the rows' sums and counts are moved between clusters accordingly          (Eq. 12, 14)
    U = R (T + alpha I)^-1                                                          (Eq. 13)

The loop itself is compiled (native/chunk_step.hpp) with a NumPy reference (kernels/reference/step.py). This
module calls it for each way a chunk can start: from centres, from labels, or from soft memberships.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from viewpass.kernels.backend import backend
from viewpass.kernels.grid import Begin, Floats, Labels
from viewpass.sums.centres import Centres, update
from viewpass.sums.rules import Rules, Workspace, each_view
from viewpass.sums.statistics import Statistics
from viewpass.views.rows import MeasuredRows


@dataclass
class State:
    """Statistics of all rows so far, and the centres that the next rows are assigned by."""

    total: Statistics
    centres: Centres

    @classmethod
    def without_rows(cls, rows: MeasuredRows, centres: Centres) -> State:
        """These centres and empty statistics, as wide as the views of `rows`."""
        return cls(Statistics(centres.n_clusters, rows.widths), centres)


@dataclass
class Outcome(State):
    """The state after one or several chunks, and their labels.

    The statistics include the chunks under these labels; the labels were assigned by the centres.
    """

    labels: Labels
    margins: Floats  # lower bound on how much nearer the own centre is than any other
    losses: Floats  # after each chunk
    n_iter: int

    @property
    def loss(self) -> float:
        """The loss after the last chunk."""
        return float(self.losses[-1])


@dataclass(frozen=True)
class Task:
    """How to process rows: where their labels come from, and how they are cut into chunks."""

    begin: int = Begin.CENTRES
    labels: Labels | None = None  # IN, for Begin.LABELS and Begin.COUNTED
    first: bool = False  # the first chunk of the stream
    size: int | None = None  # rows per chunk; None: all rows are one chunk


@dataclass(frozen=True)
class ChunkStep:
    """The chunk step under given rules."""

    rules: Rules
    workspace: Workspace

    def at_most(self, n_updates: int) -> ChunkStep:
        """The same step with no more than this many centre updates."""
        rules = replace(self.rules, max_iter=min(self.rules.max_iter, n_updates))
        return replace(self, rules=rules)

    def run(self, rows: MeasuredRows, state: State, task: Task) -> Outcome:
        """Process rows in chunks; `state` is not changed.

        Stops before the first chunk with a row that must be mended or refused.
        """
        n_rows = rows.n_rows
        total = state.total.widened(state.centres.widths(state.total.widths)).copy()
        labels = np.full(n_rows, -1, dtype=np.int32) if task.labels is None else task.labels.astype(np.int32)
        margins = np.full(n_rows, np.inf)
        n_done, losses, n_iter, n_compared, made = backend().run_chunks(
            *(rows.handle, task.size or max(n_rows, 1), task.begin, task.first),
            *(total.steps, total.flat_counts, state.centres.handle()),
            *(
                self.rules.handle(rows.n_views),
                labels,
                margins,
                self.workspace.n_threads,
            ),
        )
        self.workspace.n_compared += n_compared
        rows.measured |= n_done == n_rows
        if task.begin != Begin.COUNTED:
            total.count_lengths(rows, labels[:n_done] >= 0)
        if total.unmapped is not None and rows.unmapped is not None:
            counted = task.labels if task.begin == Begin.COUNTED else None
            _follow(total.unmapped, rows.unmapped, counted, labels[:n_done], self.workspace.n_threads)
        centres = Centres.made(made, rows.n_views)
        return Outcome(total, centres, labels[:n_done], margins[:n_done], losses, n_iter)

    def whole(self, rows: MeasuredRows, state: State, task: Task) -> Outcome:
        """Process all rows as one chunk, after mending those that need it."""
        outcome = self.run(rows, state, task)
        if len(outcome.labels) < rows.n_rows:
            rows.mend()
            rows.measure(self.workspace.n_threads)
            outcome = self.run(rows, state, task)
        return outcome

    def from_centres(self, rows: MeasuredRows, state: State) -> Outcome:
        """A new chunk: assign it by the current centres (Eq. 15-16), then iterate."""
        return self.whole(rows, state, Task())

    def from_labels(self, rows: MeasuredRows, labels: Labels, n_clusters: int) -> Outcome:
        """The first chunk, from given labels."""
        rows.measure(self.workspace.n_threads)
        state = State.without_rows(rows, Centres.none(n_clusters, rows.n_views))
        return self.whole(rows, state, Task(Begin.LABELS, labels, first=True))

    def from_counted(
        self, rows: MeasuredRows, state: State, labels: Labels, *, first: bool = False
    ) -> Outcome:
        """Rows that the statistics already include under these labels: reassign them."""
        rows.measure(self.workspace.n_threads)
        return self.whole(rows, state, Task(Begin.COUNTED, labels, first))

    def from_memberships(self, rows: MeasuredRows, memberships: Floats) -> Outcome:
        """The first chunk, from a soft V (the published start)."""
        return self.from_soft_centres(rows, self.soft_centres(rows, memberships))

    def soft_centres(self, rows: MeasuredRows, memberships: Floats) -> Centres:
        """Centres that solve Eq. 11 for a soft V."""
        rows.measure(self.workspace.n_threads)
        rules, alpha = self.rules, each_view(self.rules.alpha, rows.n_views)
        made = backend().soft_centres(
            *(rows.handle, memberships, alpha, rules.fill is not None, rules.zero_filled),
            self.workspace.n_threads,
        )
        return Centres.made(made, rows.n_views)

    def from_soft_centres(self, rows: MeasuredRows, centres: Centres) -> Outcome:
        """The first chunk, from the centres of a soft V, which count as its first update."""
        return self.whole(rows, State.without_rows(rows, centres), Task(Begin.SOFT_CENTRES, first=True))

    def centres_of(self, rows: MeasuredRows, labels: Labels, n_clusters: int) -> Centres:
        """The first centres that `from_labels` computes, without assigning any row."""
        rows.measure(self.workspace.n_threads)
        total = Statistics(n_clusters, rows.widths)
        labels = np.where(rows.n_seen > 0, labels, -1).astype(np.int32)
        total.move(rows, labels, 1, self.workspace.n_threads)
        means = [total.mean(v, rows, zeros_too=self.rules.zero_filled) for v in range(rows.n_views)]
        return self.updated(rows, State(total, Centres.none(n_clusters, rows.n_views)), means)

    def updated(self, rows: MeasuredRows, state: State, means: list[Floats | None]) -> Centres:
        """Eq. 13 for all clusters in the views these rows have; `means` fill clusters that never had rows."""
        seen = np.asarray(rows.inverse[:, rows.counted].any(axis=1))
        everyone = np.ones(state.total.n_clusters, dtype=bool)
        given = state.total, seen, state.centres, everyone, self.rules.alpha
        return update(*given, fill=self.rules.fill is not None, means=means)


def _follow(
    total: Statistics, rows: MeasuredRows, before: Labels | None, labels: Labels, n_threads: int
) -> None:
    """Add the first rows under these labels, or move them from those before.  INOUT total."""
    n_done = len(labels)
    after = np.full(rows.n_rows, -1, dtype=np.int32)
    after[:n_done] = labels
    if before is None:
        total.move(rows, after, 1, n_threads)
        return
    moved = np.flatnonzero(before[:n_done] != labels)
    total.move(rows, before.astype(np.int32), -1, n_threads, moved)
    total.move(rows, after, 1, n_threads, moved)
