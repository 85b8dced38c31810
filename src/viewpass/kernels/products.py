"""Inner products of all pairs of rows, each added in the order of lanes: the same bits on every processor."""

from __future__ import annotations

import numpy as np

from viewpass.kernels.grid import Floats
from viewpass.kernels.native import native
from viewpass.kernels.reference import lane_sum


def products(a: Floats, b: Floats) -> Floats:
    """a_i.b_j for every row of one and of the other; `products(a, a)` is symmetric, to the bit."""
    if native is None:
        return reference_products(a, b)
    found: Floats = native.products(a, b)
    return found


def reference_products(a: Floats, b: Floats) -> Floats:
    """The specification."""
    found = np.empty((len(a), len(b)))
    for i, row in enumerate(a):
        found[i] = lane_sum(row * b)
    return found
