"""Conversion of number columns to one matrix: side by side, with NaN for null."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viewpass.kernels.grid import Array
from viewpass.sources.arrow.batches import Batch
from viewpass.sources.arrow.columns.layout import ViewColumns, flat
from viewpass.sources.arrow.columns.lists import valid


def read_numbers(batches: Sequence[Batch], view: ViewColumns) -> Array:
    """Return the matrix of a view; a row of nulls becomes a row of NaN, which is a missing view."""
    matrix = np.empty((sum(map(len, batches)), len(view.columns)), dtype=view.dtype)
    start = 0
    for batch in batches:
        rows = matrix[start : start + len(batch)]
        for place, name in enumerate(view.columns):
            column = batch.rows.column(name)
            rows[:, place] = flat(column)
            present = valid(column)
            if present is not None:
                rows[~present, place] = np.nan
        start += len(batch)
    return matrix
