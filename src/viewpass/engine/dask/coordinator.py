"""The coordinator of a chunk whose rows are on workers: `Stream.learn` from sums alone, to the bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Protocol

import numpy as np

from viewpass.core.consensus.anchor_merges import shrunk
from viewpass.core.consensus.births import Candidates, chosen, opened
from viewpass.core.consensus.searched_step import is_searched, moved_once
from viewpass.core.model import Model
from viewpass.core.plan import Rules
from viewpass.core.start.given import scaled_centres
from viewpass.core.state.alpha import Alpha, each_view
from viewpass.core.state.census import Census
from viewpass.core.state.centres import Centres, loss, update, wants_mean
from viewpass.core.state.growth import Anchors
from viewpass.core.state.row_counts import RowCounts
from viewpass.core.state.sample import Sample
from viewpass.core.state.statistics import Statistics, added
from viewpass.core.step.workspace import Workspace
from viewpass.core.stream import ChunkResult
from viewpass.engine.dask.shards import Stage, Tally
from viewpass.kernels.grid import STEP, Array, Floats, Links, Mask
from viewpass.views.chunk import Schema
from viewpass.views.scaling import Scaling


class Shards(Protocol):
    """The shards of one chunk together; each result is the sum of theirs."""

    def candidates(self, stage: Stage) -> list[Candidates]:
        """Rows that may open an anchor, of each shard."""

    def sampled(self, most: int, limit: int) -> list[Sample]:
        """Rows that belong to the sample of the stream, of each shard."""

    def assign(self, stage: Stage) -> Tally:
        """Assign new rows to the centres so far."""

    def measured(self, n_clusters: int) -> Tally:
        """Count the rows and views."""

    def follow(self, before: Stage | None, after: Stage) -> Tally:
        """Reassign rows; reports the moves from the centres (None: the labels of the last pass) before."""

    def links(self, stage: Stage) -> Links:
        """Edge weights of the anchor graph from the rows."""

    def row_sums(self) -> Sequence[Statistics]:
        """The sum of the rows of each shard."""


def blank(schema: Schema, init: Sequence[Array], n_clusters: int, alpha: Alpha) -> Model:
    """A model of no rows whose centres were given, in the scale of the data."""
    scaling = Scaling.none(len(schema.names))
    centres = Centres.of(scaled_centres(init, scaling, schema, n_clusters))
    total = Statistics(n_clusters, [u.shape[1] for u in init])
    alphas = tuple(each_view(alpha, len(schema.names)).tolist())
    census = Census.none(n_clusters)
    return Model(schema, total, centres, scaling, alphas, n_clusters=n_clusters, census=census)


def first_stage(model: Model, name: str) -> Stage:
    """The centres that new rows of a round are first assigned by."""
    stage = Stage(f"{name}.0", model.centres, searched=is_searched(model.links, model.centres))
    if model.growth is not None:  # links are counted with the anchors that the rows open
        return replace(stage, lineage=model.growth.lineage, linked=stage.searched)
    return replace(stage, linked=model.links is not None)


def candidates_of(shards: Shards, model: Model, name: str) -> Candidates | None:
    """Rows of a round that may open an anchor; None where anchors are not born."""
    return None if model.anchors is None else chosen(shards.candidates(first_stage(model, f"{name}.births")))


def advance(
    shards: Shards,
    model: Model,
    rules: Rules,
    name: str,
    *,
    again: bool,
    first: bool = False,
    found: Candidates | None = None,
) -> tuple[ChunkResult, Stage]:
    """Process one round, and give what it leaves behind for the stream to commit.

    `again`: in the second pass or later, from the labels of the pass before; `first`: the first round of
    its pass. Labels are assigned by the centres of the stage returned. `name` tells rounds apart.
    `found`: rows that may open an anchor, where these are known.
    """
    if model.anchors is not None and not again:
        found = found or candidates_of(shards, model, name)
        assert found is not None
        grown = opened(model.anchors, found, model.n_rows + found.n_rows, Workspace(1))
        model = model.grown(grown)
    stage = first_stage(model, name)
    tally = shards.measured(model.total.n_clusters) if again else shards.assign(stage)
    schema = model.schema.merged(tally.schema)
    total = added(model.widened(schema), tally.change)
    new = RowCounts() if again else tally.read
    if stage.searched:
        if again:
            total = added(total, shards.follow(None, stage).change)
        given = total, model.centres, tally.seen, rules, lambda: means_of(shards.row_sums())
        (centres, value), n_iter = moved_once(*given), int(tally.seen.any())
    elif tally.read.n_seen:
        coordinator = Coordinator(total, model.centres, tally.seen, rules)
        stage = settle(coordinator, shards, stage, name, again=again)
        value, n_iter, centres = coordinator.loss, coordinator.n_iter, stage.centres
    else:
        value, n_iter, centres = loss(model.centres, total, rules.alpha), 0, stage.centres
    read = model.read + new  # the curve begins with the first view
    losses = [value * model.square_unit / read.n_rows] if read.n_seen else []
    links = model.links
    if links is not None:  # every pass counts its own
        mine = shards.links(stage) if again or tally.links is None else tally.links
        links = mine if again and first else links + mine
    counts = new, n_iter, losses
    if model.growth is None or again:
        return ChunkResult(schema, total, centres, links, *counts), stage
    anchors = shrunk(Anchors(total, centres, links, model.growth), read.n_rows, rules)
    growth = anchors.growth
    if growth.sample is not None:
        growth = growth.with_rows(shards.sampled(growth.sample.most, growth.sample.limit))
    return ChunkResult(schema, anchors.total, anchors.centres, anchors.links, *counts, growth), stage


def settle(coordinator: Coordinator, shards: Shards, stage: Stage, name: str, *, again: bool) -> Stage:
    """Update centres and reassign rows in turn until the chunk has converged; gives the last centres."""
    means: Sequence[Floats | None] | None = None
    before = None if again else stage
    while True:
        if means is None and coordinator.wants_mean():
            means = means_of(shards.row_sums())
        coordinator.update(means or [None] * len(coordinator.centres.values))
        stage = Stage(f"{name}.{coordinator.n_iter}", coordinator.centres, lineage=stage.lineage)
        if coordinator.take(shards.follow(before, stage)):
            return stage
        before = stage


class Coordinator:
    """The inner iterations of a chunk from its sums alone: `update`, let the shards reassign, `take`."""

    def __init__(self, total: Statistics, centres: Centres, seen: Mask, rules: Rules) -> None:
        self.total, self.centres = total, centres
        self.loss = 0.0
        self.n_iter = 0
        self._seen, self._rules = seen, rules
        self._changed: Mask = np.ones(total.n_clusters, dtype=bool)
        self._last_loss: float | None = None

    def wants_mean(self) -> bool:
        """Whether the next update fills a centre with the mean of the chunk."""
        if self._rules.fill is None:
            return False
        return wants_mean(self.total, self.centres, self._seen, self._changed)

    def update(self, means: Sequence[Floats | None]) -> None:
        """Eq. 13; `means` of the views fill clusters without rows that never had a centre."""
        self.n_iter += 1
        given = self.total, self._seen, self.centres, self._changed, self._rules.alpha
        self.centres = update(*given, fill=self._rules.fill is not None, means=means)

    def take(self, tally: Tally) -> bool:
        """Add what the shards report; says whether the chunk has converged."""
        self.total.include(tally.change)
        self._changed = tally.touched
        self.loss = loss(self.centres, self.total, self._rules.alpha, tally.touched)
        last, self._last_loss = self._last_loss, self.loss
        if not tally.touched.any() or self.n_iter >= self._rules.max_iter:
            return True
        return last is not None and abs(self.loss - last) < self._rules.tol * abs(last)


def means_of(sums: Sequence[Statistics]) -> list[Floats | None]:
    """The mean of a chunk's observed rows in each view, from the sums of its shards."""
    total = reduce(added, sums)
    return [
        steps[0] * STEP / int(counts[0]) if counts[0] else None
        for steps, counts in zip(total.steps, total.counts, strict=True)
    ]
