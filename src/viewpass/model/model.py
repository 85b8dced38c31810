"""The model: statistics, centres and clusters, and labelling rows by them.

Rows are compared with the centres over their observed views (Eq. 15-16). Where the centres are anchors, the
clusters are groups of them (graph/), and a row follows its nearest anchor or, with an anchor graph, its
soft assignment to several.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from viewpass.graph.cut import Cut, cut
from viewpass.graph.soft_assignment import SoftAssignment, soft_assignment
from viewpass.kernels.backend import backend
from viewpass.kernels.grid import Floats, Labels, Links
from viewpass.kernels.threads import cached_property
from viewpass.model.calibration import Calibration
from viewpass.model.choice import Choice, Curve
from viewpass.sums.centres import Centres
from viewpass.sums.row_counts import Census, GapCounts, RowCounts
from viewpass.sums.rules import Weights, Workspace
from viewpass.sums.statistics import Statistics
from viewpass.views.chunk import Chunk, Schema
from viewpass.views.rows import MeasuredRows, without_unknown
from viewpass.views.scaling import Scaling

ANCHORED = ("merge", "graph")
ANCHORS_AT_ONCE = 512  # whose distances to the rows of a block are in memory


@dataclass
class Model:
    """What was learnt: enough to predict and to report.

    Its centres are those of the clusters ("plain", "neighbours"), or anchors that are grouped into clusters.
    """

    schema: Schema
    total: Statistics
    centres: Centres
    scaling: Scaling
    alpha: tuple[float, ...]  # ridge of each view, in units of 1 / weight_unit
    read: RowCounts = field(default_factory=RowCounts)
    n_iter: int = 0
    loss_curve: list[float] = field(default_factory=list)
    consensus: str = "plain"
    n_clusters: int = 1  # as requested, or estimated
    links: Links | None = None  # the anchor graph G (graph/soft_assignment.py)
    curve: Curve | None = None  # the score of each number of clusters, where it was looked at
    choices: tuple[Choice, ...] = ()  # what was chosen from the sample
    weights: Weights | None = None  # of the views, relative to the largest; None: all equal
    weight_unit: int = 1  # what sums, counts and alpha are multiplied by
    calibration: Calibration | None = None  # what reasons rest on, learnt from the sample
    census: Census | None = None  # rows of each centre along the data; None: not counted
    labelled: Statistics | None = None  # of the clusters by the labels of all rows; `census` is then too
    rows: Chunk | None = None  # the sample: what reasons are learnt from when they are asked for
    numbers: Labels | None = None  # of the clusters that anchors form; None: in the order of the cut
    limits: Calibration | None = None  # rows beyond them are left out of the sums of centres; None: no row

    @property
    def anchored(self) -> bool:
        """Whether the centres are anchors, of which clusters are groups."""
        return self.consensus in ANCHORED

    @cached_property
    def cut(self) -> Cut | None:
        """The grouping of anchors into clusters; None where every centre is a cluster."""
        if not self.anchored:
            return None
        found = cut(self.total, self.links, self.alpha, self.n_clusters)
        return found if self.numbers is None else found.numbered(self.numbers)

    @property
    def n_rows(self) -> int:
        """Rows read, those without any view included."""
        return self.read.n_rows

    @cached_property
    def clusters(self) -> Statistics:
        """Sums and counts of the clusters."""
        if self.labelled is not None:
            return self.labelled
        cut = self.cut
        return self.total if cut is None else self.total.grouped(cut.anchors, cut.n_clusters)

    def numbered(self, numbers: Labels) -> Model:
        """The same model with these numbers for its clusters; it has no sums by label yet."""
        if self.anchored:
            before = np.arange(self.n_clusters, dtype=np.int32) if self.numbers is None else self.numbers
            return replace(self, numbers=numbers[before], labelled=None)
        order = np.argsort(numbers)
        total = self.total.grouped(numbers, self.n_clusters)
        return replace(self, centres=self.centres.take(order), total=total, labelled=None)

    @property
    def cluster_census(self) -> Census | None:
        """Rows of each cluster along the data."""
        if self.labelled is not None or self.census is None or self.cut is None:
            return self.census
        return self.census.grouped(self.cut.anchors, self.cut.n_clusters)

    @cached_property
    def cluster_centres(self) -> Centres:
        """The centres of the clusters: the best for their sums, where anchors form them."""
        return self.centres if self.cut is None else Centres.of(self.clusters.centres(self.alpha))

    @property
    def n_missing(self) -> list[int]:
        """Rows without each view; estimated from their share of the weight where rows have weights."""
        n_counted = self.read.n_counted
        return [(n_counted - n) * self.n_rows // max(n_counted, 1) for n in self.clusters.n_present]

    @property
    def zero_rows(self) -> dict[str, int]:
        """Rows that count as missing in each view because they are all zero."""
        names = self.schema.names
        return dict(zip(names, self.read.n_all_zero or (0,) * len(names), strict=True))

    @property
    def gap_counts(self) -> dict[str, GapCounts]:
        """Values missing inside the rows of each view."""
        names = self.schema.names
        return dict(zip(names, self.read.n_gaps or (GapCounts(),) * len(names), strict=True))

    @property
    def n_shortened(self) -> dict[str, int]:
        """Rows that were longer in each view than rows may be, where it keeps their lengths."""
        names = self.schema.names
        kept = self.clusters.kept or (None,) * len(names)
        return {name: 0 if own is None else own.n_shortened for name, own in zip(names, kept, strict=True)}

    @property
    def known_schema(self) -> Schema:
        """The schema with the widths that given centres have in views that no row has shown yet."""
        known, widths = self.schema.widths, self.centres.widths(self.schema.widths)
        return replace(self.schema, widths=tuple(a or b or None for a, b in zip(known, widths, strict=True)))

    @property
    def widths(self) -> list[int]:
        """Columns of each view; 0 where they are not known."""
        return [width or 0 for width in self.known_schema.widths]

    def widened(self, schema: Schema) -> Statistics:
        """The statistics with room for the views of this schema."""
        return self.total.widened(self.scaling.widths(schema.widths))

    @property
    def ridges(self) -> dict[str, float]:
        """The ridge of each view, in rows."""
        alphas = [alpha / self.weight_unit for alpha in self.alpha]
        return dict(zip(self.schema.names, alphas, strict=True))

    @property
    def view_weights(self) -> Weights:
        """Weight of each view's squared distances; the largest is 1."""
        return self.weights or (1.0,) * len(self.schema.names)

    @property
    def square_unit(self) -> float:
        """What squared distances and losses are multiplied by to be reported in the unit of the scale."""
        return self.scaling.unit**2

    @property
    def row_squares(self) -> tuple[float, ...] | None:
        """Squared lengths that rows are brought to (`MeasuredRows.squares`); None if they are all 1."""
        if self.weights is None and self.scaling.lengths is None:
            return None
        return tuple(weight / self.square_unit for weight in self.view_weights)

    def unweighed(self, values: Sequence[Floats | None]) -> list[Floats | None]:
        """A copy of centres with the view weights taken out: centres of rows in the unit of the scale."""
        lengths = np.sqrt(self.view_weights) / self.scaling.unit
        return [None if u is None else u / (length or 1.0) for u, length in zip(values, lengths, strict=True)]

    def labels_of(self, centres: Labels) -> Labels:
        """The clusters of rows, given their nearest centres: a row follows its anchor."""
        return centres if self.cut is None else self.cut.of_anchors(centres)


def assign(rows: MeasuredRows, centres: Centres, workspace: Workspace) -> tuple[Labels, Floats]:
    """The nearest centre of every row (Eq. 15-16), and a lower bound on its margin."""
    labels = np.full(rows.n_rows, -1, dtype=np.int32)
    while True:
        worst, margins = backend().assign(rows.handle, centres.suited(rows), labels, workspace.n_threads)
        if rows.measured or rows.accept(worst):
            return labels, margins


def label(chunk: Chunk, model: Model, workspace: Workspace) -> Labels:
    """The cluster of every row under a model; -1 for a row without any view that has centres."""
    return labels_of(prepare(chunk, model, workspace), model, workspace)


def labels_of(
    rows: MeasuredRows, model: Model, workspace: Workspace, soft: SoftAssignment | None = None
) -> Labels:
    """The same for rows that are prepared; `soft`: their soft assignment, if it is known."""
    if model.links is None or model.cut is None:
        return model.labels_of(assign(rows, model.centres, workspace)[0])
    return model.cut.of_soft_assignment(soft or soft_assignment(rows, model.centres, workspace))


def distances(rows: MeasuredRows, centres: Centres, workspace: Workspace) -> Floats:
    """Distances of every row to every centre (Eq. 15); NaN for a row without any view."""
    rows.measure(workspace.n_threads)
    found: Floats = backend().all_distances(rows.handle, centres.suited(rows), False, workspace.n_threads)
    return found


def cluster_distances(chunk: Chunk, model: Model, workspace: Workspace) -> Floats:
    """Distances of every row to every cluster, over the observed views.

    NaN for a row without any, and to a cluster without anchors.
    """
    rows = prepare(chunk, model, workspace)
    if model.cut is None:
        return distances(rows, model.centres, workspace) * rows.square_unit
    return nearest_anchors(rows, model, workspace)


def nearest_anchors(rows: MeasuredRows, model: Model, workspace: Workspace) -> Floats:
    """Distances of every row to the nearest anchor of every cluster, some anchors at a time; NaN: none."""
    assert model.cut is not None
    n_anchors, found = model.centres.n_clusters, np.full((rows.n_rows, model.cut.n_clusters), np.nan)
    for start in range(0, n_anchors, ANCHORS_AT_ONCE):
        some = np.arange(start, min(start + ANCHORS_AT_ONCE, n_anchors))
        centres = model.centres if len(some) == n_anchors else model.centres.take(some)
        mine = model.cut.nearest(distances(rows, centres, workspace) * rows.square_unit, some)
        np.fmin(found, mine, out=found)
    return found


def scaled(chunk: Chunk, model: Model, workspace: Workspace) -> Chunk:
    """Rows in the scale the model has learnt; refused if their views or columns do not match."""
    model.known_schema.merged(chunk.schema)
    return model.scaling.apply(chunk, n_threads=workspace.n_threads, pool=workspace.pool)


def prepare(chunk: Chunk, model: Model, workspace: Workspace) -> MeasuredRows:
    """Rows scaled and weighted like those the centres were made of.

    A view without centres is left out: it cannot tell one cluster from another, so a row that has no other
    view counts as one without any.
    """
    chunk = scaled(chunk, model, workspace)
    chunk = without_unknown(chunk, [u is not None for u in model.centres.values])
    return MeasuredRows(chunk, weights=model.weights)
