"""The grid on which rows are summed, and the letters for arrays that every kernel shares.

A row of a view is scaled to unit length and each value rounded to a multiple of 2^-30. Sums of such
values are whole numbers of grid steps, kept as int64: the order of adding never matters, subtracting
undoes adding, merging is addition. 2^33 rows of one cluster fit before an int64 could overflow.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Labels = NDArray[np.int32]
Mask = NDArray[np.bool_]

GRID = 2.0**30
STEP = 2.0**-30

# Adding ROUNDER to a float64 of magnitude at most 1 leaves a sum whose last bit is worth 2^-30:
# the addition itself rounds to the grid, half to even, and the bits of the sum count grid steps.
ROUNDER = 1.5 * 2.0**22
ROUNDER_BITS = int(np.float64(ROUNDER).view(np.int64))

# Sums of squares (norms) run in LANES partial sums, column j in lane j % LANES, which are then
# added in halves. That fixes the order of adding, so that dense and sparse rows get the same bits,
# while leaving it wide enough for vector instructions.
LANES = 64

# What `measure` says of a row in a view.
ABSENT, PRESENT, PARTLY_NAN, INFINITE, EXTREME, UNSORTED, OUTSIDE = range(7)

# Sums of squares outside these bounds have lost digits: such a row is rescaled first.
SMALLEST_SQUARE, LARGEST_SQUARE = 2.0**-900, 2.0**900
