"""How far the clusters are from rows, in the terms by which rows are labelled.

    plain  distances to the centres (Eq. 15)
    merge  distances to the nearest anchor of each cluster
    graph  squared distances (less a constant) between the direction of the row's soft assignment, in the
           space of the leading eigenvectors, and the clusters there

The least of them is the row's label, in every case. The margin is how much farther the next cluster is:
relative to the sum of the two distances, or as it is for the graph, where all rows have length 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from viewpass.graph.soft_assignment import SoftAssignment, soft_assignment
from viewpass.kernels.grid import Floats, Labels
from viewpass.kernels.portable import directions, farness
from viewpass.model.model import Model, distances
from viewpass.sums.workspace import Workspace
from viewpass.views.rows import MeasuredRows


class Separated(NamedTuple):
    """Rows and the clusters: labels (-1 without any view), margins (0 without), and what they follow from."""

    labels: Labels
    margins: Floats
    clusters: Floats  # rows x clusters


def separations(
    rows: MeasuredRows, model: Model, workspace: Workspace, mixed: SoftAssignment | None = None
) -> Separated:
    """How far the clusters are from measured rows; `mixed`: their soft assignment, if it is known."""
    cut = model.cut
    if cut is not None and cut.graph is not None:
        soft = mixed or soft_assignment(rows, model.centres, workspace)
        found = farness(directions(soft.of(cut.graph.places)), cut.graph.centres)
        return _separated(found, rows, relative=False)
    found = distances(rows, model.centres, workspace)
    found[rows.n_seen == 0] = 0.0
    return _separated(found if cut is None else cut.nearest(found), rows, relative=True)


def _separated(found: Floats, rows: MeasuredRows, *, relative: bool) -> Separated:
    labels = found.argmin(axis=1).astype(np.int32)
    margins = np.zeros(len(found))
    if found.shape[1] > 1:
        two = np.partition(found, 1, axis=1)
        margins = two[:, 1] - two[:, 0]
        if relative:
            whole = two[:, 0] + two[:, 1]
            usable = (whole > 0) & np.isfinite(whole)
            margins = np.divide(margins, whole, out=np.ones(len(found)), where=usable)
    absent = rows.n_seen == 0
    labels[absent], margins[absent] = -1, 0.0
    return Separated(labels, margins, found)
