"""The fixed order of adding for norms and traces (see grid.LANES), compiled."""

from __future__ import annotations

import numpy as np
from numba import njit

from viewpass.kernels.grid import LANES, Floats


@njit(nogil=True)
def fold(lanes: Floats) -> float:
    """Add the lanes in halves. INOUT lanes: spoilt."""
    half = LANES // 2
    while half > 0:
        for lane in range(half):
            lanes[lane] += lanes[lane + half]
        half //= 2
    return lanes[0]  # type: ignore[no-any-return]


@njit(nogil=True)
def new_lanes() -> Floats:
    """All lanes at zero."""
    return np.zeros(LANES)
