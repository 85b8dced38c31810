"""How well views that are hidden from rows are met by the mixtures of centres that their other views give.

Only inner products of rows count here, so a view of twice FOLDED columns or more is folded first: each column
is added, with a random sign, to one of FOLDED. That keeps every inner product but for chance, which is about
1 / sqrt(FOLDED) of the lengths for one row and little over a hundred.

Missing views, estimated from what the rows near a row have there.

    x_v = m_v + b (g_v - g0_v)      in the scale of the model, before rows are brought to unit length

Here g_v mixes the centres of the row's soft assignment (without anchors, it is its own centre). The mean of
all unit rows is g0_v, the mean row of the sample m_v. The factor b fitted best where a view was hidden from
rows of the sample with the same other views. Where the mean predicted hidden views as well, it is 0, and the
estimate the mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from viewpass.graph.soft_assignment import SoftAssignment, soft_assignment
from viewpass.kernels.grid import GRID, STEP, UNIT, Floats, Integers, Labels, Mask, Matrix, slices
from viewpass.kernels.portable import ordered_sum
from viewpass.model.calibration import Calibration
from viewpass.model.model import Model, assign
from viewpass.sums.centres import in_columns
from viewpass.sums.row_counts import patterns_of
from viewpass.sums.rules import Workspace
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows

FOLDED = 256  # columns that wide views are folded into


class Met(NamedTuple):
    """How a view is met in rows of one presence pattern."""

    slope: float = 0.0  # of the mixture of centres; 0 where it is no better than the mean
    score: float = 0.0  # share of the squares that it explains
    spread: float = 0.0  # root mean square error per value


class HiddenView:
    """One view of a sample of measured rows, whose centres are `assigned`."""

    def __init__(self, sample: MeasuredRows, v: int, model: Model, assigned: Labels) -> None:
        centres, sample = in_columns(model.centres, model.total)[v], sample.in_columns(v)
        assert centres is not None
        self.present = sample.present(v)
        self.n_columns = centres.shape[1]
        fold = self._fold = _folding(self.n_columns)
        self._sample, self._v = sample, v
        self._centres, self._mean = centres @ fold, mean_unit(model, v) @ fold
        ridge = model.alpha[v] if model.total.in_columns(v) is model.total else 0.0
        self._counts = model.total.counts[v] + ridge - model.weight_unit
        self._weight_unit, self._assigned = model.weight_unit, assigned

    def met(self, which: Integers, mixed: SoftAssignment) -> Met:
        """How the mixtures `mixed` of rows `which` meet the view, where they have it."""
        most = max(100, 2**14 // self._centres.shape[1])  # rows, or so many values
        has = spread_out(np.flatnonzero(self.present[which]), most)
        if len(has) < 2:
            return Met()
        which, mixed = which[has], SoftAssignment(mixed.near[has], mixed.weights[has])
        values, unit = self._folded(which)
        guess = mixed.of(self._centres) - self._own_part(mixed, unit, self._assigned[which]) - self._mean
        apart = values - ordered_sum(values.T) / len(values)
        along, square, whole = (
            float(ordered_sum(ordered_sum(terms))) for terms in (apart * guess, guess * guess, apart * apart)
        )
        score = along * along / (square * whole) if along > 0 and square > 0 and whole > 0 else 0.0
        slope = along / square if score >= 0.01 else 0.0  # or the view is not known
        left = whole - slope * along
        return Met(slope, score, float(np.sqrt(max(left, 0.0) / (len(apart) * self.n_columns))))

    def _folded(self, which: Integers) -> tuple[Floats, Floats]:
        """Some rows that have the view, folded: as they are, and as the kernels compare them."""
        matrix: Any = self._sample.matrix(self._v)
        values, inverse = matrix[which].astype(np.float64), self._sample.inverse[self._v][which]
        unit = values.copy()
        if not scipy.sparse.issparse(values):
            unit[:] = np.rint(values * inverse[:, None] * GRID) * STEP
            return values @ self._fold, unit @ self._fold
        unit.data = np.rint(values.data * np.repeat(inverse, np.diff(values.indptr)) * GRID) * STEP
        return (values @ self._fold).toarray(), (unit @ self._fold).toarray()

    def _own_part(self, mixed: SoftAssignment, rows: Floats, assigned: Labels) -> Floats:
        """What rows themselves have added to the mixtures of centres: they were hidden from no centre.

        A centre without one of its rows x is u - (x - u) / (T - 1 + alpha).
        """
        part, counts = np.zeros_like(rows), self._counts
        for near, weights in zip(mixed.near.T, mixed.weights.T, strict=True):
            mine = np.flatnonzero((near == assigned) & (counts[near] > 0))
            factors = (weights[mine] / UNIT) * (self._weight_unit / counts[near[mine]])
            part[mine] += factors[:, None] * (rows[mine] - self._centres[near[mine]])
        return part


def spread_out(rows: Integers, most: int) -> Integers:
    """At most this many of the rows, from all over: neighbours in a table are often alike."""
    return rows if len(rows) <= most else rows[np.arange(most) * len(rows) // most]


def mean_row(sample: MeasuredRows, v: int) -> Floats | None:
    """The mean row of a view, in the scale of the model; None if no row has it."""
    sample = sample.in_columns(v)
    n_present = int(sample.present(v).sum())
    if not n_present:
        return None
    matrix: Any = sample.matrix(v)
    total = np.zeros(sample.widths[v])
    if scipy.sparse.issparse(matrix):
        some = matrix[sample.present(v)]
        return np.bincount(some.indices, some.data, len(total)) / n_present
    for values, _ in _blocks(sample, v):
        total += ordered_sum(values.T)
    mean: Floats = total / n_present
    return mean


def deviation(sample: MeasuredRows, v: int) -> Floats | None:
    """The standard deviation of each column of a view, as rows are compared; None if no row has it."""
    sample = sample.in_columns(v)
    n_present = int(sample.present(v).sum())
    if not n_present:
        return None
    total, square = np.zeros((2, sample.widths[v]))
    for _, unit in _blocks(sample, v):
        total += ordered_sum(unit.T)
        square += ordered_sum((unit * unit).T)
    mean = total / n_present
    spread: Floats = np.sqrt(np.maximum(square / n_present - mean * mean, 0.0))
    return spread


def _blocks(sample: MeasuredRows, v: int) -> Iterator[tuple[Floats, Floats]]:
    """Rows of a view, a few at a time: as they are, and as the kernels compare them; 0 where missing."""
    alone = sample.only(v)
    for rows in slices(sample.n_rows, sample.widths[v]):
        some = alone.sampled(np.arange(rows.start, rows.stop))
        yield some.values(v), some.unit(v)


def _folding(n_columns: int) -> Any:
    """What rows of so many columns are multiplied by."""
    if n_columns < 2 * FOLDED:
        return scipy.sparse.eye_array(n_columns, format="csr")
    rng = np.random.default_rng(0)
    order, signs = rng.permutation(n_columns), rng.choice((-1.0, 1.0), n_columns)
    return scipy.sparse.csr_array((signs, (order, np.arange(n_columns) % FOLDED)))


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
