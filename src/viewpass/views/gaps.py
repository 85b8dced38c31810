"""Values missing inside a view (`missing_entries`): found before rows are measured, then filled.

A row with at least LEAST_HELD of the values of a dense view has the view; a row with fewer lacks it. "fill"
replaces missing values by the means of their columns, which the scale has learnt from the sample
(views/scaling.py); "local" by the values of similar rows (views/completion.py).
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from viewpass.kernels.grid import Floats, Integers, Mask, Matrix
from viewpass.views.chunk import Chunk

LEAST_HELD = 0.1  # of a view's values; a row with fewer counts as lacking the view
GAP_RULES = ("refuse", "fill", "local")


class GapCounts(NamedTuple):
    """How many values of a view are missing inside rows."""

    rows: int = 0  # that have gaps
    values: int = 0  # missing in them
    too_few: int = 0  # rows that count as lacking the view, with too few of its values


def gap_counts(chunk: Chunk, n_rows: int) -> Integers:
    """The `GapCounts` of each view (views x 3), in the first rows of a chunk."""
    lacking = np.zeros((0, len(chunk.names))) if chunk.odd.lacking is None else chunk.odd.lacking[:n_rows]
    counts = (lacking > 0).sum(axis=0), np.maximum(lacking, 0).sum(axis=0), (lacking < 0).sum(axis=0)
    return np.column_stack(counts).astype(np.int64)


def with_gaps(chunk: Chunk) -> Chunk:
    """The same rows with values that are missing marked (`Chunk.gaps`), set to 0 and counted."""
    views, gaps = list(chunk.views), list[Mask | None]()
    lacking, hidden = np.zeros((chunk.n_rows, len(views)), dtype=np.int32), dict[int, Mask]()
    for v, view in enumerate(chunk.views):
        missing = np.isnan(view) if isinstance(view, np.ndarray) else np.zeros((0, 0), dtype=bool)
        if not missing.any():
            gaps.append(None)
            continue
        assert isinstance(view, np.ndarray)
        width, n_held = view.shape[1], (~missing).sum(axis=1)
        partly = chunk.wanted(v) & (n_held > 0) & (n_held < width)
        few = partly & (n_held < LEAST_HELD * width)
        kept = partly & ~few
        if few.any():
            hidden[v] = few
        mask = missing & kept[:, None]
        lacking[:, v] = np.where(kept, width - n_held, 0) - np.where(few, width - n_held, 0)
        gaps.append(mask if kept.any() else None)
        if kept.any():
            views[v] = np.where(mask, view.dtype.type(0), view)
    counted = lacking if lacking.any() else None
    odd = replace(chunk.odd, lacking=counted)
    return hiding(replace(chunk, views=tuple(views), gaps=tuple(gaps), odd=odd), hidden)


def hiding(chunk: Chunk, rows: dict[int, Mask]) -> Chunk:
    """The same without these rows of some views."""
    if not rows:
        return chunk
    observed = np.ones((chunk.n_rows, len(chunk.names)), dtype=bool)
    if chunk.observed is not None:
        observed &= chunk.observed
    for v, hidden in rows.items():
        observed[hidden, v] = False
    return replace(chunk, observed=observed)


def filled(view: Matrix, gaps: Mask | None, values: Floats) -> Matrix:
    """A view with the values of its columns where it has gaps."""
    return view if gaps is None else np.where(gaps, values.astype(view.dtype), view)
