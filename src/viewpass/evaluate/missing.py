"""Generators of missing views, by the three protocols of the literature; `protocols.py` has more, by name.

The three are not comparable: "rate 0.5" of one paper is about "share 1" of another. Each generator
returns an `observed` mask (rows x views, True where a view is kept), can start from views that
are missing already, and leaves at least one view to every row that had one.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from viewpass.errors import DataError, SettingError
from viewpass.views.seeds import Seed, as_generator

Mask: TypeAlias = npt.NDArray[np.bool_]


def remove_per_view(
    n_rows: int,
    n_views: int,
    rate: float | Sequence[float],
    random_state: Seed = None,
    *,
    observed: npt.ArrayLike | None = None,
) -> Mask:
    """Remove the same share of rows from each view: the protocol of OPIMC and of the surveys.

    From each view, floor(rate x rows observed in it) random rows are removed. A row that would
    lose its last view gets a random one back, and another row with more than one view loses that
    view instead, so that each view's rate stays exact.

    Parameters
    ----------
    n_rows, n_views : int
        Shape of the mask.
    rate : float, or a sequence of one per view
        Share of its rows that each view loses, 0 to 1 - 1 / n_views for complete data.
    random_state : None, int, numpy.random.RandomState or numpy.random.Generator
        The same int gives the same mask.
    observed : array-like of bool of shape (n_rows, n_views), optional
        Views present at the start; all of them by default.

    Returns
    -------
    numpy.ndarray of bool of shape (n_rows, n_views)

    Raises
    ------
    SettingError
        If a setting is invalid, or the rate is too high to leave every row a view.
    DataError
        If `observed` is not a bool mask of that shape.

    Examples
    --------
    >>> from viewpass.evaluate import remove_per_view
    >>> observed = remove_per_view(1000, 3, 0.4, random_state=0)
    >>> observed.sum(axis=0).tolist(), bool(observed.any(axis=1).all())
    ([600, 600, 600], True)
    """
    before = starting_mask(n_rows, n_views, observed)
    rates: list[Any] = [rate] * n_views if np.ndim(rate) == 0 else list(rate)  # type: ignore[arg-type]
    if len(rates) != n_views:
        raise SettingError(
            f"rate has {len(rates)} values for {n_views} views. Pass one per view, or a number."
        )
    rng = as_generator(random_state)
    kept = before.copy()
    for view, share in enumerate(rates):
        rows = np.flatnonzero(before[:, view])
        kept[rng.permutation(rows)[: _floor(checked_share("rate", share) * rows.size)], view] = False
    _swap_directly(kept, before, rng)
    _swap_along_chains(kept, before, rng, ", ".join(f"{share:g}" for share in dict.fromkeys(rates)))
    return kept


def remove_windows(
    n_rows: int,
    n_views: int,
    rate: float,
    random_state: Seed = None,
    *,
    observed: npt.ArrayLike | None = None,
) -> Mask:
    """Remove consecutive blocks of one shuffled order of the rows: the protocol of OMVC.

    Rows 1, 2, ... are shuffled once and the order is repeated cyclically; each view in turn loses
    the next ceil(rate x n_rows) rows of it, so that rows lose nearly equal numbers of views. Row 0
    loses none, because methods that fill with running means need it.

    A row that would lose its last view keeps a random one. On complete data this affects fewer than
    2 x n_views rows, and only at a rate close to 1 - 1 / n_views; with views missing already it can
    make a view lose less than its block.

    Parameters
    ----------
    rate : float
        Share of all rows that each view loses, 0 to 1 - 1 / n_views.
    n_rows, n_views, random_state, observed
        As in `remove_per_view`, and so are the result and the errors.

    Examples
    --------
    >>> from viewpass.evaluate import remove_windows
    >>> observed = remove_windows(101, 4, 0.2, random_state=0)
    >>> observed.sum(axis=0).tolist(), observed[0].tolist()
    ([80, 80, 80, 80], [True, True, True, True])
    """
    before = starting_mask(n_rows, n_views, observed)
    rate = checked_share("rate", rate)
    if round(rate * n_views, 9) > n_views - 1:
        raise SettingError(
            f"rate is {rate:g}: with {n_views} views, more than {1 - 1 / n_views:g} leaves rows "
            "without any view. Lower the rate."
        )
    rng = as_generator(random_state)
    order = 1 + rng.permutation(n_rows - 1)
    block = min(_ceil(rate * n_rows), n_rows - 1)
    kept = before.copy()
    for view in range(n_views):
        places = np.arange(view * block, (view + 1) * block)
        kept[order[places % max(n_rows - 1, 1)], view] = False
    bare = _bare(kept, before)
    kept[bare, random_views(before[bare], rng)] = True
    return kept


def remove_partial_rows(
    n_rows: int,
    n_views: int,
    share: float,
    random_state: Seed = None,
    *,
    observed: npt.ArrayLike | None = None,
) -> Mask:
    """Make a share of the rows partial: the protocol of the anchor family (IMVC-CBG and others).

    Of the rows with two views or more, floor(share x their number) random ones become partial:
    each keeps a random subset of its views, neither none nor all, every subset equally likely. So a
    view loses about share / 2 of its rows. With the same int as `random_state`, the mask of a
    higher share only removes more from the mask of a lower one.

    Parameters
    ----------
    share : float
        Share of the rows that become partial, 0 to 1.
    n_views : int
        Two or more.
    n_rows, random_state, observed
        As in `remove_per_view`, and so are the result and the errors.

    Examples
    --------
    >>> from viewpass.evaluate import remove_partial_rows
    >>> observed = remove_partial_rows(1000, 3, 0.4, random_state=0)
    >>> int((~observed.all(axis=1)).sum()), bool(observed.any(axis=1).all())
    (400, True)
    """
    before = starting_mask(n_rows, n_views, observed)
    share = checked_share("share", share)
    if n_views < 2:
        raise SettingError("n_views is 1: a row cannot keep a part of one view. Pass 2 or more.")
    rng = as_generator(random_state)
    kept = before.copy()
    rows = rng.permutation(np.flatnonzero(before.sum(axis=1) >= 2))
    # Subsets are drawn for all rows, needed or not, so that a higher share extends a lower one.
    subsets = _random_proper_subsets(before[rows], rng)
    n_partial = _floor(share * rows.size)
    kept[rows[:n_partial]] = subsets[:n_partial]
    return kept


def starting_mask(n_rows: int, n_views: int, observed: npt.ArrayLike | None) -> Mask:
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


def checked_share(name: str, value: float) -> float:
    """Check a number from 0 to 1."""
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 <= value <= 1:
        raise SettingError(f"{name} is {value!r}. Pass a number from 0 to 1.")
    return float(value)


def _floor(product: float) -> int:
    # 0.29 * 100 is 28.999999999999996: round first, so that 29 percent of 100 rows are 29 rows.
    return math.floor(round(product, 9))


def _ceil(product: float) -> int:
    return math.ceil(round(product, 9))


def _bare(kept: Mask, before: Mask) -> Mask:
    """Which rows had a view and have none left."""
    return np.asarray(before.any(axis=1) & ~kept.any(axis=1))


def random_views(allowed: Mask, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    """Pick one of its allowed views for each row, all equally likely."""
    draws = np.where(allowed, rng.random(allowed.shape), -1.0)
    return np.asarray(np.argmax(draws, axis=1))


def _random_proper_subsets(mask: Mask, rng: np.random.Generator) -> Mask:
    """Keep some views of each row, neither none nor all; every row must have two or more."""
    subsets = np.zeros_like(mask)
    todo = np.arange(len(mask))
    while todo.size:
        subsets[todo] = mask[todo] & (rng.random((todo.size, mask.shape[1])) < 0.5)
        size = subsets[todo].sum(axis=1)
        todo = todo[(size == 0) | (size == mask[todo].sum(axis=1))]
    return subsets


def _swap_directly(kept: Mask, before: Mask, rng: np.random.Generator) -> None:
    """Give bare rows a random view back, taken from rows that keep another; changes `kept`.

    Stops when no bare row is left, or when no row can give up a view that a bare row had. That takes
    at most one round per view: a round serves all bare rows or uses up the spare rows of one view.
    """
    while True:
        spare = kept & (kept.sum(axis=1) >= 2)[:, np.newaxis]
        open_views = before & spare.any(axis=0)
        bare = rng.permutation(np.flatnonzero(_bare(kept, before) & open_views.any(axis=1)))
        if not bare.size:
            return
        chosen = random_views(open_views[bare], rng)
        for view in rng.permutation(kept.shape[1]):
            givers = np.flatnonzero(kept[:, view] & (kept.sum(axis=1) >= 2))
            takers = bare[chosen == view][: givers.size]
            kept[rng.permutation(givers)[: takers.size], view] = False
            kept[takers, view] = True


def _swap_along_chains(kept: Mask, before: Mask, rng: np.random.Generator, rate: str) -> None:
    """Serve the bare rows that no direct swap can help; changes `kept`.

    With views missing at the start, the rows that can give up a view may not share one with a bare
    row. Then rows in between, which keep one view only, move to another view. These are augmenting
    paths in the matching of rows to places in views: when there is none, no mask of this rate
    leaves every row a view.
    """
    while (bare := _bare(kept, before)).any():
        n_kept = kept.sum(axis=1)
        alone = kept & (n_kept == 1)[:, np.newaxis]
        spare = kept & (n_kept >= 2)[:, np.newaxis]
        moves = np.array([before[rows].any(axis=0) for rows in alone.T])  # from view to view
        chain, reached = _shortest_chain(np.asarray(before[bare].any(axis=0)), moves, spare.any(axis=0))
        if not chain:
            raise _too_high(rate, kept, before, reached)
        groups = [
            bare & before[:, chain[0]],
            *(alone[:, here] & before[:, there] for here, there in pairwise(chain)),
            spare[:, chain[-1]],
        ]
        n_moved = min(int(group.sum()) for group in groups)
        movers = [rng.permutation(np.flatnonzero(group))[:n_moved] for group in groups]
        for view, (rows_in, rows_out) in zip(chain, pairwise(movers), strict=True):
            kept[rows_in, view] = True
            kept[rows_out, view] = False


def _shortest_chain(starts: Mask, moves: Mask, ends: Mask) -> tuple[list[int], Mask]:
    """The views on a shortest path from a start to an end, empty if there is none; views reached."""
    chains = deque([int(view)] for view in np.flatnonzero(starts))
    reached = starts.copy()
    while chains:
        chain = chains.popleft()
        if ends[chain[-1]]:
            return chain, reached
        following = moves[chain[-1]] & ~reached
        reached |= following
        chains.extend([*chain, int(view)] for view in np.flatnonzero(following))
    return [], reached


def _too_high(rate: str, kept: Mask, before: Mask, views: Mask) -> SettingError:
    """An error that names the views with fewer places left than rows that depend on them."""
    n_rows = int((before.any(axis=1) & ~before[:, ~views].any(axis=1)).sum())
    n_places = int(kept[:, views].sum())
    names = ", ".join(str(view) for view in np.flatnonzero(views))
    return SettingError(
        f"rate is {rate}: {n_rows} rows have no view but {names}, and at this rate "
        f"only {n_places} values are left there, too few for one per row. Lower the rate."
    )
