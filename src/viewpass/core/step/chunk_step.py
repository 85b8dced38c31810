"""One chunk of Algorithm 1: assign, then centres and labels in turn until they settle (Eq. 11-16).

The kernels do it (native/chunk_step.hpp, or kernels/reference/step.py); here is how chunks may begin.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewpass.core.state.centres import Centres
from viewpass.core.state.statistics import Statistics
from viewpass.core.step.workspace import Workspace
from viewpass.kernels.backend import FROM_CENTRES, FROM_COUNTED, FROM_LABELS, FROM_SOFT_CENTRES, backend
from viewpass.kernels.grid import Floats, Integers, Labels
from viewpass.views.rows import MeasuredRows


@dataclass(frozen=True)
class Rules:
    """The settings of the inner loop."""

    alpha: float
    max_iter: int
    tol: float
    fill: str | None

    @property
    def zero_filled(self) -> bool:
        """Whether absent rows count as zeros in the mean that fills a first chunk's centres."""
        return self.fill == "zero-filled-mean"

    def handle(self, *, reference: bool = False) -> object:
        """The settings as the kernels take them."""
        given = float(self.alpha), self.max_iter, float(self.tol), self.fill is not None, self.zero_filled
        return backend(reference).Rules(*given)


@dataclass
class Outcome:
    """What chunks leave: statistics that include them, centres half a step older, their labels."""

    total: Statistics
    centres: Centres
    labels: Labels
    margins: Floats  # by how much the own centre is nearest, at least
    losses: Floats  # after each chunk
    n_iter: int

    @property
    def loss(self) -> float:
        """The loss after the last chunk."""
        return float(self.losses[-1])


@dataclass(frozen=True)
class Task:
    """How chunks are to be read."""

    begin: int = FROM_CENTRES
    first: bool = False  # the very first rows of all
    size: int | None = None  # rows per chunk; None: all at once
    links: Integers | None = None  # INOUT: what anchors have in common


def run(
    rows: MeasuredRows,
    total: Statistics,
    centres: Centres,
    labels: Labels | None,
    rules: Rules,
    workspace: Workspace,
    task: Task,
) -> Outcome:
    """Read rows in chunks; `total` stays as it was. Fewer rows are done if one must be mended first."""
    total = total.widened(centres.widths(total.widths)).copy()
    found = np.full(rows.n_rows, -1, dtype=np.int32) if labels is None else labels.astype(np.int32)
    margins = np.full(rows.n_rows, np.inf)
    n_done, losses, n_iter, n_compared, made = backend(rows.reference).run_chunks(
        *(rows.handle, task.size or max(rows.n_rows, 1), task.begin, task.first),
        *(total.steps, total.flat_counts, centres.handle(reference=rows.reference), task.links),
        *(rules.handle(reference=rows.reference), found, margins, workspace.n_threads),
    )
    workspace.n_compared += n_compared
    rows.measured |= n_done == rows.n_rows
    new = Centres.made(made, rows.n_views, reference=rows.reference)
    return Outcome(total, new, found[:n_done], margins[:n_done], losses, n_iter)


def whole(
    rows: MeasuredRows,
    total: Statistics,
    centres: Centres,
    labels: Labels | None,
    rules: Rules,
    workspace: Workspace,
    task: Task,
) -> Outcome:
    """All rows as one chunk, mended where that is needed."""
    outcome = run(rows, total, centres, labels, rules, workspace, task)
    if len(outcome.labels) < rows.n_rows:
        rows.mend()
        rows.measure(workspace.n_threads)
        outcome = run(rows, total, centres, labels, rules, workspace, task)
    return outcome


def from_centres(
    rows: MeasuredRows, total: Statistics, centres: Centres, rules: Rules, workspace: Workspace
) -> Outcome:
    """A new chunk: predict it with the centres so far (Eq. 15-16), then settle."""
    return whole(rows, total, centres, None, rules, workspace, Task())


def from_labels(
    rows: MeasuredRows,
    total: Statistics,
    centres: Centres,
    labels: Labels,
    rules: Rules,
    workspace: Workspace,
    *,
    counted: bool,
    first: bool = False,
) -> Outcome:
    """A chunk whose labels are given: those of the last pass (already counted) or a start (not yet)."""
    rows.measure(workspace.n_threads)
    task = Task(FROM_COUNTED if counted else FROM_LABELS, first)
    return whole(rows, total, centres, labels, rules, workspace, task)


def from_memberships(rows: MeasuredRows, memberships: Floats, rules: Rules, workspace: Workspace) -> Outcome:
    """The very first chunk from a soft V (the published start): its first centres solve Eq. 11 whole."""
    return from_soft(rows, soft_centres(rows, memberships, rules, workspace), rules, workspace)


def soft_centres(rows: MeasuredRows, memberships: Floats, rules: Rules, workspace: Workspace) -> Centres:
    """The first centres of a soft V."""
    rows.measure(workspace.n_threads)
    filled = rules.fill is not None, rules.zero_filled
    made = backend(rows.reference).soft_centres(
        rows.handle, memberships, float(rules.alpha), *filled, workspace.n_threads
    )
    return Centres.made(made, rows.n_views, reference=rows.reference)


def from_soft(rows: MeasuredRows, centres: Centres, rules: Rules, workspace: Workspace) -> Outcome:
    """The very first chunk from the centres of a soft V, which count as the first update."""
    nothing = empty_statistics(rows, centres.n_clusters)
    return whole(rows, nothing, centres, None, rules, workspace, Task(FROM_SOFT_CENTRES, first=True))


def centres_of(
    rows: MeasuredRows, labels: Labels, n_clusters: int, rules: Rules, workspace: Workspace
) -> Centres:
    """The first centres of rows whose labels are given: those of `from_labels`, without assigning rows."""
    nowhere = Centres.none(n_clusters, rows.n_views)
    nothing = empty_statistics(rows, n_clusters)
    rows.measure(workspace.n_threads)
    total = nothing.copy()
    total.move(rows, np.where(rows.n_seen > 0, labels, -1).astype(np.int32), 1, workspace.n_threads)
    means = [total.mean(v, rows, zeros_too=rules.zero_filled) for v in range(rows.n_views)]
    seen, everyone = np.asarray(rows.inverse.any(axis=1)), np.ones(n_clusters, dtype=bool)
    given = total.steps, total.flat_counts, seen, everyone, float(rules.alpha), rules.fill is not None, means
    made = backend(rows.reference).update_centres(nowhere.handle(reference=rows.reference), *given)
    return Centres.made(made, rows.n_views, reference=rows.reference)


def empty_statistics(rows: MeasuredRows, n_clusters: int) -> Statistics:
    """Statistics of no rows, as wide as these views."""
    return Statistics(n_clusters, rows.widths)
