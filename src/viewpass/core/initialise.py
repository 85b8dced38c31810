"""The first chunk of a stream: makes its centres, of clusters or of anchors.

Three results are possible (`Plan.consensus`): "plain", where each centre is a cluster; "merge", where centres
are anchors to be merged by the objective; and "graph", where they are the nodes of an anchor graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from viewpass.core.consensus.searched_step import searched_updates
from viewpass.core.consensus.soft_assignment import links_of, soft_assignment
from viewpass.core.plan import ANCHORS_PER_CLUSTER, MAX_ANCHORS, MOST_GROWN, ROWS_PER_ANCHOR, Plan
from viewpass.core.start import candidates
from viewpass.core.start.alpha import alike, estimated_alpha
from viewpass.core.start.breathing import breathed
from viewpass.core.start.main_columns import in_main_columns
from viewpass.core.state.alpha import Alpha
from viewpass.core.state.centres import Centres
from viewpass.core.step.chunk_step import ChunkStep, Outcome, State
from viewpass.core.step.workspace import Workspace
from viewpass.errors import SettingError
from viewpass.kernels.grid import Links
from viewpass.views.rows import MeasuredRows

MIN_ANCHORS_PER_CLUSTER = 4  # with fewer a graph is meaningless
ANCHOR_VALUES = 2**23  # columns x anchors, unless that leaves too few anchors
ASSUMED_CLUSTERS = 10  # where their number is to be estimated
RIDGE_ROUNDS = 4  # how often the ridge is estimated, at most,
RIDGE_UPDATES = 2  # and centre updates under it, unless there are no more rows to come


class Initialised(NamedTuple):
    """The first chunk processed, and what its centres are."""

    outcome: Outcome
    consensus: str  # "plain", "merge" or "graph"
    links: Links | None
    alpha: Alpha  # the ridge that the centres have


def initialise(
    rows: MeasuredRows, plan: Plan, workspace: Workspace, rng: np.random.Generator, *, whole: bool = False
) -> Initialised:
    """Make the first centres, the best of `plan.n_init` starts; `whole` if there are no rows but these."""
    best = initialise_once(rows, plan, workspace, rng, whole=whole)
    same = plan.ridged(best.alpha)  # losses can be compared under the same ridge
    for _ in range(1, plan.n_init):
        other = initialise_once(rows, same, workspace, rng, whole=whole)
        if other.outcome.loss < best.outcome.loss:
            best = other
    return best


def continued(first: Initialised, rows: MeasuredRows, plan: Plan, workspace: Workspace) -> Initialised:
    """The first chunk again, from its labels, in another form of its rows."""
    before, links = first.outcome, first.links
    step = ChunkStep(replace(plan.rules, alpha=first.alpha), workspace)
    outcome = step.from_labels(rows, before.labels, before.total.n_clusters)
    outcome.n_iter += before.n_iter
    if links is not None:
        soft = soft_assignment(rows, outcome.centres, workspace)
        links = links_of(soft, before.total.n_clusters, rows.chunk.copies)
    return first._replace(outcome=outcome, links=links)


def initialise_once(
    rows: MeasuredRows, plan: Plan, workspace: Workspace, rng: np.random.Generator, *, whole: bool = False
) -> Initialised:
    """Make the first centres, of clusters or anchors."""
    rows.measure(workspace.n_threads)
    if plan.consensus == "plain":
        outcome, alpha = initialise_ridged(rows, plan, workspace, rng, whole=whole)
        return Initialised(outcome, "plain", None, alpha)
    n_anchors = anchors_for(plan, int(rows.counted.sum()), rows.n_columns)
    outcome, alpha = initialise_anchors(rows, n_anchors, plan, workspace, rng, whole=whole)
    if plan.consensus == "merge":
        return Initialised(outcome, "merge", None, alpha)
    links = links_of(soft_assignment(rows, outcome.centres, workspace), n_anchors, rows.chunk.copies)
    return Initialised(outcome, "graph", links, alpha)


def anchors_for(plan: Plan, n_rows: int, n_columns: int) -> int:
    """Number of anchors, by the clusters, the warm-up rows and memory; 0 if there cannot be enough."""
    if plan.n_anchors is not None:
        return max(min(plan.n_anchors, n_rows), plan.n_clusters or 1)
    n_clusters = plan.n_clusters or ASSUMED_CLUSTERS
    least = MIN_ANCHORS_PER_CLUSTER * n_clusters
    fitting = max(ANCHOR_VALUES // n_columns, least)
    suited = min(ANCHORS_PER_CLUSTER * n_clusters, n_rows // ROWS_PER_ANCHOR, fitting, MAX_ANCHORS)
    if suited >= least:
        return suited
    if plan.consensus == "auto" and plan.n_clusters is not None:
        return 0
    return max(min(2 * n_clusters, n_rows), plan.n_clusters or 1)


def most_anchors(few: int, n_columns: int) -> int:
    """The same where they follow the rows: at most, given the number for few rows."""
    return min(MOST_GROWN, max(ANCHOR_VALUES // n_columns, few))


def initialise_unweighted(
    rows: MeasuredRows, plan: Plan, workspace: Workspace, rng: np.random.Generator, *, whole: bool = False
) -> tuple[Outcome, Alpha]:
    """Make cluster centres with equal view weights, to learn the weights from, and their ridge."""
    rows.measure(workspace.n_threads)
    assumed = min(ASSUMED_CLUSTERS, max(1, int(rows.counted.sum())))
    plan = replace(plan, n_clusters=plan.n_clusters or assumed)
    return initialise_ridged(rows, plan, workspace, rng, whole=whole)


def initialise_ridged(
    rows: MeasuredRows, plan: Plan, workspace: Workspace, rng: np.random.Generator, *, whole: bool = False
) -> tuple[Outcome, Alpha]:
    """Make the first centres of clusters, and estimate the ridge of each view where that is asked for."""
    outcome = initialise_clusters(rows, plan, workspace, rng, whole=whole)
    return ridged(rows, plan, outcome, workspace, whole=whole)


def initialise_searched(
    rows: MeasuredRows, plan: Plan, workspace: Workspace, rng: np.random.Generator
) -> tuple[Outcome, Alpha]:
    """The same of rows that are all there are, by a search that leaves local optima; `rows` are measured."""
    assert plan.n_clusters is not None
    main = in_main_columns(rows)
    first, alpha = initialise_ridged(main, plan, workspace, rng)
    rules = replace(plan.rules, alpha=alpha)
    labels = breathed(main, first, ChunkStep(rules, workspace), rng).labels
    settling = replace(rules, max_iter=candidates.WHOLE_UPDATES * rules.max_iter)
    outcome = ChunkStep(settling, workspace).from_labels(rows, labels, plan.n_clusters)
    return ridged(rows, replace(plan, rules=rules), outcome, workspace, whole=True)


def initialise_anchors(
    rows: MeasuredRows,
    n_anchors: int,
    plan: Plan,
    workspace: Workspace,
    rng: np.random.Generator,
    *,
    whole: bool = False,
) -> tuple[Outcome, Alpha]:
    """Make the first anchors, and estimate the ridge of each view where that is asked for."""
    outcome = candidates.anchors(rows, n_anchors, ChunkStep(plan.rules, workspace), rng, whole=whole)
    searched = candidates.are_searched(rows, n_anchors)
    return ridged(rows, plan, outcome, workspace, whole=whole, searched=searched)


def ridged(
    rows: MeasuredRows,
    plan: Plan,
    outcome: Outcome,
    workspace: Workspace,
    *,
    whole: bool,
    searched: bool = False,
) -> tuple[Outcome, Alpha]:
    """Estimate the ridge of clusters (or anchors) and let their rows settle under it, in turn.

    `searched`: rows meet the anchors by groups.
    """
    alpha, n_iter = plan.rules.alpha, outcome.n_iter
    for _ in range(RIDGE_ROUNDS if plan.auto_alpha else 0):
        found = estimated_alpha(outcome.total, rows.squares.tolist(), plan.weight_unit)
        if alike(found, alpha):
            break
        alpha = found
        step = ChunkStep(replace(plan.rules, alpha=alpha), workspace)
        step = step if whole else step.at_most(RIDGE_UPDATES)
        if searched:
            outcome = searched_updates(rows, outcome, step.rules, workspace, outcome.labels)
        else:
            outcome = step.from_counted(rows, outcome, outcome.labels, first=True)
        n_iter += outcome.n_iter
    outcome.n_iter = n_iter
    return outcome, alpha


def initialise_clusters(
    rows: MeasuredRows, plan: Plan, workspace: Workspace, rng: np.random.Generator, *, whole: bool = False
) -> Outcome:
    """Make the first centres of clusters by `plan.init`."""
    assert plan.n_clusters is not None
    init, n_clusters, step = plan.init, plan.n_clusters, ChunkStep(plan.rules, workspace)
    rows.measure(workspace.n_threads)
    if isinstance(init, np.ndarray):
        return _from_array(rows, init, n_clusters, step)
    if not isinstance(init, str):
        return step.from_centres(rows, State.without_rows(rows, _given_centres(init, rows)))
    if init == "random":
        memberships = candidates.soft_memberships(rows, n_clusters, rng)
        centres = step.soft_centres(rows, memberships)
        del memberships  # as large as the distances that come next
        return step.from_soft_centres(rows, centres)
    if init == "one seeding":
        return candidates.seeded(rows, n_clusters, step, rng)
    return candidates.compete(rows, n_clusters, init, step, rng, whole=whole)


def _from_array(rows: MeasuredRows, init: Any, n_clusters: int, step: ChunkStep) -> Outcome:
    """The first chunk from given labels (1-D), hard memberships (1-of-K) or soft ones."""
    if len(init) != rows.n_rows:
        raise SettingError(
            f"init has {len(init)} rows, the first chunk has {rows.n_rows}: init as an array gives "
            "the initial labels or memberships of the rows of the first chunk."
        )
    if init.ndim == 1:
        return step.from_labels(rows, init.astype(np.int32), n_clusters)
    if np.isin(init, (0, 1)).all() and (init.sum(axis=1) == 1).all():
        return step.from_labels(rows, init.argmax(axis=1).astype(np.int32), n_clusters)
    return step.from_memberships(rows, np.ascontiguousarray(init, dtype=np.float64))


def _given_centres(init: Sequence[Any], rows: MeasuredRows) -> Centres:
    """Given centres in the scale of the rows (start/given.py), weighted by view like them."""
    lengths = np.sqrt(np.where(rows.squares > 0, rows.squares, 1.0))
    return Centres.of([u * length for u, length in zip(init, lengths, strict=True)])
