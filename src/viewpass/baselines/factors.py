"""What a factorisation has found, and the views that an offline one reads, all rows at once."""

from __future__ import annotations

from dataclasses import dataclass

from viewpass.baselines.rows import FilledView, RunningMean, present_rows, unit_rows
from viewpass.errors import DataError, NoLabelsError
from viewpass.kernels.grid import Floats, Integers, Labels
from viewpass.views.chunk import Schema
from viewpass.views.rows import MeasuredRows

WITHOUT_ROWS = (
    "a model that was loaded does not hold the rows it was fitted to, nor their labels: they are not in the "
    "file. Call `predict` with the rows."
)


@dataclass
class Factors:
    """The state of an offline factorisation, or of any that was loaded: then without `kept` and `agreed`."""

    schema: Schema
    n_rows: int
    n_without_views: int
    kept: Integers | None  # indices of the rows with a view
    agreed: Floats | None  # consensus coefficients of those rows
    bases: list[Floats | None]
    totals: list[float | None]  # what each view was divided by; None for a view that no row has
    curve: list[float]
    value: float  # of the objective
    n_iter: int
    seed: int
    clipped: set[int]
    groups: tuple[Floats, Labels] | None = None

    @property
    def n_last(self) -> int:
        """Rows of the last call: all of them."""
        return self.n_rows

    def consensus(self) -> Floats:
        """A row of coefficients for every row that has a view."""
        if self.agreed is None:
            raise NoLabelsError(WITHOUT_ROWS)
        return self.agreed

    def where(self) -> Integers:
        """Indices of the rows with a view."""
        if self.kept is None:
            raise NoLabelsError(WITHOUT_ROWS)
        return self.kept

    def objective(self) -> float:
        """The objective over all rows read."""
        return self.value

    def components(self) -> list[Floats | None]:
        """The basis of each view, columns x clusters."""
        return self.bases


@dataclass
class PreparedViews:
    """All views of the rows to factorise; None for a view that no row has."""

    views: list[FilledView | None]
    totals: list[float | None]  # what each view was divided by
    clipped: set[int]  # views in which negative entries were set to 0

    def there(self) -> list[FilledView]:
        """The views that exist."""
        return [view for view in self.views if view is not None]

    def spread(self, values: list[Floats]) -> list[Floats | None]:
        """Values found for the views that exist, put back among all views."""
        found = iter(values)
        return [None if view is None else next(found) for view in self.views]


def divided_views(rows: MeasuredRows, kept: Integers) -> PreparedViews:
    """Every view filled with its mean, clipped at 0 and divided by the sum of its entries."""
    prepared = PreparedViews([], [], set())
    for v in range(rows.n_views):
        filled, _, negative = RunningMean().read(rows, v, kept)
        if negative:
            prepared.clipped.add(v)
        total = None if filled is None else filled.total()
        if total == 0:
            raise DataError(
                f"view {rows.chunk.names[v]!r}: no entry is above 0, so that nothing is left to factorise "
                "once negative entries are set to 0. Shift the view to positive values, or pass it as None."
            )
        prepared.totals.append(total)
        prepared.views.append(None if filled is None or total is None else filled.divided(total))
    return prepared


def unit_views(rows: MeasuredRows, kept: Integers) -> PreparedViews:
    """Every view with rows of unit length; absent rows are zero."""
    found = [present_rows(rows, v, kept) for v in range(rows.n_views)]
    views = [None if own is None else FilledView.unfilled(unit_rows(own[0]), own[1]) for own in found]
    return PreparedViews(views, [None if view is None else 1.0 for view in views], set())
