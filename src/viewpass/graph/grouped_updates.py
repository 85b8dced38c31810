"""One chunk where rows meet anchors by groups: each row is assigned once, then the centres move once.

    V  each row to the nearest of the anchors it meets         (Eq. 15-16, groups.py)
    R, T  its sums and counts                                  (Eq. 12, 14)
    U = R (T + alpha I)^-1                                     (Eq. 13)

No anchor is a result by itself, so a chunk is not iterated until its labels settle (sums/chunk_step.py): one
distance pass gives labels, sums and links.
"""

from __future__ import annotations

import numpy as np

from viewpass.graph.soft_assignment import soft_assignment
from viewpass.kernels.grid import Floats, Labels
from viewpass.sums.centres import loss, update
from viewpass.sums.chunk_step import Outcome, State
from viewpass.sums.rules import Rules
from viewpass.sums.statistics import Statistics
from viewpass.sums.workspace import Workspace
from viewpass.views.rows import MeasuredRows


def searched_updates(
    rows: MeasuredRows, state: State, rules: Rules, workspace: Workspace, counted: Labels | None = None
) -> Outcome:
    """Process rows again and again, until no label changes or the updates that the rules allow are made.

    `counted`: labels under which the statistics already include the rows. `state` is not changed.
    """
    outcome = _step(rows, state, rules, workspace, counted)
    while outcome.n_iter < rules.max_iter:
        before = outcome
        outcome = _step(rows, before, rules, workspace, before.labels)
        outcome.n_iter += before.n_iter
        if np.array_equal(outcome.labels, before.labels):
            break
    return outcome


def _step(
    rows: MeasuredRows, state: State, rules: Rules, workspace: Workspace, counted: Labels | None
) -> Outcome:
    """Assign the rows once, then update the centres once."""
    labels, n_threads = soft_assignment(rows, state.centres, workspace).labels, workspace.n_threads
    total = state.total.widened(state.centres.widths(state.total.widths)).copy()
    if counted is None:
        total.move(rows, labels, 1, n_threads)
    else:
        counted = np.where(labels >= 0, counted, -1).astype(np.int32)
        labels = np.where(counted >= 0, labels, -1).astype(np.int32)
        moved = np.flatnonzero(counted != labels)
        total.move(rows, counted, -1, n_threads, moved)
        total.move(rows, labels, 1, n_threads, moved)
    seen = np.asarray(rows.inverse[:, rows.counted].any(axis=1))
    everyone, fill = np.ones(total.n_clusters, dtype=bool), rules.fill is not None
    means = _means(rows, n_threads) if fill else [None] * len(seen)
    centres = update(total, seen, state.centres, everyone, rules.alpha, fill=fill, means=means)
    value = loss(centres, total, rules.alpha, ~everyone)
    margins = np.where(labels >= 0, 0.0, np.inf)
    return Outcome(total, centres, labels, margins, np.array([value]), 1)


def _means(rows: MeasuredRows, n_threads: int) -> list[Floats | None]:
    """The mean of the rows in each view."""
    total = Statistics(1, rows.widths)
    total.move(rows, np.zeros(rows.n_rows, dtype=np.int32), 1, n_threads)
    return [total.mean(v, rows) for v in range(rows.n_views)]
