"""Rules that remove views as papers did: exact shares, windows of one order, partial rows.

Each takes the views present at the start, a rate and a random generator, and gives the mask of the views
kept. `protocols.py` gives the rules their names.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from viewpass.errors import SettingError

Mask: TypeAlias = npt.NDArray[np.bool_]


def exact_per_view(before: Mask, rates: Sequence[float], rng: np.random.Generator) -> Mask:
    """Remove floor(rate x rows observed in it) random rows from each view: OPIMC, the surveys.

    A row that would lose its last view gets a random one back, and another row with more than one view
    loses that view instead, so that each view's rate stays exact.
    """
    kept = before.copy()
    for view, rate in enumerate(rates):
        rows = np.flatnonzero(before[:, view])
        kept[rng.permutation(rows)[: _floor(rate * rows.size)], view] = False
    _swap_directly(kept, before, rng)
    _swap_along_chains(kept, before, rng, ", ".join(f"{rate:g}" for rate in dict.fromkeys(rates)))
    return kept


def windows(before: Mask, rate: float, rng: np.random.Generator) -> Mask:
    """Remove consecutive blocks of one shuffled order of the rows: OMVC.

    Rows 1, 2, ... are shuffled once and the order is repeated cyclically; each view in turn loses
    the next ceil(rate x n_rows) rows of it, so that rows lose nearly equal numbers of views. Row 0
    loses none, because methods that fill with running means need it.

    A row that would lose its last view keeps a random one. On complete data this affects fewer than
    2 x n_views rows, and only at a rate close to 1 - 1 / n_views; with views missing already it can
    make a view lose less than its block.
    """
    n_rows, n_views = before.shape
    if round(rate * n_views, 9) > n_views - 1:
        raise SettingError(
            f"rate is {rate:g}: with {n_views} views, more than {1 - 1 / n_views:g} leaves rows "
            "without any view. Lower the rate."
        )
    order = 1 + rng.permutation(n_rows - 1)
    block = min(_ceil(rate * n_rows), n_rows - 1)
    kept = before.copy()
    for view in range(n_views):
        places = np.arange(view * block, (view + 1) * block)
        kept[order[places % max(n_rows - 1, 1)], view] = False
    bare = _bare(kept, before)
    kept[bare, random_views(before[bare], rng)] = True
    return kept


def partial_rows(before: Mask, rate: float, rng: np.random.Generator) -> Mask:
    """Make a share of the rows partial: the anchor family (IMVC-CBG and others).

    Of the rows with two views or more, floor(rate x their number) random ones become partial: each keeps
    a random subset of its views, neither none nor all, every subset equally likely. So a view loses about
    rate / 2 of its rows. With the same seed, the mask of a higher rate only removes more.
    """
    kept = before.copy()
    rows = rng.permutation(np.flatnonzero(before.sum(axis=1) >= 2))
    # Subsets are drawn for all rows, needed or not, so that a higher rate extends a lower one.
    subsets = _random_proper_subsets(before[rows], rng)
    n_partial = _floor(rate * rows.size)
    kept[rows[:n_partial]] = subsets[:n_partial]
    return kept


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
