"""The beginning of a stream: what the plan leaves open is chosen from the first rows, then centres made."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from viewpass.core.auto.choose import choose
from viewpass.core.initialise import anchors_for, continued, initialise, initialise_unweighted, most_anchors
from viewpass.core.model import Model
from viewpass.core.plan import Plan
from viewpass.core.projection import learnt_projection
from viewpass.core.reasons.learning import learn as learn_reasons
from viewpass.core.settled import grown_for, sample_of
from viewpass.core.start.given import scaled_centres
from viewpass.core.start.prototypes import learn_completion
from viewpass.core.state.alpha import each_view
from viewpass.core.state.census import Census
from viewpass.core.state.growth import ROWS_PER_ANCHOR, Growth
from viewpass.core.state.lineage import Lineage
from viewpass.core.state.statistics import Statistics
from viewpass.core.state.view_weights import learnt_weights
from viewpass.core.step.chunk_step import Outcome
from viewpass.core.step.workspace import Workspace
from viewpass.views.chunk import Chunk, Schema
from viewpass.views.rows import MeasuredRows
from viewpass.views.scaling import Scaling

MANY_ROWS = 2**62


def begin(
    rows: MeasuredRows,
    schema: Schema,
    plan: Plan,
    workspace: Workspace,
    rng: np.random.Generator,
    *,
    n_before: int,
    whole: bool,
) -> tuple[Model, Outcome, MeasuredRows]:
    """The model before its first rows are counted, how these are assigned, and the rows in its scale.

    `n_before`: rows without any view that came before them; `whole`: there are no others.
    """
    asked, n_threads, given = plan, workspace.n_threads, rows.chunk
    completion, entrywise = None, plan.missing_entries == "entrywise"
    if entrywise or plan.missing_entries == "local":
        completion = learn_completion(rows.measure(n_threads), n_threads)
        rows = _rows(completion.apply(rows.chunk), plan)
    chosen = choose(rows.measure(n_threads), plan, workspace, whole=whole)
    plan, scaling, choices, curve = chosen
    if entrywise:  # only the start is made of filled rows
        known = _rows(given, asked).measure(n_threads)
        by_values = Scaling.learn(known, scaling.names, plan.weight_unit)
        scaling, completion = replace(by_values, chosen=scaling.chosen), None
    scaling, rows = _in_scale(rows, plan, asked, scaling, workspace, rng)
    if isinstance(plan.init, list):
        plan = replace(plan, init=scaled_centres(plan.init, scaling, schema, plan.n_clusters or 1))
    if plan.weights == "auto":
        tried, alpha = initialise_unweighted(rows, plan, workspace, rng, whole=whole)
        learnt = learnt_weights(tried.total, alpha, rows.squares.tolist())
        rows = MeasuredRows(rows.chunk, reference=plan.reference, weights=learnt)
    first = initialise(rows, _begun(plan, rows), workspace, rng, whole=whole)
    if entrywise:
        scaling = scaling.with_marks()
        marked = scaling.apply(given, n_threads=n_threads)
        rows = MeasuredRows(marked, reference=plan.reference, weights=rows.weights)
        first = continued(first, rows, plan, workspace)
    outcome, n_clusters = first.outcome, plan.n_clusters
    outcome.total = outcome.total.widened(scaling.widths(schema.widths))
    if rows.unmapped is not None:
        outcome.total.unmapped = Statistics(outcome.total.n_clusters, rows.unmapped.widths)
        outcome.total.unmapped.move(rows.unmapped, outcome.labels, 1, n_threads)
    growth = _growth(replace(plan, consensus=first.consensus), outcome, rows)
    sample = None if whole or plan.spares else sample_of(asked, rows, choices, first.consensus)
    if sample is not None:
        growth = grown_for(n_clusters or 1, sample) if growth is None else replace(growth, sample=sample)
    model = Model(
        schema,
        outcome.total,
        outcome.centres,
        replace(scaling, completion=completion),
        tuple(each_view(first.alpha, rows.n_views).tolist()),
        consensus="merge" if growth is not None and first.links is None else first.consensus,
        n_clusters=n_clusters or outcome.total.n_clusters,
        links=first.links,
        curve=curve,
        choices=choices,
        weights=rows.weights,
        weight_unit=plan.weight_unit,
        growth=growth,
        census=Census.none(outcome.total.n_clusters, n_before),
    )
    model.calibration = learn_reasons(rows, model, outcome.labels, workspace)
    return model, outcome, rows


def _rows(chunk: Chunk, plan: Plan) -> MeasuredRows:
    """Rows by the weights of their views that the plan gives, if it does."""
    weights = None if isinstance(plan.weights, str) else plan.weights
    return MeasuredRows(chunk, reference=plan.reference, weights=weights)


def _in_scale(
    rows: MeasuredRows,
    plan: Plan,
    asked: Plan,
    scaling: Scaling,
    workspace: Workspace,
    rng: np.random.Generator,
) -> tuple[Scaling, MeasuredRows]:
    """The first rows scaled, and mapped by a map learnt from them if the plan has one."""
    n_threads = workspace.n_threads
    if isinstance(plan.projection, int):
        unit = scaling.mapped(None)
        scaled = unit.apply(rows.chunk, n_threads=n_threads)
        projection = learnt_projection(_rows(scaled, asked), plan, workspace, rng)
        if projection is not None:
            return unit.mapped(projection), _rows(projection.apply(scaled, n_threads=n_threads), asked)
    if scaling.plain:
        return scaling, rows
    return scaling, _rows(scaling.apply(rows.chunk, n_threads=n_threads), asked)


def _begun(plan: Plan, rows: MeasuredRows) -> Plan:
    """The plan of the first chunk: where anchors are born later, it makes no more than its rows carry."""
    if not plan.adaptive or plan.n_anchors is None:
        return plan
    n_rows = int(rows.measure().counted.sum())
    return replace(plan, n_anchors=min(plan.n_anchors, max(n_rows // ROWS_PER_ANCHOR, plan.n_clusters or 1)))


def _growth(plan: Plan, outcome: Outcome, rows: MeasuredRows) -> Growth | None:
    """What is remembered of anchors that are born and merge; None if they are not."""
    n_now = outcome.total.n_clusters
    if plan.consensus == "plain":
        return Growth(n_now + plan.n_spares, Lineage.of(n_now)) if plan.spares else None
    if not plan.adaptive:
        return None
    few = anchors_for(plan, MANY_ROWS, rows.n_columns)
    if plan.n_anchors is not None:
        return Growth(max(few, n_now), Lineage.of(n_now))
    return Growth(max(most_anchors(few, rows.n_columns), n_now), Lineage.of(n_now), few=few)
