"""All rows at once, for the methods that are not online: read, filled, and what they came to."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from viewpass.baselines.algorithms.rows import Filled, Running
from viewpass.kernels.grid import Floats, Integers, Labels
from viewpass.views.chunk import Schema
from viewpass.views.rows import MeasuredRows

WITHOUT_ROWS = "a model from a file does not hold the rows it was fitted to, nor their labels."


@dataclass
class Whole:
    """What an offline factorisation has learnt; one from a file is without its rows (`kept`, `agreed`)."""

    schema: Schema | None
    n_rows: int
    n_without_views: int  # rows without any view
    kept: Integers | None
    bases: list[Floats | None]
    totals: list[float | None]
    agreed: Floats | None
    value: float
    curve: list[float]
    n_iter: int
    seed: int
    n_last: int
    clipped: set[int] = field(default_factory=set)
    groups: tuple[Floats, Labels] | None = None

    @classmethod
    def of(
        cls,
        rows: MeasuredRows,
        kept: Integers,
        seed: int,
        bases: list[Floats | None],
        totals: list[float | None],
        agreed: Floats,
        curve: list[float],
        clipped: set[int],
    ) -> Whole:
        """What came of the rows `kept`; the last value of the curve is the one reached."""
        return cls(
            schema=rows.chunk.schema,
            n_rows=rows.n_rows,
            n_without_views=rows.n_rows - len(kept),
            kept=kept,
            bases=bases,
            totals=totals,
            agreed=agreed,
            value=curve[-1],
            curve=curve,
            n_iter=len(curve),
            seed=seed,
            n_last=rows.n_rows,
            clipped=clipped,
        )

    def consensus(self) -> Floats:
        """A row of coefficients for every row that has a view."""
        if self.agreed is None:
            raise AttributeError(WITHOUT_ROWS)
        return self.agreed

    def where(self) -> Integers:
        """Numbers of the rows with a view."""
        if self.kept is None:
            raise AttributeError(WITHOUT_ROWS)
        return self.kept

    def objective(self) -> float:
        """The objective reached."""
        return self.value

    def components(self) -> list[Floats | None]:
        """The basis of each view, columns x clusters."""
        return self.bases


def read_whole(
    rows: MeasuredRows, kept: Integers
) -> tuple[list[Filled | None], list[float | None], set[int]]:
    """Every view filled with its mean, clipped, divided by its sum; the sums; which views were clipped."""
    views: list[Filled | None] = []
    totals: list[float | None] = []
    negative = set()
    for v in range(rows.n_views):
        filled, _, found = Running().read(rows, v, kept)
        if found:
            negative.add(v)
        total = None if filled is None else filled.total() or 1.0
        totals.append(total)
        views.append(None if filled is None or total is None else filled.divided(total))
    return views, totals, negative


def spread(values: list[Floats], views: list[Filled | None]) -> list[Floats | None]:
    """Put what was found for the views that exist back among all views."""
    found = iter(values)
    return [None if view is None else next(found) for view in views]


def presence(views: list[Filled]) -> Floats:
    """1 where a row has a view, rows x views."""
    return np.column_stack([~view.missing for view in views]).astype(np.float64)
