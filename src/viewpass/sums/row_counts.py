"""Counts of the rows read, which add up whatever chunks, machines or files they come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from viewpass.views.gaps import GapCounts, gap_counts
from viewpass.views.rows import MeasuredRows


@dataclass(frozen=True)
class RowCounts:
    """How many rows were read, and what was odd about them."""

    n_rows: int = 0  # those without any view included
    n_without_views: int = 0
    n_copies: int | None = None  # rows as often as they count, in units of 1 / weight_unit; None: n_rows
    n_all_zero: tuple[int, ...] = ()  # rows missing in each view because they are all zero; (): none
    n_gaps: tuple[GapCounts, ...] = ()  # values missing inside the rows of each view; (): none

    @classmethod
    def of(cls, rows: MeasuredRows, n_rows: int | None = None) -> RowCounts:
        """Of the first of these rows; None: of all."""
        n_rows = rows.n_rows if n_rows is None else n_rows
        copies, n_all_zero, n_gaps = (
            rows.chunk.copies,
            rows.n_all_zero(n_rows),
            gap_counts(rows.chunk, n_rows),
        )
        return cls(
            n_rows,
            int((~(rows.inverse[:, :n_rows] > 0).any(axis=0)).sum()),
            None if copies is None else int(copies[:n_rows].sum()),
            tuple(n_all_zero.tolist()) if n_all_zero.any() else (),
            tuple(GapCounts(*own) for own in n_gaps.tolist()) if n_gaps.any() else (),
        )

    @property
    def n_counted(self) -> int:
        """Rows, each as often as it counts."""
        return self.n_rows if self.n_copies is None else self.n_copies

    @property
    def n_seen(self) -> int:
        """Rows that have a view."""
        return self.n_rows - self.n_without_views

    @property
    def n_with_views(self) -> int:
        """Rows that have a view, each as often as it counts; where rows are weighted, the others, too."""
        return self.n_seen if self.n_copies is None else self.n_copies

    def scaled(self, n_rows: int) -> RowCounts:
        """Of so many rows like these, rounded down."""
        factor = n_rows / max(self.n_rows, 1)
        return RowCounts(
            n_rows,
            int(self.n_without_views * factor),
            None if self.n_copies is None else int(self.n_copies * factor),
            tuple(int(n * factor) for n in self.n_all_zero),
            tuple(GapCounts(*(int(n * factor) for n in own)) for own in self.n_gaps),
        )

    def __add__(self, other: RowCounts) -> RowCounts:
        weighed = self.n_copies is not None or other.n_copies is not None
        return RowCounts(
            self.n_rows + other.n_rows,
            self.n_without_views + other.n_without_views,
            self.n_counted + other.n_counted if weighed else None,
            tuple(_added(self.n_all_zero, other.n_all_zero)),
            tuple(GapCounts(*own) for own in _added(self.n_gaps, other.n_gaps)),
        )


def _added(one: Sequence[Any], other: Sequence[Any]) -> list[Any]:
    """Sums for each view, where there are any."""
    if not one or not other:
        return list(one or other)
    found: list[Any] = (np.array(one) + np.array(other)).tolist()
    return found
