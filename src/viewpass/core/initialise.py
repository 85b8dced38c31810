"""The first chunk: what centres it is to have, and how they are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from viewpass.core.auto.shape import prefer_graph
from viewpass.core.consensus.cut import cut
from viewpass.core.consensus.graph import gaps
from viewpass.core.consensus.number_of_clusters import Curve
from viewpass.core.consensus.soft_assignment import links_of, soft_assignment
from viewpass.core.consensus.stability import STABLE, STABLE_ENOUGH, stability
from viewpass.core.model import ANCHORS_A_CLUSTER, MOST_ANCHORS, ROWS_AN_ANCHOR, Plan
from viewpass.core.start import candidates as start
from viewpass.core.state.centres import Centres
from viewpass.core.step import chunk_step as step
from viewpass.core.step.chunk_step import Outcome, Rules
from viewpass.core.step.workspace import Workspace
from viewpass.errors import SettingError
from viewpass.kernels.grid import Integers
from viewpass.views.chunk import Schema
from viewpass.views.rows import MeasuredRows

LEAST_A_CLUSTER = 4  # anchors; with fewer a graph says nothing
ANCHOR_SUMS = 2**23  # kept of them, columns x anchors, where that leaves enough of them
SUPPOSED_CLUSTERS = 10  # where their number is to be found


class Beginning(NamedTuple):
    """The first chunk settled, and what its centres are."""

    outcome: Outcome
    consensus: str  # "plain", "merge" or "graph"
    links: Integers | None
    curve: Curve | None = None  # what the number of plain clusters was read off


def begin(
    rows: MeasuredRows, plan: Plan, workspace: Workspace, rng: np.random.Generator, *, whole: bool = False
) -> Beginning:
    """Make the first centres, of clusters or of anchors; `whole` if there are no rows but these."""
    rows.measure(workspace.n_threads)
    n_anchors = anchors_for(plan, int((rows.n_seen > 0).sum()), rows.n_columns)
    if plan.consensus == "plain" or n_anchors == 0:
        return _plain(rows, plan, workspace, rng, whole)
    before = rng.bit_generator.state
    outcome = start.scattered(rows, n_anchors, plan.rules, workspace, rng, whole=whole)
    if plan.consensus == "merge":
        return Beginning(outcome, "merge", None)
    links = links_of(soft_assignment(rows, outcome.centres, workspace), n_anchors)
    if plan.consensus == "auto":
        n_clusters = plan.n_clusters or gaps(links).n_clusters
        if not _trusted(outcome.centres, rows, n_clusters, workspace):
            rng.bit_generator.state = before  # as if anchors had never been tried
            curve = None
            if plan.n_clusters is None:
                curve = cut(outcome.total, None, plan.rules.alpha, None).curve
                assert curve is not None
                plan = replace(plan, n_clusters=curve.n_clusters)
            return _plain(rows, plan, workspace, rng, whole)._replace(curve=curve)
    return Beginning(outcome, "graph", links)


def _trusted(anchors: Centres, rows: MeasuredRows, n_clusters: int, workspace: Workspace) -> bool:
    """Whether the graph is followed: it is stable, and the views, if there are several, agree on it."""
    stable = stability(rows, anchors, n_clusters, workspace)
    if stable < STABLE_ENOUGH:
        return False
    asked = prefer_graph(rows, n_clusters, workspace)
    return stable >= STABLE if asked is None else asked


def begin_unweighed(
    rows: MeasuredRows, plan: Plan, workspace: Workspace, rng: np.random.Generator, *, whole: bool = False
) -> Outcome:
    """Centres of clusters while all views count the same: what their weights are learnt from."""
    rows.measure(workspace.n_threads)
    supposed = min(SUPPOSED_CLUSTERS, max(1, int((rows.n_seen > 0).sum())))
    plan = replace(plan, n_clusters=plan.n_clusters or supposed)
    return begin_plain(rows, plan, workspace, rng, whole=whole)


def _plain(
    rows: MeasuredRows, plan: Plan, workspace: Workspace, rng: np.random.Generator, whole: bool
) -> Beginning:
    return Beginning(begin_plain(rows, plan, workspace, rng, whole=whole), "plain", None)


def anchors_for(plan: Plan, n_rows: int, n_columns: int) -> int:
    """How many anchors suit the clusters, the warm-up and memory; 0 where there cannot be enough of them."""
    if plan.n_anchors is not None:
        return max(min(plan.n_anchors, n_rows), plan.n_clusters or 1)
    n_clusters = plan.n_clusters or SUPPOSED_CLUSTERS
    least = LEAST_A_CLUSTER * n_clusters
    fitting = max(ANCHOR_SUMS // n_columns, least)
    suited = min(ANCHORS_A_CLUSTER * n_clusters, n_rows // ROWS_AN_ANCHOR, fitting, MOST_ANCHORS)
    if suited >= least:
        return suited
    if plan.consensus == "auto" and plan.n_clusters is not None:
        return 0
    return max(min(2 * n_clusters, n_rows), plan.n_clusters or 1)


def begin_plain(
    rows: MeasuredRows,
    plan: Plan,
    workspace: Workspace,
    rng: np.random.Generator,
    *,
    whole: bool = False,
) -> Outcome:
    """Make the first centres of clusters as the plan says."""
    assert plan.n_clusters is not None
    init, rules, n_clusters = plan.init, plan.rules, plan.n_clusters
    rows.measure(workspace.n_threads)
    if isinstance(init, str):
        if init == "random":
            memberships = start.soft_memberships(rows, n_clusters, rng)
            centres = step.soft_centres(rows, memberships, rules, workspace)
            del memberships  # as large as the distances that come next
            return step.from_soft(rows, centres, rules, workspace)
        if init == "one seeding":
            return start.seeded(rows, n_clusters, rules, workspace, rng)
        return start.compete(rows, n_clusters, init, rules, workspace, rng, whole=whole)
    if isinstance(init, np.ndarray):
        return _from_given(rows, init, n_clusters, rules, workspace)
    given = _given_centres(init, rows, n_clusters)
    nothing = step.empty_statistics(rows, n_clusters)
    return step.from_centres(rows, nothing, given, rules, workspace)


def _from_given(
    rows: MeasuredRows, init: Any, n_clusters: int, rules: Rules, workspace: Workspace
) -> Outcome:
    if len(init) != rows.n_rows:
        raise SettingError(
            f"init has {len(init)} rows, the first chunk has {rows.n_rows}: init as an array says "
            "how the rows of the first chunk start."
        )
    if init.ndim == 1:
        labels = init.astype(np.int32)
    elif np.isin(init, (0, 1)).all() and (init.sum(axis=1) == 1).all():
        labels = init.argmax(axis=1).astype(np.int32)
    else:
        memberships = np.ascontiguousarray(init, dtype=np.float64)
        return step.from_memberships(rows, memberships, rules, workspace)
    return start.from_labels(rows, labels, n_clusters, rules, workspace)


def _given_centres(init: Sequence[Any], rows: MeasuredRows, n_clusters: int) -> Centres:
    check_given(init, rows.chunk.schema, n_clusters)
    lengths = np.sqrt(np.where(rows.squares > 0, rows.squares, 1.0))  # of rows, as their views are weighed
    return Centres.of(
        [np.array(u, dtype=np.float64, order="C") * length for u, length in zip(init, lengths, strict=True)]
    )


def check_given(init: Sequence[Any], schema: Schema, n_clusters: int) -> None:
    """Refuse given centres that do not fit the views."""
    if len(init) != len(schema.names):
        raise SettingError(f"init has centres of {len(init)} views, the data has {len(schema.names)}.")
    for name, width, values in zip(schema.names, schema.widths, init, strict=True):
        if width is not None and values.shape != (n_clusters, width):
            raise SettingError(
                f"init, view {name!r}: centres of shape {values.shape}, ({n_clusters}, {width}) was expected."
            )
