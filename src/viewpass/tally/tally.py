"""The tally of rows under a model that stays as it is: sums over rows, in any order and on any machine.

    R, T, squares   sums and counts of each centre (Eq. 12), or of each cluster by the rows' labels
    links           z z' of the anchor graph (graph/soft_assignment.py)
    census          rows of each of them along the data, and of each presence pattern

All of it is whole numbers, so tallies of parts of the data are added in any order. The tally of all rows
refines the model: ridge and centres (Eq. 13), clusters of anchors by the links. Before all rows were read,
each sampled row stands for as many of them as there are (`estimated`); where the sample holds all rows, that
is exact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from viewpass.graph.soft_assignment import links_of, soft_assignment
from viewpass.kernels.grid import GRID, Array, Integers, Labels, Links
from viewpass.model.model import Model, assign, labels_of, prepare
from viewpass.reasons.outliers import outliers
from viewpass.sample.keys import HIGHEST, row_keys
from viewpass.sample.sample import Sample, taken
from viewpass.solve.ridge import estimated_alpha
from viewpass.sums.centres import Centres, update
from viewpass.sums.row_counts import BINS, Census, RowCounts
from viewpass.sums.rules import Workspace
from viewpass.sums.statistics import Statistics, added
from viewpass.views.chunk import Chunk, Schema
from viewpass.views.rows import MeasuredRows

ROUNDS = 8  # centre updates of clusters that go on


@dataclass(frozen=True)
class Tally:
    """Sums over rows: by centre, or by label."""

    schema: Schema
    total: Statistics
    census: Census
    read: RowCounts
    links: Links | None = None

    def plus(self, other: Tally) -> Tally:
        """The tally of the rows of both."""
        links = self.links if other.links is None else other.links
        if self.links is not None and other.links is not None:
            links = self.links + other.links
        total = added(self.total, other.total)
        total.check_room()
        return Tally(
            self.schema.merged(other.schema),
            total,
            self.census.joined(other.census),
            self.read + other.read,
            links,
        )


def tally_by_centre(chunk: Chunk, model: Model, workspace: Workspace, limit: int = HIGHEST) -> Tally:
    """What rows with keys up to a limit add to the centres of a model, and to the links of its anchors.

    Rows beyond the outlier limits that the model may have add nothing, but are counted as read.
    """
    if limit < HIGHEST:
        which = np.flatnonzero(row_keys(chunk) <= np.uint64(limit))
        chunk = taken(chunk, which).numbered(which + chunk.start)
    rows = prepare(chunk, model, workspace)
    links, copies, far = None, rows.chunk.copies, np.zeros(chunk.n_rows, dtype=bool)
    if model.limits is not None:
        far = outliers(rows.measure(workspace.n_threads), model, model.limits, workspace)
        copies = np.where(far, 0, 1 if copies is None else copies)
    if model.links is None:
        labels = assign(rows, model.centres, workspace)[0]
    else:
        soft = soft_assignment(rows, model.centres, workspace)
        labels = soft.labels
        links = links_of(soft, model.centres.n_clusters, copies)
    labels = np.where(far, np.int32(-1), labels)
    return replace(tally_rows(chunk, rows, labels, model.centres.n_clusters, workspace), links=links)


def tally_by_label(chunk: Chunk, model: Model, workspace: Workspace) -> tuple[Tally, Labels]:
    """What the rows of a chunk add to the clusters of a model, and their labels."""
    rows = prepare(chunk, model, workspace)
    labels = labels_of(rows, model, workspace)
    return tally_rows(chunk, rows, labels, model.n_clusters, workspace), labels


def tally_rows(
    chunk: Chunk, rows: MeasuredRows, labels: Labels, n_groups: int, workspace: Workspace
) -> Tally:
    """What rows of these labels add; `rows` are those of the chunk as they were compared."""
    total = Statistics(n_groups, rows.widths)
    if rows.unmapped is not None:
        total.unmapped = Statistics(n_groups, rows.unmapped.widths)
    rows.measure(workspace.n_threads)
    labels = np.where(rows.counted, labels, -1).astype(np.int32)
    total.move(rows, labels, 1, workspace.n_threads)
    total.check_room()
    census = Census.none(n_groups).added(labels, chunk.start, rows.inverse > 0)
    return Tally(chunk.schema, total, census, RowCounts.of(rows))


def with_tally(model: Model, tally: Tally) -> Model:
    """The model with the sums of a tally; the graph of its anchors is that of the tallied rows."""
    schema = model.schema.merged(tally.schema)
    return replace(
        model,
        schema=schema,
        total=tally.total.widened(model.scaling.widths(schema.widths)),
        read=tally.read,
        census=tally.census,
        links=tally.links,
        labelled=None,
    )


def moved(model: Model, *, auto_alpha: bool) -> Model:
    """The model with its centres where its sums have them (Eq. 13), under the ridge that they suggest."""
    if auto_alpha:
        model = replace(model, alpha=estimated_alpha(model.total, model.row_squares, model.weight_unit))
    n_views = len(model.schema.names)
    known = np.array([u is not None for u in model.centres.values])
    everyone = np.ones(model.centres.n_clusters, dtype=bool)
    given = model.total, known, model.centres, everyone, model.alpha
    return replace(model, centres=update(*given, fill=True, means=[None] * n_views))


def refined(
    model: Model, chunk: Chunk, known: Labels, kept: Array, workspace: Workspace, *, auto_alpha: bool
) -> Model:
    """Some clusters of a model, given the labels of rows, and one more if `kept` ends with -1; no anchors.

    That is one of the rows that no cluster explains (-1). Otherwise these go to the nearest.
    """
    n_more, number = int((kept < 0).sum()), len(kept)
    kept = kept[kept >= 0]
    labels = np.where(known < 0, number - 1 if n_more else -1, np.searchsorted(kept, known)).astype(np.int32)
    values = [
        None if u is None else np.append(u[kept], np.zeros((n_more, u.shape[1])), axis=0)
        for u in model.centres.values
    ]
    empty = np.zeros(n_more, dtype=bool)
    centres = Centres(values, [np.append(there[kept], empty) for there in model.centres.known])
    model = replace(model, centres=centres, n_clusters=number, calibration=None)
    tally = tally_rows(chunk, prepare(chunk, model, workspace), labels, number, workspace)
    for _ in range(ROUNDS):
        model = moved(with_tally(model, tally), auto_alpha=auto_alpha)
        tally = tally_by_centre(chunk, model, workspace)
    return moved(with_tally(model, tally), auto_alpha=auto_alpha)


def loss_of(chunk: Chunk, labels: Labels, model: Model, workspace: Workspace) -> float:
    """Squared distances of rows to the means of clusters of these labels, as a model scales them."""
    n_groups = int(labels.max(initial=0)) + 1
    total = tally_rows(chunk, prepare(chunk, model, workspace), labels, n_groups, workspace).total
    return total.objective(model.alpha, model.row_squares)


def final(model: Model, tally: Tally) -> Model:
    """The model with what all rows add up to by their labels."""
    schema = model.schema.merged(tally.schema)
    widths = model.scaling.widths(schema.widths)
    return replace(
        model,
        schema=schema,
        total=model.total.widened(widths),
        labelled=tally.total.widened(widths),
        census=tally.census,
        read=tally.read,
    )


class Estimate(NamedTuple):
    """Sums of all rows by label, rows of each cluster along the data, and counts of rows."""

    total: Statistics
    census: Census
    read: RowCounts


def estimated(
    model: Model, sample: Sample, read: RowCounts | None, workspace: Workspace, *, same_scale: bool = False
) -> Estimate:
    """What the rows `read` add up to by their labels under a model; None: those of the sample.

    How many rows have a view depends on the scale: it is known if they were read in the `same_scale`.
    """
    assert sample.chunk is not None
    tally, labels = tally_by_label(sample.chunk, model, workspace)
    read = read or tally.read
    counted = labels if sample.chunk.copies is None else np.where(sample.chunk.copies > 0, labels, -1)
    rows, present = read.n_rows / tally.read.n_rows, read.n_present / max(tally.read.n_present, 1)
    if same_scale:
        rows = read.n_seen / max(tally.read.n_seen, 1)
        present = read.n_with_views / max(tally.read.n_with_views, 1)
    else:
        read = read.like(tally.read)
    census = _along(counted, sample.numbers, model.n_clusters, rows)
    census = replace(census, patterns=tally.census.patterns, n_other=tally.census.n_other)
    total = tally.total.widened(model.scaling.widths(model.schema.widths))
    return Estimate(_of_all(total, present), census, read)


def _along(labels: Labels, numbers: Integers, n_clusters: int, factor: float) -> Census:
    """Rows of each cluster along the data; their sum is rounded once, and whole rows are divided fairly."""
    there = labels >= 0
    n_along, width = int(numbers.max(initial=-1)) + 1, 1
    while -(-n_along // width) > BINS:
        width *= 2
    counts = np.zeros((-(-n_along // width), n_clusters), dtype=np.int64)
    np.add.at(counts, (numbers[there] // width, labels[there]), 1)
    if factor > 1:
        shares = counts * factor
        counts = shares.astype(np.int64)
        n_more = round(int(there.sum()) * factor) - int(counts.sum())
        first = np.argsort((counts - shares).reshape(-1), kind="stable")[: max(n_more, 0)]
        counts.reshape(-1)[first] += 1
    return Census(width, counts, {})


def _of_all(total: Statistics, factor: float) -> Statistics:
    """Counts are multiplied and rounded down, so that no more rows have a view than there are.

    Sums follow them, so that none exceeds its count.
    """
    if factor <= 1:
        return total
    made = total.copy()
    for v, before in enumerate(total.counts):
        counts = (before * factor).astype(np.int64)
        made.counts[v][:] = counts
        for each in (made, made.unmapped):
            if each is not None and each.steps[v].size:
                each.counts[v][:] = counts
                ratio, most = counts / np.maximum(before, 1), counts[:, None] * GRID
                sums = np.rint(each.steps[v] * ratio[:, None]).astype(np.int64)
                each.steps[v][:] = np.clip(sums, -most, most)
    ratios = [int(a.sum()) / max(int(b.sum()), 1) for a, b in zip(made.counts, total.counts, strict=True)]
    made.kept = tuple(
        None if own is None else own._replace(square=int(own.square * ratio))
        for own, ratio in zip(made.kept, ratios if made.kept else (), strict=True)
    )
    return made
