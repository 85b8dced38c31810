"""Missing views, estimated from what the rows near a row have there.

    x_v = m_v + b (g_v - g0_v)      in the scale of the model, before rows are brought to unit length

g_v mixes the centres of the row's soft assignment (its own centre, without anchors). g0_v is the mean
of all unit rows, m_v the mean row of the sample. b is the factor that fitted best where a view was hidden
from rows of the sample with the same other views. It is 0, so that the estimate is the mean, where the
hidden views were not met better than by their mean.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from viewpass.graph.soft_assignment import SoftAssignment, soft_assignment
from viewpass.kernels.grid import STEP, UNIT, Floats, Integers, Mask
from viewpass.kernels.portable import ordered_sum
from viewpass.model.calibration import Calibration
from viewpass.model.model import Model, assign
from viewpass.sums.census import patterns_of
from viewpass.sums.centres import in_columns
from viewpass.sums.workspace import Workspace
from viewpass.views.rows import MeasuredRows


class Estimates(NamedTuple):
    """Missing views of rows: numbers of the rows that lack each view, and what is estimated of them."""

    rows: list[Integers]  # per view
    values: list[Floats]  # per view (rows, columns), in the data's own units
    spread: Floats  # (all rows, views): root mean square error to expect per value; NaN if not estimated
    known: Mask  # (all rows, views): whether the estimate is better than the mean


def mixture(rows: MeasuredRows, model: Model, workspace: Workspace) -> SoftAssignment:
    """The centres that measured rows are mixtures of: anchors near them, or their own centre alone."""
    if model.cut is not None:
        return soft_assignment(rows, model.centres, workspace)
    labels = assign(rows, model.centres, workspace)[0][:, None]
    return SoftAssignment(np.maximum(labels, 0), np.where(labels < 0, 0, UNIT).astype(np.int64))


def mean_unit(model: Model, v: int) -> Floats:
    """The mean of all unit rows of a view."""
    total = model.total.in_columns(v).steps[v].sum(axis=0)
    mean: Floats = total * (STEP / max(int(model.total.counts[v].sum()), 1))
    return mean


def estimates(rows: MeasuredRows, model: Model, learnt: Calibration, workspace: Workspace) -> Estimates:
    """The views that measured rows lack."""
    mixed = mixture(rows, model, workspace)
    places = learnt.places(patterns_of(rows.inverse > 0))
    spread = np.full((rows.n_rows, rows.n_views), np.nan)
    known = np.zeros((rows.n_rows, rows.n_views), dtype=bool)
    numbers, values = list[Integers](), list[Floats]()
    widths, values_of = model.widths, in_columns(model.centres, model.total)
    for v, (centres, mean) in enumerate(zip(values_of, learnt.means, strict=True)):
        lacking = np.flatnonzero(~rows.present(v) & (rows.n_seen > 0) & (places >= 0))
        if centres is None or mean is None:
            lacking = lacking[:0]
        numbers.append(lacking)
        if not len(lacking):
            values.append(np.zeros((0, widths[v])))
            continue
        assert centres is not None
        assert mean is not None
        own = SoftAssignment(mixed.near[lacking], mixed.weights[lacking])
        slopes = learnt.slopes[places[lacking], v]
        found = mean + slopes[:, None] * (own.of(centres) - mean_unit(model, v))
        values.append(_unscaled(found, model, v))
        spread[lacking, v] = learnt.spreads[places[lacking], v] * _unit(model, v)
        known[lacking, v] = slopes > 0
    return Estimates(numbers, values, spread, known)


def _unit(model: Model, v: int) -> float:
    """The root mean square over columns of what 1 in the scale of the model is in the data's own units."""
    scale = model.scaling.views[v]
    if scale is None:
        return 1.0
    weights, exponent = np.frexp(scale.weights)  # squares of very large units would overflow
    lowest = int(exponent.min())
    each = np.ldexp(1.0 / weights, lowest - exponent)
    return float(np.ldexp(np.sqrt(ordered_sum(each * each) / len(each)), -lowest))


def _unscaled(values: Floats, model: Model, v: int) -> Floats:
    """Rows in the data's own units."""
    scale = model.scaling.views[v]
    if scale is None:
        return values
    return values / scale.weights + (0.0 if scale.mean is None else scale.mean)
