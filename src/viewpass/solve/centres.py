"""The first centres of a sample: of clusters, or of anchors; and their ridge."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from viewpass.graph.soft_assignment import searched_updates
from viewpass.kernels.grid import FEWEST_GROUPED
from viewpass.solve import starts
from viewpass.solve.few_columns import in_main_columns
from viewpass.solve.plan import ANCHORS_PER_CLUSTER, ROWS_PER_CENTRE, VALUES, Plan
from viewpass.solve.ridge import alike, estimated_alpha
from viewpass.solve.starts import breathed
from viewpass.sums.chunk_step import ChunkStep, Outcome
from viewpass.sums.rules import Alpha, Workspace
from viewpass.views.rows import MeasuredRows

MIN_ANCHORS_PER_CLUSTER = 6  # with fewer a graph is meaningless
MOST_ANCHORS = 3200  # of a solve; chosen on the tuning half of the quality table
# Of the objective: what two clusterings may differ by and count as equally good. In quality
# sets good neighbour starts were within .15 %, bad ones .9 % or more above.
LEVEL = 0.005
SEARCHED = 2**24  # rows x clusters, at most, that are searched for a lower objective
ASSUMED_CLUSTERS = 10  # where their number is to be estimated
RIDGE_ROUNDS = 4  # how often the ridge is estimated, at most,
RIDGE_UPDATES = 2  # and centre updates under it, until the last centres


def anchors_for(plan: Plan, n_rows: int, n_columns: int) -> int:
    """Number of anchors, by the clusters, the rows and memory; 0 if there cannot be enough."""
    if plan.n_anchors is not None:
        return max(min(plan.n_anchors, n_rows), plan.n_clusters or 1)
    n_clusters = plan.n_clusters or ASSUMED_CLUSTERS
    least = MIN_ANCHORS_PER_CLUSTER * n_clusters
    fitting = max(VALUES // n_columns, least)
    suited = min(ANCHORS_PER_CLUSTER * n_clusters, n_rows // ROWS_PER_CENTRE, fitting, MOST_ANCHORS)
    if suited >= least:
        return suited
    if plan.consensus == "auto" and plan.n_clusters is not None:
        return 0
    return max(min(2 * n_clusters, n_rows), plan.n_clusters or 1)


def n_anchors(plan: Plan, n_rows: int, n_drawn_from: int, n_columns: int) -> int:
    """Number of anchors of a graph of so many sampled rows, two for each at least.

    All the rows that these were drawn from move the anchors later, so that they need no more here.
    """
    assert plan.n_clusters is not None
    if plan.n_anchors is not None:
        return max(min(plan.n_anchors, n_rows), plan.n_clusters)
    few = anchors_for(plan, n_rows, n_columns)
    carried = min(n_drawn_from // ROWS_PER_CENTRE, n_rows // 2)
    return max(min(carried, MOST_ANCHORS, VALUES // n_columns), few)


class Initial(NamedTuple):
    """First centres, the ridge of each view, and what they are: "plain" or of "neighbours"."""

    outcome: Outcome
    alpha: Alpha
    consensus: str


def initialise_clusters(
    rows: MeasuredRows,
    plan: Plan,
    workspace: Workspace,
    rng: np.random.Generator,
    *,
    whole: bool,
    either: bool = False,
) -> Initial:
    """Make the centres of clusters. `rows` are measured.

    "plain" searches for the lowest objective, among the main columns of the rows; "neighbours" cuts the
    neighbour graph, if the rows are enough. With `either` the second is taken unless its objective is clearly
    higher: where many clusterings are about equally good, the one that follows neighbours in each view is the
    better guess. Where rows x clusters are too many to be searched, centres get a few updates alone, unless
    these are the `whole` data.
    """
    assert plan.n_clusters is not None
    main = in_main_columns(rows)
    first = starts.from_merges(main, plan.n_clusters, ChunkStep(plan.rules, workspace), rng)
    first, alpha = ridged(main, plan, first, workspace, whole=False)
    step = ChunkStep(replace(plan.rules, alpha=alpha), workspace)
    few = len(rows.counted) * plan.n_clusters <= SEARCHED
    if not few and not whole:
        step = step.at_most(1)
    outcome = linked = None
    if either or plan.consensus == "neighbours":
        outcome = linked = starts.from_neighbours(rows, plan.n_clusters, step)
    if either or outcome is None:
        first = breathed(main, first, step, rng) if few else first
        outcome = step.from_labels(rows, first.labels, plan.n_clusters)
        if linked is not None and _as_good(linked, outcome, rows, alpha):
            outcome = linked
    found = ridged(rows, replace(plan, rules=step.rules), outcome, workspace, whole=True)
    return Initial(*found, "neighbours" if outcome is linked else "plain")


def _as_good(one: Outcome, other: Outcome, rows: MeasuredRows, alpha: Alpha) -> bool:
    """Whether a clustering has about as low an objective as another, and no fewer clusters that have rows."""
    mine, theirs = (each.total.objective(alpha, rows.squares.tolist()) for each in (one, other))
    filled, others = (int(each.total.flat_counts.any(axis=0).sum()) for each in (one, other))
    return mine <= (1 + LEVEL) * theirs and filled >= others


def initialise_anchors(
    rows: MeasuredRows,
    n_anchors: int,
    plan: Plan,
    workspace: Workspace,
    rng: np.random.Generator,
) -> tuple[Outcome, Alpha]:
    """Make the first anchors, and estimate the ridge of each view where that is asked for."""
    outcome = starts.anchors(rows, n_anchors, ChunkStep(plan.rules, workspace), rng)
    searched = n_anchors >= FEWEST_GROUPED
    return ridged(rows, plan, outcome, workspace, whole=False, searched=searched)


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
