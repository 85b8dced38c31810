"""What each view's distances count for: D = sum over the observed views of w_v |x - u|^2.

Rows of length sqrt(w_v) give the same distances to centres made of them, so nothing else needs to know.
The largest weight is brought to 1: no row is longer than 1, and every bound on sums and errors holds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viewpass.core.state.statistics import Statistics

POWER = 2.0  # p of w_v = (J_v / N_v)^(-1 / (p - 1))
LEAST_SHARE = 0.01  # of J_v / N_v: a view that its centres explain wholly is not all that counts
LEAST = 1e-6  # of the largest weight: shorter rows would be lost on the grid

Weights = tuple[float, ...]


def relative(given: Sequence[float]) -> Weights | None:
    """Weights by the largest of them; None if they are all the same."""
    largest = max(given)
    if min(given) == largest:
        return None
    return tuple(float(weight / largest) for weight in given)


def learnt_weights(total: Statistics, alpha: float) -> Weights | None:
    """Weights of views by what their centres leave unexplained of a row, where rows have not been weighed.

    Per observed row: a view would gain weight by its absences otherwise. A view that no row has had
    yet gets the mean of the others.
    """
    counts = np.array(total.squares, dtype=np.float64)
    seen = counts > 0
    if not seen.any():
        return None
    shares = np.maximum(np.array(total.view_objectives(alpha))[seen] / counts[seen], LEAST_SHARE)
    weights = np.ones(len(counts))
    weights[seen] = shares ** (-1.0 / (POWER - 1.0))
    weights[~seen] = weights[seen].mean()
    return relative(weights.tolist())
