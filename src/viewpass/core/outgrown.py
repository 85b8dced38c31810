"""Rows that the first ones do not explain: clusters that were chosen from these become anchors.

Data in order, by class or by time, begins with rows that show a part of it. S_v is the sum of squared
lengths of rows in view v, J_v what the centres leave of it, and S_v - J_v what they explain. A later chunk
is unlike the rows before it if its rows, per view that they have, leave MORE times as much, or have less
than LESS of the share explained. Both are known from the sums alone: every engine decides the same.

If K centres had been chosen, they become the first anchors then, with their sums, and rows open others from
this chunk on (births.py): a few, which merge into K clusters, or, where rows leave MUCH_MORE, those of a
graph, in which rows read before are linked as their centres are. A graph it is only if the first rows did not
speak against it, and not where centres explain little, as in sparse text: there all distances are alike.
"""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np

from viewpass.core.consensus.births import Candidates, in_views, nearest
from viewpass.core.consensus.soft_assignment import links_of, soft_assignment
from viewpass.core.initialise import anchors_for, most_anchors
from viewpass.core.model import Model
from viewpass.core.plan import Plan
from viewpass.core.state.choice import Choice
from viewpass.core.state.growth import Growth
from viewpass.core.state.lineage import Lineage
from viewpass.core.state.statistics import Statistics, squares_of
from viewpass.core.step.workspace import Workspace
from viewpass.kernels.grid import Floats, Links
from viewpass.kernels.reference.exact import ordered_sum
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows

logger = logging.getLogger("viewpass")

MORE, LESS = 1.2, 0.75
NEARLY_MORE, NEARLY_LESS = 1.1, 0.85  # of all views together; from here on each view is looked at
MUCH_MORE = 1.5
FEWEST_ROWS = 500  # of a chunk that is looked at
LITTLE = 0.2  # of the squared lengths: less does not carry a graph
NEARLY, VERY_NEARLY = 0.9, 0.95  # of the score of centres, which a graph had on the first rows
MERGED_PER_CLUSTER = 4  # anchors, where there is no graph
REASON = "rows came that the first ones do not explain"


def may_outgrow(plan: Plan, model: Model) -> bool:
    """Whether the clusters may become anchors: they were chosen, not asked for."""
    if plan.consensus != "auto" or not plan.adaptive or plan.reservoir:
        return False
    if model.consensus != "plain" or model.growth is not None or any(model.centres.marks):
        return False
    return _n_anchors(plan, model) > model.n_clusters


def outgrown(plan: Plan, model: Model, total: Statistics, loss: float, n_rows: int) -> Model | None:
    """The model with anchors, if it needs them for the rows that these sums have more than its own.

    `loss`: of all `n_rows` rows with these, on average.
    """
    if not may_outgrow(plan, model) or _alike(model, total, loss * n_rows):
        return None
    consensus = _needed(model, total)
    if consensus is None:
        return None
    n_now, few, links = model.total.n_clusters, _n_anchors(plan, model), None
    growth = Growth(MERGED_PER_CLUSTER * n_now, Lineage.of(n_now))
    if consensus == "graph":
        links = _links(model, reference=plan.reference)
        growth = Growth(most_anchors(few, sum(model.widths)), Lineage.of(n_now), few=few)
    choice = Choice("consensus", consensus, reason=f"{REASON}, from row {model.n_rows:,} on")
    logger.info("%s", choice)
    return replace(model, consensus=consensus, growth=growth, links=links, choices=(*model.choices, choice))


def linked(
    plan: Plan,
    model: Model,
    found: Candidates,
    workspace: Workspace,
    *,
    weights: tuple[float, ...] | None = None,
    reference: bool = False,
) -> Model:
    """The model with a graph of its anchors, if rows came that these leave MUCH_MORE of than of others.

    `model` has anchors that are merged, and a sample (settled.py); `found` are rows of the next chunk.
    """
    growth = model.growth
    if (
        growth is None
        or growth.sample is None
        or model.consensus != "merge"
        or model.scaling.lengths is not None
    ):
        return model
    if found.n_rows < FEWEST_ROWS or not found.rows.n_rows or not _may_link(model, VERY_NEARLY):
        return model
    left, explained = _left(model, model.total).sum(axis=1)
    rows = in_views(found.rows, model.centres).measured(weights, reference=reference)
    far, n_views = nearest(rows, model.centres, workspace)[1], (rows.inverse > 0).sum(axis=0)
    share = float(ordered_sum(far * n_views)) / max(int(n_views.sum()), 1)
    if share * (left + explained) <= MUCH_MORE * left or explained <= LITTLE * (left + explained):
        return model
    few = _n_anchors(plan, model)
    given = Growth(most_anchors(few, sum(model.widths)), growth.lineage, growth.waiting, few=few)
    choice = Choice("consensus", "graph", reason=f"{REASON}, from row {model.n_rows:,} on")
    logger.info("%s", choice)
    links, choices = _links(model, reference=reference), (*model.choices, choice)
    return replace(model, consensus="graph", growth=given, links=links, choices=choices)


def _alike(model: Model, total: Statistics, loss: float) -> bool:
    """Whether rows are like those before by the losses alone, which cost nothing: most chunks are."""
    if not model.loss_curve:  # a file may have none
        return False
    was, now = (float(sum(squares_of(each, model.row_squares))) for each in (model.total, total))
    n_before = model.read.n_counted
    share, loss_before = (now - was) / max(was, 1.0), model.loss_curve[-1] * n_before / model.square_unit
    explained, due = loss_before - loss / model.square_unit, -share * loss_before
    return now - was - explained < NEARLY_MORE * (share * was - due) and explained > NEARLY_LESS * due


def _needed(model: Model, total: Statistics) -> str | None:
    """How anchors should form clusters, if they are needed."""
    before, after = (np.array(each.n_present) for each in (model.total, total))
    known = before > 0  # a view that comes later is compared with nothing
    new = (after - before)[known]
    if new.max(initial=0) < FEWEST_ROWS * model.weight_unit:
        return None
    was, now = _left(model, model.total)[:, known], _left(model, total)[:, known]
    left, explained = (now - was).sum(axis=1)
    left_due, explained_due = (was * new / before[known]).sum(axis=1)
    carried = explained_due > LITTLE * (left_due + explained_due) and _may_link(model)
    if carried and left > MUCH_MORE * left_due:
        return "graph"
    return "merge" if left > MORE * left_due or explained < LESS * explained_due else None


def _may_link(model: Model, nearly: float = NEARLY) -> bool:
    """Whether the first rows did not speak against a graph: its score was nearly as high."""
    asked = [choice.scores for choice in model.choices if choice.what == "consensus"]
    return any(scores.get("graph", -np.inf) > nearly * scores.get("plain", np.inf) > 0 for scores in asked)


def _left(model: Model, total: Statistics) -> Floats:
    """J and S - J of each view, by these sums."""
    left = np.array(total.view_objectives(model.alpha, model.row_squares))
    return np.stack([left, np.array(squares_of(total, model.row_squares)) - left])


def _n_anchors(plan: Plan, model: Model) -> int:
    return anchors_for(replace(plan, n_clusters=model.n_clusters), 2**62, max(sum(model.widths), 1))


def _links(model: Model, *, reference: bool) -> Links:
    """The links of the rows read so far, as if each were its centre."""
    centres, n_rows = model.centres, np.asarray(model.total.flat_counts.max(axis=0))
    chunk = Chunk(tuple(centres.values), model.schema.names, centres.n_clusters)
    inverse = np.where(np.array(centres.known), 1.0, 0.0)
    rows = MeasuredRows.known(chunk, inverse, reference=reference, weights=model.weights)
    return links_of(soft_assignment(rows, centres, Workspace(1)), centres.n_clusters, n_rows)
