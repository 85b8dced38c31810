"""Clusters of a long stream: solved once more on a sample of all its rows.

K centres made of the first rows, and moved by those that follow, depend on which rows came first. So where
the first rows chose centres, and did not find them well separated, the stream carries a few anchors per
cluster (for the sums of all rows), and a sample of the rows read that does not depend on their order
(state/sample.py). The centres are those of the sample, found by a search that leaves local optima
(start/breathing.py); each anchor, with its sums, belongs to the nearest of them.

The same sample settles a doubt about the graph: where the first rows preferred it by little, the question is
asked again once there are AGAIN times as many rows.

All of it follows from the state of the stream when somebody wants to see the model: the stream itself goes
on with its anchors.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from viewpass.core.auto.choose import choose
from viewpass.core.initialise import initialise_searched
from viewpass.core.model import Model, assign, distances
from viewpass.core.outgrown import MERGED_PER_CLUSTER
from viewpass.core.plan import Plan
from viewpass.core.state.centres import Centres
from viewpass.core.state.choice import Choice
from viewpass.core.state.growth import Growth
from viewpass.core.state.lineage import Lineage
from viewpass.core.state.sample import Sample
from viewpass.core.step.workspace import Workspace
from viewpass.kernels.grid import Floats, Integers
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows
from viewpass.views.seeds import own_generator

MOST_ROWS, ROWS_PER_CLUSTER = 8192, 50  # of the sample: at most, and at least
MOST_VALUES = 2**22  # of its dense views, unless that leaves too few rows
AGAIN = 4  # times the rows that the question was asked of
DOUBT = (
    5.0  # standard errors by which a graph was better, or more: it stays; first rows may not be like the rest
)


def sample_of(plan: Plan, rows: MeasuredRows, choices: Sequence[Choice], shape: str) -> Sample | None:
    """The sample of a stream that begins with these scaled rows; None if it needs none.

    `plan` is as it was given; `shape` is what it was decided to be by these choices.
    """
    asked = _asked(choices)
    if plan.consensus != "auto" or not plan.adaptive or plan.reservoir or asked is None:
        return None
    if shape == "graph" and not _in_doubt(asked):
        return None
    if any(rows.marks) or rows.unmapped is not None:
        return None
    n_dense = sum(view.shape[1] for view in rows.chunk.views if isinstance(view, np.ndarray))
    least = ROWS_PER_CLUSTER * (plan.n_clusters or 1)
    most = min(MOST_ROWS, max(MOST_VALUES // max(n_dense, 1), least))
    return None if most < least else Sample(most).with_rows(rows)


def grown_for(n_clusters: int, sample: Sample) -> Growth:
    """A few anchors per cluster, which begin as the clusters of the first rows."""
    return Growth(MERGED_PER_CLUSTER * n_clusters, Lineage.of(n_clusters), sample=sample)


def settled(model: Model, plan: Plan, workspace: Workspace) -> Model:
    """The model that people see: the clusters of the sample where there is one."""
    if model.growth is None or model.growth.sample is None or not model.growth.sample.n_rows:
        return model
    rows = model.growth.sample.measured(model.weights, reference=plan.reference)
    own = Workspace(workspace.n_threads)
    choices = model.choices
    if model.consensus == "graph":
        again = _asked_again(model, plan, rows, own)
        if again is None or again.chosen != "plain":
            return model
        choices = (*choices, again)
    given = replace(plan, n_clusters=model.n_clusters, consensus="plain", weights=None, init="auto")
    outcome, alpha = initialise_searched(rows, given, own, own_generator())
    owners = _owners(model, outcome.centres, own, reference=plan.reference)
    lineage = _merged(model.growth.lineage, owners, model.n_clusters)
    census = None if model.census is None else model.census.grouped(owners.astype(np.int32), model.n_clusters)
    return replace(
        model,
        total=model.total.grouped(owners, model.n_clusters),
        centres=outcome.centres,
        alpha=tuple(np.broadcast_to(alpha, rows.n_views).tolist()),
        consensus="plain",
        links=None,
        growth=Growth(model.growth.most, lineage),
        census=census,
        choices=choices,
    )


def _owners(model: Model, centres: Centres, workspace: Workspace, *, reference: bool) -> Integers:
    """The cluster of each anchor: the nearest, but each cluster has one at least."""
    values = model.centres.values
    chunk = Chunk(tuple(values), model.schema.names, model.centres.n_clusters)
    inverse = np.where(np.array(model.centres.known), 1.0, 0.0)
    rows = MeasuredRows.known(chunk, inverse, reference=reference, weights=model.weights)
    owners = np.maximum(assign(rows, centres, workspace)[0], 0).astype(np.int64)
    for k in np.setdiff1d(np.arange(centres.n_clusters), owners):
        shared = np.flatnonzero(np.bincount(owners, minlength=centres.n_clusters)[owners] > 1)
        one = centres.take(np.array([k]))
        apart = _apart(rows, one, workspace)[shared]
        owners[shared[int(np.argmin(apart))]] = k
    return owners


def _apart(rows: MeasuredRows, centre: Centres, workspace: Workspace) -> Floats:
    found = distances(rows, centre, workspace)[:, 0]
    apart: Floats = np.where(np.isnan(found), np.inf, found)
    return apart


def _merged(lineage: Lineage, owners: Integers, n_clusters: int) -> Lineage:
    """The lineage of the clusters: whatever rows were recorded under leads to that of its anchor."""
    names = np.array([lineage.names[np.flatnonzero(owners == k)[0]] for k in range(n_clusters)])
    anchors = lineage.places(np.arange(lineage.n_names, dtype=np.int32))
    return Lineage(names.astype(np.int32), names[owners[anchors]].astype(np.int32))


def _asked(choices: Sequence[Choice]) -> Choice | None:
    """The choice between centres and a graph, if their scores decided it."""
    found = [choice for choice in choices if choice.what == "consensus" and choice.scores]
    return found[-1] if found else None


def _in_doubt(asked: Choice) -> bool:
    gain = asked.scores.get("graph", 0.0) - asked.scores.get("plain", 0.0)
    return gain < DOUBT * asked.error


def _asked_again(model: Model, plan: Plan, rows: MeasuredRows, workspace: Workspace) -> Choice | None:
    """The choice by the sample; None where it would be no better founded than the first."""
    if model.n_rows < AGAIN * max(plan.warmup, 1) or not model.scaling.plain:
        return None
    given = replace(plan, n_clusters=model.n_clusters, scale=(), projection=None)
    found = _asked(choose(rows, given, workspace, whole=True).choices)
    logging.getLogger("viewpass").info("asked again: %s", found)
    return None if found is None else replace(found, reason=f"{found.reason}, asked again")
