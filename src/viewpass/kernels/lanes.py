"""The fixed order of adding for norms and traces (see grid.LANES), compiled."""

from __future__ import annotations

import numpy as np
from numba import njit

from viewpass.kernels.compiling import part
from viewpass.kernels.grid import LANES, Floats


@part
def clear(lanes):  # type: ignore[no-untyped-def]
    """All lanes at zero.  OUT lanes."""
    for lane in range(LANES):
        lanes[lane] = 0.0


@part
def _halve(lanes, half):  # type: ignore[no-untyped-def]
    for lane in range(half):
        lanes[lane] += lanes[lane + half]


@part
def fold(lanes, width):  # type: ignore[no-untyped-def]
    """Add the lanes in halves, without those that so few columns left at zero.  INOUT lanes: spoilt."""
    if width > 32:
        _halve(lanes, 32)
    if width > 16:
        _halve(lanes, 16)
    if width > 8:
        _halve(lanes, 8)
    if width > 4:
        _halve(lanes, 4)
    if width > 2:
        _halve(lanes, 2)
    return lanes[0] + lanes[1]


@njit(nogil=True)
def new_lanes() -> Floats:
    """All lanes at zero."""
    return np.zeros(LANES)
