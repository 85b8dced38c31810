"""solve(sample, plan, seed, n_rows) -> Model: a pure function of them.

    choose      scale, shape, number of clusters, map: what the settings leave open (question/)
    scale, map  the rows of the sample
    centres     of K clusters, or of anchors and the links between them

The same sample, settings and seed give the same model, wherever the sample comes from.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from viewpass.errors import DataError
from viewpass.graph.soft_assignment import links_of, soft_assignment
from viewpass.model.choice import Choice
from viewpass.model.model import Model
from viewpass.sample.sample import Sample
from viewpass.solve.centres import initialise_anchors, initialise_clusters, n_anchors
from viewpass.solve.completion import learn_completion
from viewpass.solve.plan import Plan
from viewpass.solve.projection import learnt_projection
from viewpass.solve.question.choose import choose
from viewpass.sums.row_counts import RowCounts
from viewpass.sums.rules import Workspace, each_view
from viewpass.sums.statistics import Statistics
from viewpass.views.chunk import Chunk, Schema
from viewpass.views.rows import MeasuredRows
from viewpass.views.scaling import Scaling


def solve(
    sample: Sample, schema: Schema, plan: Plan, seed: int, workspace: Workspace, n_rows: int | None = None
) -> Model:
    """The model of a sample of `n_rows` rows (None: of no more); its sums are those of the sample."""
    if sample.chunk is None:
        raise DataError(too_few(0, plan.n_clusters or 1))
    n_rows = n_rows or sample.n_rows
    n_threads, rng = workspace.n_threads, np.random.default_rng(seed)
    rows = checked_rows(sample.chunk.numbered(sample.numbers), plan, n_threads)
    n_seen = int(rows.counted.sum())
    if n_seen < (plan.n_clusters or 1):
        raise DataError(too_few(n_seen, plan.n_clusters or 1))
    completion = None
    if plan.missing_entries == "local":
        completion = learn_completion(rows, n_threads)
        rows = checked_rows(completion.apply(sample.chunk), plan, n_threads)
    chosen, scaling, choices, curve = choose(rows, plan, workspace)
    scaling, rows = _scaled(rows, chosen, scaling, workspace, rng)
    assert chosen.n_clusters is not None
    consensus, n_centres, links = chosen.consensus, chosen.n_clusters, None
    if consensus == "graph":
        n_centres = n_anchors(chosen, n_seen, n_rows * n_seen // sample.n_rows, rows.n_columns)
        outcome, alpha = initialise_anchors(rows, n_centres, chosen, workspace, rng)
        links = links_of(soft_assignment(rows, outcome.centres, workspace), n_centres, rows.chunk.copies)
    else:
        whole = n_rows == sample.n_rows
        either = plan.consensus == "auto"
        found = initialise_clusters(rows, chosen, workspace, rng, whole=whole, either=either)
        outcome, alpha = found.outcome, found.alpha
        if either and found.consensus != consensus:
            reason = "its centres fit about as well, and it follows the neighbours in each view"
            choices = (*choices, Choice("consensus", found.consensus, reason=reason))
        consensus = found.consensus
    total = outcome.total.widened(scaling.widths(schema.widths))
    if rows.unmapped is not None:
        total.unmapped = Statistics(n_centres, rows.unmapped.widths)
        total.unmapped.move(rows.unmapped, outcome.labels, 1, n_threads)
    return Model(
        schema,
        total,
        outcome.centres,
        replace(scaling, completion=completion),
        tuple(each_view(alpha, rows.n_views).tolist()),
        RowCounts.of(rows),
        consensus=consensus,
        n_clusters=chosen.n_clusters,
        links=links,
        curve=curve,
        choices=choices,
        weights=rows.weights,
        weight_unit=plan.weight_unit,
    )


def checked_rows(chunk: Chunk, plan: Plan, n_threads: int) -> MeasuredRows:
    """The rows of a chunk, measured under the plan: values that are not numbers are refused."""
    return MeasuredRows(chunk, weights=plan.weights).measure(n_threads)


def _scaled(
    rows: MeasuredRows, plan: Plan, scaling: Scaling, workspace: Workspace, rng: np.random.Generator
) -> tuple[Scaling, MeasuredRows]:
    """The rows scaled, and mapped by a map learnt from them if the plan has one."""
    n_threads = workspace.n_threads
    if isinstance(plan.projection, int):
        unit = scaling.mapped(None)
        scaled = unit.apply(rows.chunk, n_threads=n_threads)
        projection = learnt_projection(checked_rows(scaled, plan, n_threads), plan, workspace, rng)
        if projection is not None:
            mapped = projection.apply(scaled, n_threads=n_threads)
            return unit.mapped(projection), checked_rows(mapped, plan, n_threads)
    if scaling.plain:
        return scaling, rows
    return scaling, checked_rows(scaling.apply(rows.chunk, n_threads=n_threads), plan, n_threads)


def too_few(n_seen: int, n_clusters: int) -> str:
    """Say that there are fewer rows than clusters."""
    return (
        f"{n_seen} sample{'s' if n_seen != 1 else ''} with at least one view cannot form "
        f"{n_clusters} clusters (n_samples = {n_seen}). Give more rows or a smaller n_clusters."
    )
