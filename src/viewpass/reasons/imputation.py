"""Missing views, estimated from what the rows near a row have there.

    x_v = m_v + b (g_v - g0_v)      in the scale of the model, before rows are brought to unit length

g_v mixes the centres of the row's soft assignment (without anchors, it is its own centre). g0_v is the mean
of all unit rows, m_v the mean row of the sample. b is the factor that fitted best where a view was hidden
from rows of the sample with the same other views. b is 0, and the estimate the mean, where the mean predicted
hidden views as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from viewpass.graph.soft_assignment import SoftAssignment, soft_assignment
from viewpass.kernels.grid import STEP, UNIT, Floats, Integers, Mask, Matrix
from viewpass.kernels.portable import ordered_sum
from viewpass.model.calibration import Calibration
from viewpass.model.model import Model, assign
from viewpass.sums.centres import in_columns
from viewpass.sums.row_counts import patterns_of
from viewpass.sums.rules import Workspace
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows


@dataclass(frozen=True)
class Imputed:
    """Rows with their missing views estimated (`impute`)."""

    views: list[Any]
    """Per view (rows, columns), in the data's own units; NaN for rows of which nothing can be estimated."""
    spread: Floats
    """(rows, views): root mean square error to expect per value; NaN where nothing was estimated."""
    known: Mask
    """(rows, views): False where an estimated view is the mean of all rows, as nothing better is known."""


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


def imputed(
    chunk: Chunk, rows: MeasuredRows, model: Model, learnt: Calibration, workspace: Workspace
) -> Imputed:
    """The rows of a chunk with the views that they lack; `rows`: as the model compares them."""
    mixed = mixture(rows, model, workspace)
    places = learnt.places(patterns_of(rows.inverse > 0))
    spread = np.full((rows.n_rows, rows.n_views), np.nan)
    known = np.zeros((rows.n_rows, rows.n_views), dtype=bool)
    views = list[Matrix]()
    widths, values_of = model.widths, in_columns(model.centres, model.total)
    for v, (centres, mean) in enumerate(zip(values_of, learnt.means, strict=True)):
        lacking = np.flatnonzero(~rows.present(v) & (rows.n_seen > 0) & (places >= 0))
        if centres is None or mean is None:
            lacking = lacking[:0]
        if not len(lacking):
            views.append(_filled(chunk, v, lacking, np.zeros((0, widths[v]))))
            continue
        assert centres is not None
        assert mean is not None
        own = SoftAssignment(mixed.near[lacking], mixed.weights[lacking])
        slopes = learnt.slopes[places[lacking], v]
        found = mean + slopes[:, None] * (own.of(centres) - mean_unit(model, v))
        views.append(_filled(chunk, v, lacking, _unscaled(found, model, v)))
        spread[lacking, v] = learnt.spreads[places[lacking], v] * _unit(model, v)
        known[lacking, v] = slopes > 0
    return Imputed(views, spread, known)


def _filled(chunk: Chunk, v: int, lacking: Integers, values: Floats) -> Matrix:
    """A view of a chunk with estimates of the rows that lack it; NaN where a row has neither."""
    view = chunk.views[v]
    given = np.zeros(chunk.n_rows, dtype=bool) if view is None else chunk.wanted(v)
    if scipy.sparse.issparse(view):
        return _filled_sparse(view, given, lacking, values)
    filled = np.full((chunk.n_rows, values.shape[1]), np.nan)
    if view is not None:
        filled[given] = view[given]
    filled[lacking] = values
    return filled


def _filled_sparse(view: Matrix, given: Mask, lacking: Integers, values: Floats) -> Matrix:
    kept = scipy.sparse.diags_array(given.astype(view.dtype)) @ scipy.sparse.csr_array(view)
    place = (np.ones(len(lacking)), (lacking, np.arange(len(lacking))))
    put = scipy.sparse.csr_array(place, shape=(view.shape[0], len(lacking)))
    dropped = given.astype(np.float64)
    dropped[lacking] = 0.0
    return scipy.sparse.csr_array(
        scipy.sparse.diags_array(dropped) @ kept + put @ scipy.sparse.csr_array(values)
    )


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
