"""Protocols of missing views by name. One nominal rate means different things under each.

Every protocol leaves at least one view to each row that had one, and can start from views that are
missing already. `audit` says what a mask really is.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real

import numpy as np
import numpy.typing as npt

from viewpass.errors import DataError, SettingError
from viewpass.evaluate.missing import Mask, exact_per_view, partial_rows, random_views, windows
from viewpass.views.seeds import Seed, as_generator


def _lose_one(before: Mask, rate: float, rng: np.random.Generator) -> Mask:
    rows = rng.permutation(np.flatnonzero(before.sum(axis=1) >= 2))
    rows = rows[: round(rate * int(before.any(axis=1).sum()))]
    kept = before.copy()
    kept[rows, random_views(before[rows], rng)] = False
    return kept


def _protect_one(before: Mask, rate: float, rng: np.random.Generator) -> Mask:
    kept = before & (rng.random(before.shape) >= rate / (before.shape[1] - 1))
    return np.asarray(kept | _protected(before, rng))


def _each_cell(before: Mask, rate: float, rng: np.random.Generator) -> Mask:
    kept = before & (rng.random(before.shape) >= rate)
    bare = before.any(axis=1) & ~kept.any(axis=1)
    kept[bare] = _protected(before[bare], rng)
    return kept


def _exact_cells(before: Mask, rate: float, rng: np.random.Generator) -> Mask:
    free = np.flatnonzero(before & ~_protected(before, rng))
    kept = before.copy()
    kept.flat[rng.permutation(free)[: round(rate * int(before.sum()))]] = False
    return kept


def _protected(before: Mask, rng: np.random.Generator) -> Mask:
    """One random view of each row."""
    one = np.zeros_like(before)
    rows = np.flatnonzero(before.any(axis=1))
    one[rows, random_views(before[rows], rng)] = True
    return one


def _ramp(rate: float, n: int, most: float = 1.0) -> list[float]:
    """Rates from low to high with mean `rate`: half of the way to 0 and to `most`, if that is nearer."""
    room = max(min(rate, most - rate), 0.0) / 2
    return [float(rate + room * place) for place in np.linspace(-1, 1, n)]


RULES: dict[str, Callable[[Mask, float, np.random.Generator], Mask]] = {
    "paper": lambda before, rate, rng: exact_per_view(before, [rate] * before.shape[1], rng),
    "P1": _lose_one,
    "P2": _protect_one,
    "P3": _each_cell,
    "P4": _exact_cells,
    "partial-rows": partial_rows,
    "windows": windows,
    "unbalanced": lambda before, rate, rng: exact_per_view(before, _ramp(rate, before.shape[1]), rng),
}
PROTOCOLS = {
    "paper": "each view loses exactly floor(r n) of its rows (OPIMC, the surveys)",
    "P1": "round(r n) rows lose one view",
    "P2": "one random view of a row is protected, each other is lost with probability r / (V - 1)",
    "P3": "each cell is lost with probability r; a row without any view gets one back",
    "P4": "exactly r n V cells are lost, none of them the one protected view of a row",
    "partial-rows": "floor(r n) rows keep 1 to V - 1 of their views (IMVC-CBG and others)",
    "windows": "each view loses the next ceil(r n) rows of one shuffled order (OMVC)",
    "unbalanced": "as paper, with rates that rise from view to view and have mean r",
    "by-class": "as paper within each class, with rates that rise from class to class and have mean r",
}


def make_mask(
    protocol: str,
    n_rows: int,
    n_views: int,
    rate: float,
    random_state: Seed = None,
    *,
    labels: npt.ArrayLike | None = None,
    observed: npt.ArrayLike | None = None,
) -> Mask:
    """Remove views by a named protocol.

    Parameters
    ----------
    protocol : str
        One of `PROTOCOLS`, which says what each does: "paper", "P1" to "P4" (arXiv 2606.04857),
        "partial-rows", "windows", "unbalanced", "by-class".
    n_rows, n_views : int
        Shape of the mask.
    rate : float
        The nominal rate r, 0 to 1.
    random_state : None, int, numpy.random.RandomState or numpy.random.Generator
        The same int gives the same mask.
    labels : array-like of shape (n_rows,), optional
        Classes, for "by-class".
    observed : array-like of bool of shape (n_rows, n_views), optional
        Views present at the start; all of them by default.

    Returns
    -------
    numpy.ndarray of bool of shape (n_rows, n_views)
        True where a row keeps a view. Each row that had a view has one.

    Examples
    --------
    >>> from viewpass.evaluate import make_mask
    >>> for protocol in ("P1", "paper"):
    ...     mask = make_mask(protocol, 1000, 4, 0.5, random_state=0)
    ...     print(protocol, round(1 - float(mask.mean()), 3), round(float(mask.all(axis=1).mean()), 2))
    P1 0.125 0.5
    paper 0.5 0.06
    """
    if protocol not in PROTOCOLS:
        raise SettingError(f"protocol is {protocol!r}. Choose one of {', '.join(PROTOCOLS)}.")
    before = _starting_mask(n_rows, n_views, observed)
    if not isinstance(rate, Real) or isinstance(rate, bool) or not 0 <= rate <= 1:
        raise SettingError(f"rate is {rate!r}. Pass a number from 0 to 1.")
    rate, rng = float(rate), as_generator(random_state)
    if n_views < 2:
        if rate:
            raise SettingError(
                "n_views is 1: a row that loses its only view is lost. Pass 2 or more, or rate 0."
            )
        return before.copy()
    if protocol != "by-class":
        return RULES[protocol](before, rate, rng)
    classes = np.asarray([] if labels is None else labels)
    if classes.shape != (n_rows,):
        raise DataError(f"by-class needs labels, one for each of the {n_rows} rows.")
    names, kept = np.unique(classes), before.copy()
    for name, own in zip(names, _ramp(rate, len(names), 1 - 1 / n_views), strict=True):
        rows = classes == name
        kept[rows] = exact_per_view(before[rows], [own] * n_views, rng)
    return kept


def _starting_mask(n_rows: int, n_views: int, observed: npt.ArrayLike | None) -> Mask:
    """Check the shape of a mask and the views present at the start."""
    for name, value in (("n_rows", n_rows), ("n_views", n_views)):
        if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
            raise SettingError(f"{name} is {value!r}. Pass an int that is 1 or more.")
    if observed is None:
        return np.ones((n_rows, n_views), dtype=np.bool_)
    mask = np.asarray(observed)
    if mask.dtype != np.bool_ or mask.shape != (n_rows, n_views):
        raise DataError(
            f"observed is of type {mask.dtype} and shape {mask.shape}. Pass a bool array of shape "
            f"({n_rows}, {n_views}): n_rows x n_views, True where a row has the view."
        )
    return mask
