"""How far the clusters are from rows, in the terms by which rows are labelled.

    plain  distances to the centres (Eq. 15)
    merge  distances to the nearest anchor of each cluster
    graph  squared distances (less a constant) between the direction of the row's soft assignment, in the
           space of the leading eigenvectors, and the clusters there

The margin is how much farther the next cluster is than that of the row's label: relative to the sum of the
two distances, or as it is for the graph, where all rows have length 1.

Labels of rows with one of their views dropped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from viewpass.graph.soft_assignment import SoftAssignment, soft_assignment
from viewpass.kernels.backend import backend
from viewpass.kernels.grid import Array, Floats, Labels, Mask
from viewpass.kernels.portable import directions, farness
from viewpass.model.model import Model, distances, labels_of, nearest_anchors
from viewpass.sums.rules import Workspace
from viewpass.views.rows import MeasuredRows


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
