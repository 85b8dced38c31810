"""The loss of the stop rule and of the loss curve (Eq. 17-20): known from U, R and T alone."""

from __future__ import annotations

from viewpass.core.centres import Centres
from viewpass.core.statistics import Statistics
from viewpass.kernels.means import centre_terms


def loss(centres: Centres, total: Statistics, alpha: float) -> float:
    """L = sum_v [-2 tr(U'R) + tr(U'U T) + alpha |U|^2]: the objective without S, so it is negative."""
    value = 0.0
    for v, (values, squares) in enumerate(zip(centres.values, centres.squares, strict=True)):
        if values is None or squares is None:
            continue
        traces = centre_terms(values, total.steps[v])
        value += float((squares * (total.counts[v] + alpha) - 2.0 * traces).sum())
    return value


def objective(centres: Centres, total: Statistics, alpha: float) -> float:
    """J = sum_v S_v + L (Eq. 17 with its sign put right), for centres and labels of any kind."""
    return sum(total.squares) + loss(centres, total, alpha)
