"""Values missing inside a view (`missing_entries`): found before rows are measured, then filled.

A row that has at least LEAST_SHARE of the values of a dense view has the view; the others take the means of
their columns ("fill"), which the scale of the view has learnt from the warm-up (views/scaling.py), or the
values of similar rows ("local", views/completion.py). A row with fewer counts as lacking the view.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from viewpass.kernels.grid import Floats, Mask, Matrix
from viewpass.views.chunk import Chunk

LEAST_SHARE = 0.1  # of a view's values; a row with fewer counts as lacking the view
CHOICES = ("refuse", "fill", "local")


@dataclass
class GapCounts:
    """How many values of a view are missing inside rows."""

    rows: int = 0  # that have gaps
    values: int = 0  # missing in them
    too_few: int = 0  # rows that count as lacking the view, with too few of its values

    def add(self, other: GapCounts) -> None:
        """Add those of other rows."""
        self.rows, self.values = self.rows + other.rows, self.values + other.values
        self.too_few += other.too_few


def with_gaps(chunk: Chunk) -> tuple[Chunk, list[GapCounts]]:
    """The same rows with values that are missing marked (`Chunk.gaps`) and set to 0; counts per view."""
    views, gaps = list(chunk.views), list[Mask | None]()
    counts, hidden = [GapCounts() for _ in views], dict[int, Mask]()
    for v, view in enumerate(chunk.views):
        missing = np.isnan(view) if isinstance(view, np.ndarray) else np.zeros((0, 0), dtype=bool)
        if not missing.any():
            gaps.append(None)
            continue
        assert isinstance(view, np.ndarray)
        width, n_held = view.shape[1], (~missing).sum(axis=1)
        partly = chunk.wanted(v) & (n_held > 0) & (n_held < width)
        few = partly & (n_held < LEAST_SHARE * width)
        kept = partly & ~few
        if few.any():
            hidden[v] = few
        mask = missing & kept[:, None]
        counts[v] = GapCounts(int(kept.sum()), int(mask.sum()), int(few.sum()))
        gaps.append(mask if kept.any() else None)
        if kept.any():
            views[v] = np.where(mask, view.dtype.type(0), view)
    marked = replace(chunk, views=tuple(views), gaps=tuple(gaps))
    return hiding(marked, hidden), counts


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
