"""View weights w_v in the distance D = sum over the observed views of w_v |x - u|^2, given or learnt.

    w_v = (J_v / N_v)^(-1 / (p - 1)),  J_v the objective of view v alone, N_v its number of rows

Rows of length sqrt(w_v) have these distances to the centres made of them, so weighting is scaling and no
other module needs to know. Weights are divided by the largest: no row is longer than 1, and every bound on
sums and errors still holds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viewpass.core.state.alpha import Alpha
from viewpass.core.state.statistics import Statistics

POWER = 2.0  # p
SMALLEST_SHARE = 0.01  # of J_v / N_v: a view that its centres explain fully must not outweigh all others
SMALLEST_WEIGHT = 1e-6  # relative to the largest; shorter rows would be lost on the grid

Weights = tuple[float, ...]


def relative(given: Sequence[float]) -> Weights | None:
    """Weights divided by the largest; None if they are all equal."""
    largest = max(given)
    if min(given) == largest:
        return None
    return tuple(float(weight / largest) for weight in given)


def learnt_weights(total: Statistics, alpha: Alpha, squares: Sequence[float] | None = None) -> Weights | None:
    """Weights from statistics of unweighted rows: the better its centres explain a view, the larger.

    J_v is taken per observed row; otherwise missing rows would raise the weight of a view. A view that no
    row has yet gets the mean of the others. `squares`: the squared lengths of rows in the statistics
    (`MeasuredRows.squares`); None: 1.
    """
    counts = np.array(total.n_present, dtype=np.float64)
    seen = counts > 0
    if not seen.any():
        return None
    units = np.ones(len(counts)) if squares is None else np.array(squares)
    per_row = np.array(total.view_objectives(alpha, squares))[seen] / counts[seen] / units[seen]
    shares = np.maximum(per_row, SMALLEST_SHARE)
    weights = np.ones(len(counts))
    weights[seen] = shares ** (-1.0 / (POWER - 1.0))
    weights[~seen] = weights[seen].mean()
    return relative(weights.tolist())
