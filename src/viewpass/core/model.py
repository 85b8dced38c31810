"""What a stream is told, what it has learnt, and what it says of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from viewpass.core.consensus.cut import Cut, cut, grouped
from viewpass.core.consensus.number_of_clusters import Curve
from viewpass.core.consensus.soft_assignment import soft_assignment
from viewpass.core.reservoir import Reservoir
from viewpass.core.state.centres import Centres
from viewpass.core.state.statistics import Statistics
from viewpass.core.state.view_weights import Weights
from viewpass.core.step.chunk_step import Rules
from viewpass.core.step.workspace import Workspace
from viewpass.kernels.backend import backend
from viewpass.kernels.grid import Floats, Integers, Labels
from viewpass.views.chunk import Chunk, Schema
from viewpass.views.rows import MeasuredRows
from viewpass.views.scaling import Scaling

MOST_ANCHORS = 1000  # unless more are asked for
ANCHORS_A_CLUSTER = 20
ROWS_AN_ANCHOR = 5  # of those they are made from, at least


@dataclass(frozen=True)
class Plan:
    """What a stream is told before its first row."""

    n_clusters: int | None  # None: as many as the anchors suggest
    rules: Rules
    init: Any = "auto"  # a name (start.CANDIDATES, "random", "one seeding"), V, labels or centres
    warmup: int = 0
    reference: bool = False
    scale: tuple[str, ...] = ()  # a name a view (scaling.NAMES); (): unit length for all
    n_anchors: int | None = None  # None: as many as suit the clusters and the warm-up
    consensus: str = "plain"  # "plain", "merge", "graph", or "auto": plain or graph, as the warm-up tells
    weights: Weights | str | None = None  # of the views, by the largest; "auto": as the warm-up tells
    reservoir: int = 0  # rows kept and labelled again after every chunk

    @property
    def most_centres(self) -> int:
        """More centres there cannot be."""
        if self.consensus == "plain":
            return self.n_clusters or 1
        return max(self.n_clusters or 1, self.n_anchors or MOST_ANCHORS, 2 * (self.n_clusters or 0))


@dataclass
class Model:
    """What a stream has learnt: enough to predict, to report and to go on.

    Its centres are the clusters ("plain"), or anchors that form the clusters together.
    """

    schema: Schema
    total: Statistics
    centres: Centres
    scaling: Scaling
    alpha: float
    n_rows: int = 0
    n_without_views: int = 0
    n_iter: int = 0
    loss_curve: list[float] = field(default_factory=list)
    consensus: str = "plain"
    n_clusters: int | None = None  # asked for
    links: Integers | None = None  # of the anchors, for a graph
    counted: Curve | None = None  # what the number of plain clusters was read off, where it was not given
    weights: Weights | None = None  # of the views, by the largest; None: all count the same

    @cached_property
    def cut(self) -> Cut | None:
        """The clusters that the anchors form; None where every centre is one."""
        if self.consensus == "plain":
            return None
        return cut(self.total, self.links, self.alpha, self.n_clusters)

    @property
    def curve(self) -> Curve | None:
        """What the number of clusters was read off; None where it was given."""
        return self.counted if self.cut is None else self.cut.curve

    @cached_property
    def clusters(self) -> Statistics:
        """Sums and counts of the clusters."""
        return self.total if self.cut is None else grouped(self.total, self.cut)

    @property
    def view_weights(self) -> Weights:
        """What each view's squared distances count for; the largest is 1."""
        return self.weights or (1.0,) * len(self.schema.names)

    def unweighed(self, values: Sequence[Floats | None]) -> list[Floats | None]:
        """Centres of rows of unit length, a copy: without the weights of the views."""
        lengths = np.sqrt(self.view_weights)
        return [None if u is None else u / (length or 1.0) for u, length in zip(values, lengths, strict=True)]

    def labels_of(self, centres: Labels) -> Labels:
        """The clusters of rows whose nearest centres are these: a row follows its anchor."""
        return centres if self.cut is None else self.cut.of_anchors(centres)


@dataclass(frozen=True)
class Assigned:
    """The centre of consecutive rows, from row `start` of the data on."""

    start: int
    labels: Labels
    margins: Floats
    rows: MeasuredRows
    centres: Centres  # those the labels were decided by


@dataclass(frozen=True)
class StreamState:
    """All that a stream holds besides its plan and its random generator: enough to go on elsewhere."""

    schema: Schema | None
    model: Model | None
    gathered: Sequence[Chunk]
    n_gathered: int
    n_rows: int
    n_without_views: int
    reservoir: Reservoir = field(default_factory=Reservoir)


def assigned(rows: MeasuredRows, centres: Centres, workspace: Workspace) -> tuple[Labels, Floats]:
    """Every row to its nearest centre (Eq. 15-16), and by how much it is nearest, at least."""
    labels = np.full(rows.n_rows, -1, dtype=np.int32)
    while True:
        worst, margins = backend(rows.reference).assign(
            rows.handle, centres.suited(rows), labels, workspace.n_threads
        )
        if rows.measured or rows.accept(worst):
            return labels, margins


def decide(chunk: Chunk, model: Model, workspace: Workspace, *, reference: bool = False) -> Assigned:
    """The nearest centres of rows under a model, which does not change."""
    rows = seen_rows(chunk, model, workspace, reference=reference)
    return Assigned(chunk.start, *assigned(rows, model.centres, workspace), rows, model.centres)


def label(chunk: Chunk, model: Model, workspace: Workspace, *, reference: bool = False) -> Labels:
    """The clusters of rows under a model."""
    if model.links is None or model.cut is None:
        return model.labels_of(decide(chunk, model, workspace, reference=reference).labels)
    rows = seen_rows(chunk, model, workspace, reference=reference)
    return model.cut.of_soft_assignment(soft_assignment(rows, model.centres, workspace))


def distances(rows: MeasuredRows, centres: Centres, workspace: Workspace) -> Floats:
    """Eq. 15 for every row and centre; NaN for a row without any view."""
    rows.measure(workspace.n_threads)
    found: Floats = backend(rows.reference).all_distances(
        rows.handle, centres.suited(rows), False, workspace.n_threads
    )
    return found


def cluster_distances(chunk: Chunk, model: Model, workspace: Workspace) -> Floats:
    """Squared distances to the clusters over the observed views; NaN for a row without any."""
    rows = seen_rows(chunk, model, workspace)
    found = distances(rows, model.centres, workspace)
    if model.cut is not None:
        found = model.cut.nearest(found)
        found[rows.n_seen == 0] = np.nan
    return found


def scaled(chunk: Chunk, model: Model, workspace: Workspace) -> Chunk:
    """Rows in the scale the model has learnt, after they were found to have its views and columns."""
    model.schema.merged(chunk.schema)
    return model.scaling.apply(chunk, n_threads=workspace.n_threads, pool=workspace.pool)


def seen_rows(chunk: Chunk, model: Model, workspace: Workspace, *, reference: bool = False) -> MeasuredRows:
    """Rows as the model's centres see them: scaled, their views weighed."""
    chunk = scaled(chunk, model, workspace)
    return MeasuredRows(chunk, reference=reference, weights=model.weights)


def widened(total: Statistics, schema: Schema) -> Statistics:
    """Give views whose width has become known their (empty) sums."""
    return total.widened(
        [known if width is None else width for known, width in zip(total.widths, schema.widths, strict=True)]
    )
