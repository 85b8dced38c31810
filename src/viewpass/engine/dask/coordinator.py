"""The coordinator of a chunk whose rows are on workers: `Stream.learn` from sums alone, to the bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from viewpass.core.model import Model, widened
from viewpass.core.state.centres import Centres, loss
from viewpass.core.state.statistics import Statistics, added
from viewpass.core.step.chunk_step import Rules
from viewpass.engine.dask.shards import Coordinator, Stage, Tally, means_of
from viewpass.kernels.grid import Array, Floats, Integers
from viewpass.views.chunk import Schema
from viewpass.views.scaling import Scaling


class Shards(Protocol):
    """The shares of one chunk, asked together; each answer is the sum of theirs."""

    def look(self, stage: Stage) -> Tally:
        """New rows under the centres so far."""

    def measured(self, n_clusters: int) -> Tally:
        """What the rows are."""

    def follow(self, before: Stage | None, after: Stage) -> Tally:
        """How rows move from the centres before, or from the labels of the last pass (None)."""

    def links(self, stage: Stage) -> Integers:
        """What anchors have in common by the rows."""

    def row_sums(self) -> Sequence[Statistics]:
        """The sum of the rows of each share."""


def blank(schema: Schema, given: Sequence[Array], scaling: Scaling, alpha: float) -> Model:
    """A model of no rows whose centres were given."""
    centres = Centres.of([np.array(u, dtype=np.float64, order="C") for u in given])
    total = Statistics(centres.n_clusters, [u.shape[1] for u in given])
    return Model(schema, total, centres, scaling, alpha, n_clusters=centres.n_clusters)


def expected(model: Model) -> Schema:
    """What rows must be like: views that no row has had yet may have centres all the same."""
    widths = zip(model.schema.widths, model.centres.widths(model.schema.widths), strict=True)
    return replace(model.schema, widths=tuple(width or other or None for width, other in widths))


def first_stage(model: Model, name: str) -> Stage:
    """The centres that new rows of the round of this name are first looked at by."""
    return Stage(f"{name}.0", model.centres, mixed=model.links is not None)


def advance(
    shares: Shards, model: Model, rules: Rules, name: str, *, again: bool, first: bool = False
) -> tuple[Model, Stage]:
    """Read one round (`again`: in a later pass, from its last labels); gives the model after it.

    `first`: it is the first of its pass.

    The stage returned is the one its labels are decided by. `name` tells rounds apart. The model given
    stays as it was, but for its loss curve, which goes on.
    """
    n_clusters = model.total.n_clusters
    stage = first_stage(model, name)
    tally = shares.measured(n_clusters) if again else shares.look(stage)
    schema = model.schema.merged(tally.schema)
    total = added(widened(model.total, schema), tally.change)
    n_rows, n_without_views = model.n_rows, model.n_without_views
    if not again:
        n_rows, n_without_views = n_rows + tally.n_rows, n_without_views + tally.n_rows - tally.n_seen
    if tally.n_seen:
        lead = Coordinator(total, model.centres, tally.seen, rules)
        stage = settle(lead, shares, stage, name, again=again)
        value, n_iter = lead.loss, lead.n_iter
    else:
        value, n_iter = loss(model.centres, total, rules.alpha), 0
    total.check_room()
    if n_rows > n_without_views:  # rows without any view before all others are passed over
        model.loss_curve.append(value / n_rows)
    links = model.links
    if links is not None:  # every pass counts its own
        mine = shares.links(stage) if again else tally.links
        assert mine is not None
        links = mine if again and first else links + mine
    after = replace(
        model,
        schema=schema,
        total=total,
        centres=stage.centres,
        n_rows=n_rows,
        n_without_views=n_without_views,
        n_iter=model.n_iter + n_iter,
        links=links,
    )
    return after, stage


def settle(lead: Coordinator, shares: Shards, stage: Stage, name: str, *, again: bool) -> Stage:
    """Centres and labels in turn until they stand still; gives the last centres."""
    means: Sequence[Floats | None] | None = None
    before = None if again else stage
    while True:
        if means is None and lead.wants_mean():
            means = means_of(shares.row_sums())
        lead.update(means or [None] * len(lead.centres.values))
        stage = Stage(f"{name}.{lead.n_iter}", lead.centres)
        if lead.take(shares.follow(before, stage)):
            return stage
        before = stage
