"""One chunk of Algorithm 1: assign, then centres and labels in turn until they settle (Eq. 11-16)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewpass.core import centres as centre_rules
from viewpass.core import soft
from viewpass.core.assign import Decision, Workspace, assign_and_add, look_again
from viewpass.core.bounds import doubtful_rows
from viewpass.core.centres import Centres, ChunkMean, Filling
from viewpass.core.fused import Several, Step
from viewpass.core.links import Mixture, first_mixture
from viewpass.core.loss import loss
from viewpass.core.statistics import Statistics
from viewpass.kernels.grid import Floats, Integers, Labels, Mask
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
    mixture: Mixture | None = None  # of the anchors the rows were near when they were first looked at


def from_centres(
    rows: MeasuredRows,
    total: Statistics,
    centres: Centres,
    rules: Rules,
    workspace: Workspace,
    *,
    mixed: bool = False,
) -> Outcome:
    """A new chunk: predict it with the centres so far (Eq. 15-16), then settle.

    `mixed`: give its rows as mixtures of these centres, too.
    """
    total = total.widened(centres.widths(total.widths))
    if rows.desk is not None:
        decision = Decision(rows.n_rows, total.n_clusters, keep=True, mixed=mixed, pool=workspace.pool)
        on_desk = Step(rows, centres, total.widths, workspace)
        done = on_desk.read(total, decision, rules, _filling(rows, rules, first=False))
        if done is not None and done.n_iter > 0:
            mixture = first_mixture(rows, centres, decision, workspace) if mixed else None
            return Outcome(done.total, done.centres, decision, done.loss, done.n_iter, mixture)
        rows.measure(workspace.n_threads)
    decision, after = assign_and_add(rows, centres, total, workspace, keep=True, mixed=mixed)
    assert after is not None
    mixture = first_mixture(rows, centres, decision, workspace) if mixed else None
    outcome = settle(rows, after, centres, decision, rules, workspace)
    outcome.mixture = mixture
    return outcome


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
    total = total.copy(workspace.n_threads)
    decision = Decision(rows.n_rows, total.n_clusters, keep=True, pool=workspace.pool)
    decision.labels[:] = np.where(rows.n_seen > 0, labels, -1)
    decision.margins[:] = -np.inf
    if not counted:
        total.move(rows, np.arange(rows.n_rows), decision.labels, 1, n_threads=workspace.n_threads)
    return settle(rows, total, centres, decision, rules, workspace, first=first)


def centres_of(
    rows: MeasuredRows, nothing: Statistics, labels: Labels, rules: Rules, workspace: Workspace
) -> Centres:
    """The first centres of rows whose labels are given: those of `from_labels`, without its look."""
    rows.measure(workspace.n_threads)
    total = nothing.copy(workspace.n_threads)
    mine = np.where(rows.n_seen > 0, labels, -1).astype(np.int32)
    total.move(rows, np.arange(rows.n_rows), mine, 1, n_threads=workspace.n_threads)
    nowhere, all_of_them = Centres.none(total.n_clusters, rows.n_views), np.ones(total.n_clusters, dtype=bool)
    seen: Mask = np.asarray(rows.inverse.any(axis=1))
    filling = _filling(rows, rules, first=True)
    return centre_rules.update(total, seen, nowhere, all_of_them, rules.alpha, filling, workspace.n_threads)[
        0
    ]


def from_memberships(rows: MeasuredRows, memberships: Floats, rules: Rules, workspace: Workspace) -> Outcome:
    """The very first chunk from a soft V (the published start): its first centres solve Eq. 11 whole."""
    return from_soft(rows, soft_centres(rows, memberships, rules, workspace), rules, workspace)


def soft_centres(rows: MeasuredRows, memberships: Floats, rules: Rules, workspace: Workspace) -> Centres:
    """The first centres of a soft V."""
    rows.measure(workspace.n_threads)
    filling = _filling(rows, rules, first=True)
    return soft.from_memberships(rows, memberships, rules.alpha, filling, workspace.n_threads)


def from_soft(rows: MeasuredRows, centres: Centres, rules: Rules, workspace: Workspace) -> Outcome:
    """The very first chunk from the centres of a soft V, which count as the first update."""
    nothing = Statistics(centres.n_clusters, [0 if x is None else x.shape[1] for x in rows.chunk.views])
    decision, total = assign_and_add(rows, centres, nothing, workspace, keep=True)
    assert total is not None
    value = loss(centres, total, rules.alpha)
    if rules.max_iter == 1:
        return Outcome(total, centres, decision, value, 1)
    return settle(*(rows, total, centres, decision, rules, workspace), first=True, n_done=1, last_loss=value)


def several(
    rows: MeasuredRows,
    total: Statistics,
    centres: Centres,
    labels: Labels | None,
    size: int,
    rules: Rules,
    workspace: Workspace,
) -> tuple[Several, Decision]:
    """As many of the chunks the rows are made of as need nothing out of the ordinary.

    With `labels` they are in the statistics already (pass 2 and later).
    """
    decision = Decision(rows.n_rows, total.n_clusters)
    if labels is not None:
        decision.labels[:] = np.where(rows.n_seen > 0, labels, -1)
    on_desk = Step(rows, centres, total.widths, workspace, chunk_rows=size)
    return on_desk.settle_several(size, total, decision, rules, again=labels is not None), decision


def _filling(rows: MeasuredRows, rules: Rules, *, first: bool, total: Statistics | None = None) -> Filling:
    zeros_too = first and rules.fill == "zero-filled-mean"
    return Filling(rules.fill, first, ChunkMean(rows, zeros_too=zeros_too, total=total))


def settle(
    rows: MeasuredRows,
    total: Statistics,
    centres: Centres,
    decision: Decision,
    rules: Rules,
    workspace: Workspace,
    *,
    first: bool = False,
    n_done: int = 0,
    last_loss: float | None = None,
) -> Outcome:
    """Repeat Eq. 13 and Eq. 15-16 until no label moves, the loss stands still, or max_iter.

    INOUT total, decision. Rows whose margin the move of the centres cannot have used up keep
    their label without being looked at; the others are compared with the clusters that moved; the
    sums change by the rows that changed cluster.
    """
    if not rows.n_seen.any():
        return Outcome(total, centres, decision, loss(centres, total, rules.alpha), n_done)
    filling = _filling(rows, rules, first=first, total=total if first else None)
    if rows.desk is not None and n_done < rules.max_iter:
        on_desk = Step(rows, centres, total.widths, workspace)
        done = on_desk.settle(total, decision, rules, filling, n_done, last_loss)
        return Outcome(total, done.centres, decision, done.loss, done.n_iter)
    seen: Mask = np.asarray(rows.inverse.any(axis=1))
    changed: Mask = np.ones(total.n_clusters, dtype=bool)
    value = 0.0
    n_iter = n_done
    while n_iter < rules.max_iter:
        n_iter += 1
        before = centres
        centres, moves = centre_rules.update(
            total, seen, before, changed, rules.alpha, filling, workspace.n_threads
        )
        doubtful = doubtful_rows(rows, decision, before, centres, moves)
        old = decision.labels.copy()
        moved = np.asarray((moves > 0).any(axis=0))
        look_again(rows, doubtful, centres, moved, decision, workspace)
        changed = move_rows(rows, total, old, decision.labels)
        value = loss(centres, total, rules.alpha, changed)
        if not changed.any():
            break
        if last_loss is not None and abs(value - last_loss) < rules.tol * abs(last_loss):
            break
        last_loss = value
    return Outcome(total, centres, decision, value, n_iter)


def move_rows(rows: MeasuredRows, total: Statistics, old: Labels, new: Labels) -> Mask:
    """Let the sums follow the rows that changed cluster; say which clusters that touched."""
    moved: Integers = np.flatnonzero(new != old)
    touched = np.zeros(total.n_clusters, dtype=bool)
    if len(moved):
        total.move(rows, moved, old, -1)
        total.move(rows, moved, new, 1)
        touched[old[moved]] = True
        touched[new[moved]] = True
    return touched
