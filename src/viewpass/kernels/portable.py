"""The logarithm by basic operations alone: the last bits of a library's differ between machines."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from viewpass.kernels.grid import Floats

HALF_ROOT = 0.70710678118654752  # of 2
LN2_HIGH, LN2_LOW = float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33")  # together log 2
TERMS = 10


def log(x: ArrayLike) -> Floats:
    """The natural logarithm of positive, finite numbers, to about one unit in the last place.

    x = 2^e (1 + f) with 1 + f next to 1; then log(1 + f) = 2 s + 2 s^3 / 3 + 2 s^5 / 5 + ... where
    s = f / (2 + f), written so that f, which is exact, is added last.

    >>> log([0.5, 1.0, 2.0])
    array([-0.69314718,  0.        ,  0.69314718])
    """
    mantissa, exponent = np.frexp(np.asarray(x, dtype=np.float64))
    small = mantissa < HALF_ROOT
    f = np.where(small, 2.0 * mantissa, mantissa) - 1.0
    e = (exponent - small).astype(np.float64)
    s = f / (2.0 + f)
    square = s * s
    series = np.zeros_like(square)
    for k in range(TERMS, 0, -1):
        series = square * (2.0 / (2 * k + 1) + series)
    half = 0.5 * f * f
    found: Floats = e * LN2_HIGH - ((half - (s * (half + series) + e * LN2_LOW)) - f)
    return found
