"""View weights w_v in the distance D = sum over the observed views of w_v |x - u|^2, given or learnt.

    w_v = (J_v / N_v)^(-1 / (p - 1)),  J_v the objective of view v alone, N_v its number of rows

Rows of length sqrt(w_v) have these distances to the centres made of them, so weighting is scaling and no
other module needs to know. Weights are divided by the largest: no row is longer than 1, and every bound on
sums and errors still holds.
"""

from __future__ import annotations

from collections.abc import Sequence

SMALLEST_WEIGHT = 1e-6  # relative to the largest; shorter rows would be lost on the grid

Weights = tuple[float, ...]


def relative(given: Sequence[float]) -> Weights | None:
    """Weights divided by the largest; None if they are all equal."""
    largest = max(given)
    if min(given) == largest:
        return None
    return tuple(float(weight / largest) for weight in given)


def left_out(weights: Weights | None) -> tuple[bool, ...]:
    """Whether each view has the weight 0; () if none has.

    >>> left_out((1.0, 0.0)), left_out((1.0, 0.5))
    ((False, True), ())
    """
    return tuple(not weight for weight in weights or ()) if weights and not all(weights) else ()
