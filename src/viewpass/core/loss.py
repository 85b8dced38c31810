"""The loss of the stop rule and of the loss curve (Eq. 17-20): known from U, R and T alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viewpass.core.centres import Centres
from viewpass.core.statistics import Statistics, squares_of
from viewpass.kernels import means
from viewpass.kernels.grid import Mask


def loss(centres: Centres, total: Statistics, alpha: float, moved: Mask | None = None) -> float:
    """L = sum_v [-2 tr(U'R) + tr(U'U T) + alpha |U|^2]: the objective without S, so it is negative.

    `moved`: the clusters whose sums changed since the centres were made from them (all if None);
    for the others u_k.R_k is known already.
    """
    value = 0.0
    for v, view in enumerate(centres.views):
        if view is None:
            continue
        which = np.arange(total.n_clusters) if moved is None else np.flatnonzero(moved)
        traces = view.traces.copy()
        traces[which] = means.centre_terms(view.values, total.steps[v], which)
        for term in view.squares * (total.counts[v] + alpha) - 2.0 * traces:  # in this order
            value += float(term)
    return value


def objective(
    centres: Centres, total: Statistics, alpha: float, weights: Sequence[float] | None = None
) -> float:
    """J = sum_v S_v + L (Eq. 17 with its sign put right), for centres and labels of any kind."""
    return sum(squares_of(total, weights)) + loss(centres, total, alpha)
