"""The grid on which rows are summed, and the letters for arrays that every kernel shares.

A row of a view is scaled to unit length and each value rounded to a multiple of 2^-33. Sums of such
values are whole numbers of grid steps, kept as int64: the order of adding never matters, subtracting
undoes adding, merging is addition. The sums of 2^30 rows fit, even if all point along one axis; a
coarser grid would hold more, a finer one would show less in the objective (2^-33 keeps it to about
1e-9 of its value even where rounding errors add up, as in binary rows).
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Matrix: TypeAlias = Any  # a 2-D array or a CSR matrix (scipy's have no types)
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Labels = NDArray[np.int32]
Mask = NDArray[np.bool_]

GRID = 2.0**33
STEP = 2.0**-33
MOST_ROWS = 2**30  # of one cluster in one view

# Adding ROUNDER to a float64 of magnitude at most 1 leaves a sum whose last bit is worth 2^-33:
# the addition itself rounds to the grid, half to even, and the bits of the sum count grid steps.
ROUNDER = 1.5 * 2.0**19
ROUNDER_BITS = int(np.float64(ROUNDER).view(np.int64))

# Sums of squares (norms) run in LANES partial sums, column j in lane j % LANES, which are then
# added in halves. That fixes the order of adding, so that dense and sparse rows get the same bits,
# while leaving it wide enough for vector instructions.
LANES = 64

# What `measure` says of a row in a view.
ABSENT, PRESENT, PARTLY_NAN, INFINITE, EXTREME, UNSORTED, OUTSIDE = range(7)

# Sums of squares outside these bounds have lost digits: such a row is rescaled first.
SMALLEST_SQUARE, LARGEST_SQUARE = 2.0**-900, 2.0**900

# A centred row whose largest number is below the first is a row equal to the mean but for rounding;
# above the second it is brought to size 1; where it cannot be told, everything is shrunk first.
SMALLEST_SCALED, LARGEST_SCALED = 2.0**-30, 2.0**60
SHRINK = 2.0**-1000
