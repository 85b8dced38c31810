"""How far the clusters are from rows, how sure labels are, and whether they stay without one of the views.

Clusters are as far as rows are labelled by:

    plain  distances to the centres (Eq. 15)
    merge  distances to the nearest anchor of each cluster
    graph  squared distances (less a constant) between the direction of the row's soft assignment, in the
           space of the leading eigenvectors, and the clusters there

The margin is how much farther the next cluster is than that of the row's label: relative to the sum of the
two distances, or as it is for the graph, where all rows have length 1.

The confidence of a row is read off a curve that the sample gave for its presence pattern (calibrate.py): of
rows with these views and a margin like this, the share that keep their label when all views are known. The
rest of the probability is divided among the other clusters by how far they are,

    p_k ~ 1 / (s_k - s_min + c)^2,   c an eighth of the mean of s_k - s_min

and no other cluster gets more than the label.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from viewpass.graph.soft_assignment import SoftAssignment, soft_assignment
from viewpass.kernels.backend import backend
from viewpass.kernels.grid import Array, Floats, Integers, Labels, Mask
from viewpass.kernels.portable import directions, farness, ordered_sum
from viewpass.model.calibration import Calibration, interpolated
from viewpass.model.model import Model, distances, labels_of, nearest_anchors
from viewpass.sums.row_counts import patterns_of
from viewpass.sums.rules import Workspace
from viewpass.views.rows import MeasuredRows

AHEAD = 1.0 + 2.0**-16  # the label is more probable than any other cluster by this factor, at least


def confidence_at(patterns: Integers, margins: Floats, n_clusters: int, learnt: Calibration) -> Floats:
    """The confidence of labels, given presence patterns and margins; NaN for a row without any view.

    Rounded to float32, which is what label files hold.
    """
    places = learnt.places(patterns)
    confidence = np.zeros(len(patterns))
    if len(learnt.patterns):  # rows of no known pattern go by any, and are set right after
        confidence = interpolated(learnt.margins, learnt.agreement, np.maximum(places, 0), margins)
        confidence[places < 0] = 0.0
    np.clip(confidence, min(AHEAD / n_clusters, 1.0), 1.0, out=confidence)
    confidence[patterns == 0] = np.nan
    return confidence.astype(np.float32).astype(np.float64)


def confidences(rows: MeasuredRows, model: Model, learnt: Calibration, workspace: Workspace) -> Floats:
    """The confidence of each measured row's label; NaN for a row without any view."""
    return _labelled(rows, model, learnt, workspace)[1]


def _labelled(
    rows: MeasuredRows, model: Model, learnt: Calibration, workspace: Workspace
) -> tuple[Labels, Floats]:
    found, patterns = separations(rows, model, workspace), patterns_of(rows.inverse > 0)
    return found.labels, confidence_at(patterns, found.margins, model.n_clusters, learnt)


def probabilities(rows: MeasuredRows, model: Model, learnt: Calibration, workspace: Workspace) -> Floats:
    """The probabilities of the clusters for each measured row; NaN for a row without any view."""
    labels, confidence = _labelled(rows, model, learnt, workspace)
    return spread_out(labels, confidence, farness_of(rows, model, workspace))


def spread_out(labels: Labels, confidence: Floats, far: Floats) -> Floats:
    """Probabilities of all clusters, given that of the label; the others by how `far` they are."""
    n_rows, n_clusters = far.shape
    if n_clusters == 1:
        return confidence[:, None].copy()
    everyone = np.arange(n_rows)
    gaps = far - np.fmin.reduce(far, axis=1, keepdims=True)
    finite = np.isfinite(gaps)  # a cluster without anchors is nowhere
    mean = ordered_sum(np.where(finite, gaps, 0.0)) / np.maximum(finite.sum(axis=1), 1)
    parts = np.zeros_like(gaps)
    scale = np.where(mean > 0, mean, 1.0)[:, None]
    relative = np.divide(gaps, scale, out=np.zeros_like(gaps), where=finite) + 0.125
    np.divide(1.0, relative * relative, out=parts, where=finite)
    parts[everyone, labels] = 0.0
    whole = ordered_sum(parts)
    parts = np.divide(parts, whole[:, None], out=np.zeros_like(parts), where=whole[:, None] > 0)
    parts[whole == 0] = 1.0 / (n_clusters - 1)
    # Flattened, where the next cluster would be more probable than the label: w (1 - c) max = c / AHEAD.
    level, rest = 1.0 / (n_clusters - 1), 1.0 - confidence
    most = parts.max(axis=1)
    over = np.divide(confidence / AHEAD, rest, out=np.full(n_rows, np.inf), where=rest > 0)
    weight = np.divide(over - level, most - level, out=np.ones(n_rows), where=most > level)
    weight = np.clip(weight, 0.0, 1.0)[:, None]
    spread: Floats = rest[:, None] * (weight * parts + (1.0 - weight) * level)
    spread[everyone, labels] = confidence
    spread[labels < 0] = np.nan
    return spread


class Nearest(NamedTuple):
    """Rows and their clusters, as label files hold them; -1 and NaN without any view."""

    labels: Labels
    distance: Array  # float32: to the cluster of the label; NaN if it has no anchors
    margin: Array  # float32: how much farther the nearest other is; NaN if there is none

    def relative(self, rows: MeasuredRows) -> Floats:
        """Margins relative to the sum of the distances to both clusters; 0 without any view."""
        margin, distance = self.margin.astype(np.float64), self.distance.astype(np.float64)
        whole = 2.0 * distance + margin
        usable = np.isfinite(whole) & (whole > 0)
        found: Floats = np.divide(margin, whole, out=(rows.n_seen > 0).astype(np.float64), where=usable)
        return np.maximum(found, 0.0)


class Separated(NamedTuple):
    """Labels of rows (-1 without any view) and the margins (0 without) that confidence rests on."""

    labels: Labels
    margins: Floats


def nearest_clusters(
    rows: MeasuredRows, model: Model, workspace: Workspace, soft: SoftAssignment | None = None
) -> Nearest:
    """The cluster of measured rows, and how far it and the next are.

    Where anchors form clusters, distances are those to the nearest anchor of each. The margin is negative
    where the row's nearest anchor belongs to another cluster than most of its neighbours.
    """
    if model.cut is None:
        kernels, centres = backend(), model.centres.suited(rows)
        labels, distance, margin = kernels.nearest_two(rows.handle, centres, workspace.n_threads)
        unit = np.float32(rows.square_unit)
        return Nearest(labels, distance * unit, margin * unit)
    labels, nearest = labels_of(rows, model, workspace, soft), nearest_anchors(rows, model, workspace)
    everyone = np.arange(rows.n_rows)
    own = nearest[everyone, labels]
    nearest[everyone, labels] = np.nan
    margin = np.fmin.reduce(nearest, axis=1).astype(np.float32) - own.astype(np.float32)
    return Nearest(labels, own.astype(np.float32), margin)


def separations(
    rows: MeasuredRows, model: Model, workspace: Workspace, soft: SoftAssignment | None = None
) -> Separated:
    """Labels and margins of measured rows; `soft`: their soft assignment, if it is known."""
    if model.cut is None or model.cut.graph is None:
        near = nearest_clusters(rows, model, workspace)
        return Separated(near.labels, near.relative(rows))
    soft = soft or soft_assignment(rows, model.centres, workspace)
    labels, found = labels_of(rows, model, workspace, soft), _in_graph(model, soft)
    everyone, margins = np.arange(rows.n_rows), np.zeros(rows.n_rows)
    if found.shape[1] > 1:
        own = found[everyone, labels]
        found[everyone, labels] = np.inf
        margins = np.where(labels < 0, 0.0, np.maximum(found.min(axis=1) - own, 0.0))
    return Separated(labels, margins)


def farness_of(rows: MeasuredRows, model: Model, workspace: Workspace) -> Floats:
    """How far every cluster is from measured rows; NaN for one without anchors."""
    if model.cut is None:
        return distances(rows, model.centres, workspace)
    if model.cut.graph is None:
        return nearest_anchors(rows, model, workspace)
    return _in_graph(model, soft_assignment(rows, model.centres, workspace))


def _in_graph(model: Model, soft: SoftAssignment) -> Floats:
    assert model.cut is not None
    assert model.cut.graph is not None
    graph = model.cut.graph
    return farness(directions(soft.of(graph.places)), graph.centres)


@dataclass(frozen=True)
class Stability:
    """Labels of rows with each of their views dropped (`stability`)."""

    labels: Labels
    """(rows, views): the label without this view; -1 where the row lacks it, or has no other."""
    stable: Mask
    """Whether dropping any one view leaves the label as it is; False for rows with fewer than two."""


def stability(rows: MeasuredRows, model: Model, workspace: Workspace) -> Stability:
    """Label measured rows without each of their views."""
    own = labels_of(rows, model, workspace)
    labels = np.full((rows.n_rows, rows.n_views), -1, dtype=np.int32)
    stable: Mask = rows.n_seen > 1
    for v in range(rows.n_views):
        which = np.flatnonzero(rows.present(v) & (rows.n_seen > 1))
        if not len(which):
            continue
        others = rows.sampled(which).keeping([other != v for other in range(rows.n_views)])
        labels[which, v] = labels_of(others, model, workspace)
        stable[which] &= labels[which, v] == own[which]
    return Stability(labels, stable)
