"""Which views, and which of their columns, decided between the label of a row and the next cluster.

Distances (Eq. 15) are sums over the observed views and their columns, so the margin between two centres is
a sum as well:

    d(b) - d(a) = sum_v sum_f (u_bf - u_af) (u_bf + u_af - 2 x_f)

a is the centre of the label and b that of the nearest other cluster. With anchors they are the nearest anchor
of each; the margin is negative where the row's nearest anchor is not of the cluster that most of its
neighbours belong to.

Where a view is mapped, y = D (x - mean) / l with the length l, and the centres are of mapped rows. What is
a sum over mapped columns is then a sum over the view's own as well, with D+ the least-squares inverse of D:

    (b - a).(b + a - 2 y) = sum_f (D'(b - a))_f (D+(b + a) - 2 (x - mean) / l)_f
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from viewpass.kernels.grid import Floats, Integers, Labels, slices
from viewpass.kernels.portable import ordered_sum
from viewpass.model.model import Model, distances, labels_of
from viewpass.sums.rules import Workspace
from viewpass.views.projection import ViewMap
from viewpass.views.rows import MeasuredRows


@dataclass(frozen=True)
class Explanation:
    """What decided between the label of each row and the next cluster (`explain`)."""

    labels: Labels
    """The cluster of each row, as `predict` gives it."""
    runners_up: Labels
    """The nearest other cluster; -1 where there is none."""
    margins: Floats
    """By how much that is farther, in squared distance; NaN where there is none."""
    views: Floats
    """(rows, views): the part of each view in the margin; 0 where the row lacks it. They add up to it."""
    features: list[Floats] | None
    """Per view (rows, columns): the part of each column in the part of its view; None if not asked for."""
    view_names: tuple[str, ...]


def contributions(
    rows: MeasuredRows, model: Model, workspace: Workspace, *, features: bool = False
) -> Explanation:
    """The parts of the margins of measured rows."""
    labels = labels_of(rows, model, workspace)
    chosen, other = _centres(distances(rows, model.centres, workspace), labels, model)
    there = other >= 0
    runners_up = np.full(rows.n_rows, -1, dtype=np.int32)
    runners_up[there] = model.labels_of(other[there].astype(np.int32))
    widths, maps = model.widths, _maps(model)
    views = np.zeros((rows.n_rows, rows.n_views))
    columns = [np.zeros((rows.n_rows if features else 0, width)) for width in widths]
    for v, centres in enumerate(model.centres.values):
        present = np.flatnonzero(rows.present(v) & there)
        for block in slices(len(present) if centres is not None else 0, widths[v]):
            some = present[block]
            assert centres is not None
            a, b = centres[chosen[some]], centres[other[some]]
            own = rows.sampled(some)
            parts = (b - a) * (b + a - 2.0 * own.unit(v)) * rows.square_unit
            views[some, v] = ordered_sum(parts)
            if features:
                map_ = maps[v]
                columns[v][some] = parts if map_ is None else _unmapped_parts(map_, a, b, own, v)
    margins = np.zeros(rows.n_rows)
    for part in views.T:
        margins += part
    margins[~there] = np.nan
    names = model.schema.names
    return Explanation(labels, runners_up, margins, views, columns if features else None, names)


def _centres(distance: Floats, labels: Labels, model: Model) -> tuple[Integers, Integers]:
    """The nearest centre of each row's label, and the nearest of another cluster; -1 if there is none."""
    clusters = model.labels_of(np.arange(distance.shape[1], dtype=np.int32))
    mine = clusters[None, :] == labels[:, None]
    nothing = labels < 0
    distance = np.where(nothing[:, None], 0.0, distance)
    chosen = np.where(mine, distance, np.inf).argmin(axis=1)
    other = np.where(mine, np.inf, distance).argmin(axis=1)
    other[nothing | mine.all(axis=1) | ~mine.any(axis=1)] = -1
    return chosen, other


def _maps(model: Model) -> Sequence[ViewMap | None]:
    projection = model.scaling.projection
    return (None,) * len(model.schema.names) if projection is None else projection.views


def _unmapped_parts(own: ViewMap, a: Floats, b: Floats, rows: MeasuredRows, v: int) -> Floats:
    """The parts of mapped columns, divided among the columns that the view had before."""
    assert rows.unmapped is not None
    length = np.sqrt(rows.squares[v])  # of rows with a view weight
    apart = rows.unmapped.unit(v) / length - own.mean
    # 1 / l is what the inverse norm says of the mapped row; both rows are of length `length`.
    scale = rows.inverse[v][:, None]
    parts: Floats = ((b - a) @ own.directions) * ((b + a) @ own.inverse - 2.0 * apart * scale)
    return parts
