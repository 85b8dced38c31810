"""One chunk of Algorithm 1: assign, then centres and labels in turn until they settle (Eq. 11-16)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewpass.core import centres as centre_rules
from viewpass.core.assign import Decision, Workspace, assign
from viewpass.core.bounds import doubtful_rows
from viewpass.core.centres import Centres, ChunkMean
from viewpass.core.loss import loss
from viewpass.core.statistics import Statistics
from viewpass.kernels.grid import Floats, Integers, Labels
from viewpass.views.rows import MeasuredRows


@dataclass(frozen=True)
class Rules:
    """The settings of the inner loop."""

    alpha: float
    max_iter: int
    tol: float
    fill: str | None


@dataclass
class Outcome:
    """What a chunk leaves: statistics that include it, centres half a step older, its labels."""

    total: Statistics
    centres: Centres
    decision: Decision
    loss: float
    n_iter: int


def from_centres(
    rows: MeasuredRows, total: Statistics, centres: Centres, rules: Rules, workspace: Workspace
) -> Outcome:
    """A new chunk: predict it with the centres so far (Eq. 15-16), then settle."""
    total = total.copy()
    decision = assign(rows, centres, workspace, collect=total)
    return settle(rows, total, centres, decision, rules, workspace)


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
    """A chunk whose labels are given: those of the last pass (already counted) or a start (not yet).

    Subtracting the old contribution and adding the new one changes the sums by the rows that
    move, no more: sums are exact.
    """
    rows.measure(workspace.n_threads)
    total = total.copy()
    decision = Decision(np.where(rows.n_seen > 0, labels, -1).astype(np.int32), np.full(rows.n_rows, -np.inf))
    if not counted:
        total.move(rows, np.arange(rows.n_rows), decision.labels, 1)
    return settle(rows, total, centres, decision, rules, workspace, first=first)


def from_memberships(rows: MeasuredRows, memberships: Floats, rules: Rules, workspace: Workspace) -> Outcome:
    """The very first chunk from a soft V (the published start): its first centres solve Eq. 11 whole."""
    rows.measure(workspace.n_threads)
    mean = ChunkMean(rows, zeros_too=rules.fill == "zero-filled-mean")
    centres = centre_rules.from_memberships(rows, memberships, alpha=rules.alpha, fill=rules.fill, mean=mean)
    n_clusters = memberships.shape[1]
    total = Statistics(n_clusters, [0 if x is None else x.shape[1] for x in rows.chunk.views])
    decision = assign(rows, centres, workspace, collect=total)
    value = loss(centres, total, rules.alpha)
    if rules.max_iter == 1:
        return Outcome(total, centres, decision, value, 1)
    return settle(
        *(rows, total, centres, decision, rules, workspace),
        first=True,
        mean=mean,
        n_done=1,
        last_loss=value,
    )


def settle(
    rows: MeasuredRows,
    total: Statistics,
    centres: Centres,
    decision: Decision,
    rules: Rules,
    workspace: Workspace,
    *,
    first: bool = False,
    mean: ChunkMean | None = None,
    n_done: int = 0,
    last_loss: float | None = None,
) -> Outcome:
    """Repeat Eq. 13 and Eq. 15-16 until no label moves, the loss stands still, or max_iter.

    INOUT total, decision. Rows whose margin the move of the centres cannot have used up keep
    their label without being looked at, and the sums change by the rows that moved.
    """
    if not rows.n_seen.any():
        return Outcome(total, centres, decision, loss(centres, total, rules.alpha), n_done)
    if mean is None:
        mean = ChunkMean(rows, zeros_too=first and rules.fill == "zero-filled-mean")
    value = 0.0
    n_iter = n_done
    while n_iter < rules.max_iter:
        n_iter += 1
        before = centres
        centres = centre_rules.update(
            *(total, rows, before),
            alpha=rules.alpha,
            fill=rules.fill,
            first=first,
            mean=mean,
        )
        n_moved = reassign(rows, total, before, centres, decision, workspace)
        value = loss(centres, total, rules.alpha)
        if n_moved == 0:
            break
        if last_loss is not None and abs(value - last_loss) < rules.tol * abs(last_loss):
            break
        last_loss = value
    return Outcome(total, centres, decision, value, n_iter)


def reassign(
    rows: MeasuredRows,
    total: Statistics,
    before: Centres,
    after: Centres,
    decision: Decision,
    workspace: Workspace,
) -> int:
    """Look again at the rows in doubt; move those that changed cluster. Returns how many did."""
    doubtful = doubtful_rows(rows, decision, before, after)
    old = decision.labels.copy()
    assign(rows, after, workspace, which=doubtful, into=decision)
    moved: Integers = np.flatnonzero(decision.labels != old)
    if len(moved):
        total.move(rows, moved, old, -1)
        total.move(rows, moved, decision.labels, 1)
    return len(moved)
