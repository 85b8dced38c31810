"""The grid on which rows are summed, and other constants and array types that all kernels share.

A row of a view is scaled to unit length and each value rounded to a multiple of 2^-33. Sums of such
values are whole numbers of grid steps, kept as int64: the order of adding never matters, subtracting
undoes adding, merging is addition. The sums of 2^30 rows fit, even if all point along one axis. A coarser
grid would hold more rows. This one keeps the objective to about 1e-9 of its value, even where rounding errors
add up, as in binary rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Matrix: TypeAlias = Any  # a 2-D array or a CSR matrix (scipy's have no types)
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Labels = NDArray[np.int32]
Mask = NDArray[np.bool_]
Links: TypeAlias = Any  # of anchors: a symmetric CSR array of int64, entries sorted, none of them zero

GRID = 2.0**33  # steps in the length 1
STEP = 2.0**-33  # the length of a step
MOST_ROWS = 2**30  # of one cluster in one view

# Inner products are added up in partial sums, column j in partial sum j % 64, which are then added in
# halves. That fixes the order of adding, so that dense and sparse rows get the same bits, and leaves
# room for vector instructions.
PARTIAL_SUMS = 64

# Soft assignment: a row is a mixture of a few anchors, with weights that are multiples of 1 / UNIT.
NEIGHBOURS = 4
UNIT = 2**15

# With FEWEST_GROUPED anchors or more, a row is compared only with the anchors of its nearest groups
# (native/anchor_search.hpp): at least as many as GROUPS_SEARCHED groups of average size hold. There are
# sqrt(M) groups of M anchors. A row is then a mixture of MANY_NEIGHBOURS anchors.
FEWEST_GROUPED = 512
GROUPS_SEARCHED = 8
MANY_NEIGHBOURS = 5


def neighbours(n_anchors: int) -> int:
    """Anchors that a row is a mixture of."""
    most = NEIGHBOURS if n_anchors < FEWEST_GROUPED else MANY_NEIGHBOURS
    return max(1, min(most, n_anchors - 1))


# Sample weights that are not whole numbers are rounded to multiples of 1 / WEIGHT_UNIT.
WEIGHT_UNIT = 2**10

# Squared lengths of rows that keep theirs are summed in whole numbers of this.
SQUARE_STEP = 2.0**-50

# A centred row whose largest number is smaller is equal to the mean, but for rounding.
SMALLEST_SCALED = 2.0**-30


# Of rows that NumPy processes, copies of so many values are held at a time.
VALUES_AT_ONCE = 2**20


def slices(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Rows of so many columns, as many as are processed at a time."""
    size = max(1, VALUES_AT_ONCE // max(n_columns, 1))
    return (slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size))


class RowKind(IntEnum):
    """What a row is in a view (native/rows.hpp)."""

    ABSENT, PRESENT, PARTLY_NAN, INFINITE, EXTREME, UNSORTED, OUTSIDE = range(7)


class Begin(IntEnum):
    """Where the first labels of a chunk come from (native/chunk_step.hpp); COUNTED: in the sums already."""

    CENTRES, SOFT_CENTRES, LABELS, COUNTED = range(4)
