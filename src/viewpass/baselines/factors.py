"""What a factorisation has found, the views that an offline one reads, and non-negative least squares.

The least squares are of many rows that share one small Gram matrix: Newton steps, and to the end. By them new
rows are projected on fitted bases.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from viewpass.baselines.rows import FilledView, RunningMean, present_rows, unit_rows
from viewpass.errors import DataError
from viewpass.kernels.backend import backend
from viewpass.kernels.grid import Floats, Integers, Labels
from viewpass.views.chunk import Schema
from viewpass.views.rows import MeasuredRows

HALVINGS = 30
FALL = 1e-12  # relative decrease below which a difference is rounding
RIDGE = 1e-12  # share of the mean diagonal, for a Hessian that may be singular
GRAM_RIDGE = 1e-13  # the same, for a Gram matrix


def quadratic(Y: Floats, gram: Floats, products: Floats, weights: Floats | None = None) -> float:
    """The sum over rows of w_i (y_i G y_i' - 2 p_i y_i')."""
    rows = np.einsum("ij,ij->i", Y @ gram - 2.0 * products, Y)
    return float(rows.sum() if weights is None else weights @ rows)


def ridged(gram: Floats, share: float = RIDGE) -> Floats:
    """The matrix with a small multiple of the identity added."""
    size = len(gram)
    return np.asarray(gram + max(share * float(np.trace(gram)) / size, 1e-300) * np.eye(size))


def inverse(gram: Floats) -> Floats:
    """The inverse of a Hessian, or its pseudo-inverse where it is singular to working precision."""
    try:
        found = np.linalg.inv(ridged(gram))
    except np.linalg.LinAlgError:
        found = np.full_like(gram, np.inf)
    if not np.isfinite(found).all():
        found = np.linalg.pinv(gram)
    return np.asarray(found, dtype=np.float64)


def newton_step(
    Y: Floats,
    gram: Floats,
    products: Floats,
    *,
    weights: Floats | None = None,
    diagonal: bool = False,
    measure: Callable[[Floats], float] | None = None,
) -> tuple[Floats, float]:
    """One projected Newton step on `quadratic`, halved until the value decreases.

    Clipping may turn the Newton direction uphill, or lead back to the same point, which need not be the
    minimum. Where no halving helps, one projected gradient step of length 1 / largest eigenvalue is taken,
    which never increases the value. `measure` replaces `quadratic` in the test.
    Returns the new Y >= 0 and its value.
    """
    value = (lambda y: quadratic(y, gram, products, weights)) if measure is None else measure
    here = value(Y)
    slope = Y @ gram - products
    if diagonal:
        across = np.diagonal(gram)
        direction = slope / np.where(across > 0, across, 1.0)
    else:
        direction = slope @ inverse(gram)
    length = 1.0
    for _ in range(HALVINGS):
        there = np.maximum(Y - length * direction, 0.0)
        reached = value(there)
        if reached < here - FALL * abs(here):
            return there, reached
        if length == 1.0 and reached <= here + FALL * abs(here):
            break  # the full step leads back to the same point, and so would a shorter one
        length /= 2.0
    steepest = float(np.linalg.eigvalsh(gram)[-1])
    if steepest > 0:
        there = np.maximum(Y - slope / steepest, 0.0)
        reached = value(there)
        if reached <= here:
            return there, reached
    return Y, here


def nnls(gram: Floats, products: Floats, start: Floats | None = None, *, n_threads: int = 1) -> Floats:
    """Rows y >= 0 that minimise y G y' - 2 p y', to the last bit the same for any number of threads.

    Parameters
    ----------
    gram : (K, K) array
        Symmetric, positive semidefinite.
    products : (n, K) array
        The p of each row.
    start : (n, K) array, optional
        Near the answer: its positive entries are tried first.
    """
    size = len(gram)
    ridge = GRAM_RIDGE * max(float(np.trace(gram)) / max(size, 1), 1e-300)
    gram = np.ascontiguousarray(gram + ridge * np.eye(size))
    products = np.ascontiguousarray(products, dtype=np.float64)
    out = np.zeros_like(products) if start is None else np.array(start, dtype=np.float64, order="C")
    backend().nnls(gram, products, out, n_threads)
    return out


@dataclass
class Factors:
    """What an offline factorisation has found."""

    schema: Schema
    n_rows: int
    n_without_views: int
    kept: Integers  # indices of the rows with a view
    agreed: Floats  # consensus coefficients of those rows
    bases: list[Floats | None]
    totals: list[float | None]  # what each view was divided by; empty where rows have unit length
    curve: list[float]
    value: float  # of the objective
    n_iter: int
    seed: int
    clipped: set[int]
    clusters: tuple[Floats, Labels] | None = None

    def consensus(self) -> Floats:
        """A row of coefficients for every row that has a view."""
        return self.agreed

    def where(self) -> Integers:
        """Indices of the rows with a view."""
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
    totals: list[float | None]
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
    return PreparedViews(views, [], set())


def projected(
    views: list[FilledView | None], bases: list[Floats | None], n_rows: int, n_threads: int
) -> Floats:
    """Coefficients u >= 0 that minimise the sum over present views of |x_v - u V_v'|^2, row by row."""
    rank = next(basis.shape[1] for basis in bases if basis is not None)
    out = np.zeros((n_rows, rank))
    present = np.zeros((n_rows, len(bases)), dtype=bool)
    products = np.zeros((n_rows, rank))
    for v, (view, basis) in enumerate(zip(views, bases, strict=True)):
        if view is not None and basis is not None:
            present[:, v] = ~view.missing
            products += np.where(present[:, [v]], view.times(basis), 0.0)
    grams = [np.zeros((rank, rank)) if basis is None else basis.T @ basis for basis in bases]
    patterns, which = np.unique(present, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        rows = np.flatnonzero(which.ravel() == number)
        gram = np.sum([own for own, there in zip(grams, pattern, strict=True) if there], axis=0)
        out[rows] = nnls(gram, products[rows], n_threads=n_threads)
    return out
