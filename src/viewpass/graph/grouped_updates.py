"""One chunk where rows meet anchors by groups: each row is assigned once, then the centres move once.

    V  each row to the nearest of the anchors it meets         (Eq. 15-16, groups.py)
    R, T  its sums and counts                                  (Eq. 12, 14)
    U = R (T + alpha I)^-1                                     (Eq. 13)

No anchor is a result by itself, so a chunk is not iterated until its labels settle (sums/chunk_step.py): one
distance pass gives labels, sums and links.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from viewpass.graph.soft_assignment import SoftAssignment, soft_assignment
from viewpass.kernels.grid import Floats, Labels, Mask
from viewpass.sums.centres import Centres, loss, update, wants_mean
from viewpass.sums.chunk_step import Outcome, State
from viewpass.sums.rules import Rules
from viewpass.sums.statistics import Statistics
from viewpass.sums.workspace import Workspace
from viewpass.views.rows import MeasuredRows


def searched_step(
    rows: MeasuredRows, state: State, rules: Rules, workspace: Workspace, counted: Labels | None = None
) -> tuple[Outcome, SoftAssignment]:
    """Process new rows, or rows that the statistics already include under the labels `counted`.

    `state` is not changed.
    """
    soft = soft_assignment(rows, state.centres, workspace)
    labels, n_threads = soft.labels, workspace.n_threads
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
    centres, value = moved_once(total, state.centres, seen, rules, lambda: _means(rows, n_threads))
    margins = np.where(labels >= 0, 0.0, np.inf)
    return Outcome(total, centres, labels, margins, np.array([value]), int(seen.any())), soft


def searched_updates(
    rows: MeasuredRows, state: State, rules: Rules, workspace: Workspace, counted: Labels | None = None
) -> Outcome:
    """The same again and again, until no label changes or the updates that the rules allow are made."""
    outcome, n_iter = searched_step(rows, state, rules, workspace, counted)[0], 0
    while n_iter + 1 < rules.max_iter:
        before, n_iter = outcome, n_iter + outcome.n_iter
        outcome = searched_step(rows, before, rules, workspace, before.labels)[0]
        if np.array_equal(outcome.labels, before.labels):
            break
    return replace(outcome, n_iter=n_iter + outcome.n_iter)


def moved_once(
    total: Statistics,
    centres: Centres,
    seen: Mask,
    rules: Rules,
    means: Callable[[], Sequence[Floats | None]],
) -> tuple[Centres, float]:
    """The centres after one update, and the loss; `means` of the rows in each view, if they are needed."""
    if not seen.any():
        return centres, loss(centres, total, rules.alpha)
    everyone = np.ones(total.n_clusters, dtype=bool)
    fill = rules.fill is not None
    wanted = fill and wants_mean(total, centres, seen, everyone)
    filling = means() if wanted else [None] * len(seen)
    centres = update(total, seen, centres, everyone, rules.alpha, fill=fill, means=filling)
    return centres, loss(centres, total, rules.alpha, ~everyone)


def _means(rows: MeasuredRows, n_threads: int) -> list[Floats | None]:
    """The mean of the rows in each view."""
    total = Statistics(1, rows.widths)
    total.move(rows, np.zeros(rows.n_rows, dtype=np.int32), 1, n_threads)
    return [total.mean(v, rows) for v in range(rows.n_views)]
