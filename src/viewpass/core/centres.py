"""The centres U (Eq. 11-13), and Algorithm 1's fill of those that have no row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from viewpass.core.statistics import Statistics
from viewpass.kernels.grid import STEP, Floats, Mask
from viewpass.kernels.means import divide, squared_norms
from viewpass.kernels.threads import single_threaded_blas
from viewpass.kernels.view import centres_of
from viewpass.views.rows import MeasuredRows


@dataclass(frozen=True)
class Centres:
    """Centres of every view; never changed once made. A view without any centre yet is None."""

    values: tuple[Floats | None, ...]
    known: tuple[Mask, ...]
    squares: tuple[Floats | None, ...] = field(init=False)
    _layouts: dict[tuple[int, str], Any] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        squares = tuple(None if u is None else squared_norms(u) for u in self.values)
        object.__setattr__(self, "squares", squares)

    @classmethod
    def none(cls, n_clusters: int, n_views: int) -> Centres:
        """No centre in any view."""
        return cls((None,) * n_views, tuple(np.zeros(n_clusters, dtype=bool) for _ in range(n_views)))

    def layout(self, v: int, kind: str) -> Any:
        """View v's centres as the kernels of `kind` want them; made once."""
        values, squares = self.values[v], self.squares[v]
        if values is None or squares is None:
            return None
        if (v, kind) not in self._layouts:
            self._layouts[v, kind] = centres_of(kind, values, squares)
        return self._layouts[v, kind]


class ChunkMean:
    """The mean of a chunk's observed rows in a view, worked out when first needed.

    `zeros_too` lets rows that lack the view count as zeros, as the released code does in the first chunk.
    """

    def __init__(self, rows: MeasuredRows, *, zeros_too: bool) -> None:
        self._rows = rows
        self._zeros_too = zeros_too
        self._means: dict[int, Floats] = {}

    def __call__(self, v: int) -> Floats:
        """The mean of view `v`."""
        if v not in self._means:
            rows = self._rows
            view = rows.views[v]
            assert view is not None
            total = Statistics(1, [view.shape[1]])
            everyone = np.zeros(rows.n_rows, dtype=np.int32)
            view.add(
                *(np.arange(rows.n_rows), rows.inverse[v], everyone, 1),
                *(total.steps[0], total.counts[0]),
            )
            number = int((rows.n_seen > 0).sum()) if self._zeros_too else int(total.counts[0][0])
            self._means[v] = total.steps[0][0] * STEP / number
        return self._means[v]


def update(
    total: Statistics,
    rows: MeasuredRows,
    last: Centres,
    *,
    alpha: float,
    fill: str | None,
    first: bool,
    mean: Callable[[int], Floats],
) -> Centres:
    """Eq. 13 from the statistics of everything including this chunk, then fill.

    `first`: the first chunk of the first pass, where an empty cluster takes the chunk's mean rather
    than its last centre. A view that no row of the chunk has is left as it was.
    """
    values: list[Floats | None] = []
    known: list[Mask] = []
    for v, before in enumerate(last.values):
        if not rows.inverse[v].any():
            values.append(before)
            known.append(last.known[v])
            continue
        new = np.zeros(total.steps[v].shape)
        divide(total.steps[v], total.counts[v], alpha, new)
        values.append(new)
        known.append(_filled(new, total.counts[v] == 0, before, last.known[v], fill, first, v, mean))
    return Centres(tuple(values), tuple(known))


def _filled(
    new: Floats,
    empty: Mask,
    before: Floats | None,
    known: Mask,
    fill: str | None,
    first: bool,
    v: int,
    mean: Callable[[int], Floats],
) -> Mask:
    """Put something into empty centres, in place; say which clusters have a centre now."""
    if fill is None or not empty.any():
        return known | ~empty
    kept = empty & known if before is not None and not first else np.zeros_like(empty)
    if before is not None:
        new[kept] = before[kept]
    if (empty & ~kept).any():
        new[empty & ~kept] = mean(v)
    return np.ones_like(known)


def from_memberships(
    rows: MeasuredRows,
    memberships: Floats,
    *,
    alpha: float,
    fill: str | None,
    mean: Callable[[int], Floats],
) -> Centres:
    """Eq. 11 for a soft V: solve with the full K x K matrix V'WV + alpha I."""
    n_clusters = memberships.shape[1]
    values: list[Floats | None] = []
    known: list[Mask] = []
    with single_threaded_blas():
        for v, view in enumerate(rows.views):
            present = rows.present(v)
            if view is None or not present.any():
                values.append(None)
                known.append(np.zeros(n_clusters, dtype=bool))
                continue
            taken = memberships[present]
            weights = taken.T @ taken
            sums = view.soft_sums(rows.inverse[v], memberships)
            if alpha > 0:
                solved = np.linalg.solve(weights + alpha * np.eye(n_clusters), sums)
            else:
                solved = np.linalg.lstsq(weights, sums, rcond=None)[0]
            new: Floats = np.array(solved, dtype=np.float64, order="C")
            empty = taken.sum(axis=0) == 0
            new[empty] = 0.0
            none = np.zeros(n_clusters, dtype=bool)
            known.append(_filled(new, empty, None, none, fill, True, v, mean))
            values.append(new)
    return Centres(tuple(values), tuple(known))
