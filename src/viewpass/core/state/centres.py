"""The centres U of every view (Eq. 13)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from viewpass.core.state.statistics import Statistics, squares_of
from viewpass.kernels.backend import backend
from viewpass.kernels.grid import Floats, Integers, Mask
from viewpass.views.rows import MeasuredRows


class Centres:
    """Centres of every view; never changed once made. A view without any centre yet is None."""

    def __init__(self, values: Sequence[Floats | None], known: Sequence[Mask]) -> None:
        self.values = tuple(values)
        self.known = tuple(known)
        self._handles: dict[bool, Any] = {}  # by whether it is the reference's

    @classmethod
    def made(cls, handle: Any, n_views: int, *, reference: bool = False) -> Centres:
        """Centres that a kernel made."""
        known = [np.asarray(handle.known(v), dtype=bool) for v in range(n_views)]
        centres = cls([handle.values(v) for v in range(n_views)], known)
        centres._handles[reference and True] = handle
        return centres

    @classmethod
    def none(cls, n_clusters: int, n_views: int) -> Centres:
        """No centre in any view."""
        return cls([None] * n_views, [np.zeros(n_clusters, dtype=bool) for _ in range(n_views)])

    @classmethod
    def of(cls, values: Sequence[Floats | None]) -> Centres:
        """Given centres, all of them known."""
        n_clusters = next(len(u) for u in values if u is not None)
        return cls(values, [np.full(n_clusters, u is not None) for u in values])

    @property
    def n_clusters(self) -> int:
        """Centres per view."""
        return len(self.known[0])

    def handle(self, *, reference: bool = False) -> Any:
        """The centres as the kernels take them."""
        if reference not in self._handles:
            given = [None if u is None else np.ascontiguousarray(u) for u in self.values]
            self._handles[reference] = backend(reference).Centres(given, np.array(self.known))
        return self._handles[reference]

    def suited(self, rows: MeasuredRows) -> Any:
        """The same, laid out for rows of these kinds."""
        suited = self.handle(reference=rows.reference).suited(rows.handle)
        self._handles[rows.reference] = suited
        return suited

    def squares(self, v: int) -> Floats:
        """|u_k|^2 of a view's centres."""
        squares: Floats = self.handle().squares(v)
        return squares

    def widths(self, widths: Sequence[int | None]) -> tuple[int, ...]:
        """Columns of each view: those of its centres, or of rows where there are none."""
        return tuple(
            (width or 0) if u is None else u.shape[1] for u, width in zip(self.values, widths, strict=True)
        )

    def take(self, clusters: Integers) -> Centres:
        """Some of the clusters, in this order."""
        return Centres(
            [None if u is None else u[clusters] for u in self.values],
            [known[clusters] for known in self.known],
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_handles": {}}


def update(
    total: Statistics,
    seen: Mask,
    last: Centres,
    changed: Mask,
    alpha: float,
    *,
    fill: bool,
    means: Sequence[Floats | None],
) -> Centres:
    """Eq. 13 from whole statistics. A view that is not `seen` is left as it was.

    `changed`: clusters whose sums or counts may differ from those `last` was made from. One without rows
    keeps its last centre, or takes the mean of the view; without `fill` it is zero.
    """
    given = total.steps, total.flat_counts, seen, changed, alpha, fill, means
    return Centres.made(backend().update_centres(last.handle(), *given), len(seen))


def loss(centres: Centres, total: Statistics, alpha: float, moved: Mask | None = None) -> float:
    """L = sum_v [-2 tr(U'R) + tr(U'U T) + alpha |U|^2] (Eq. 17-20): the objective without S, so negative.

    `moved`: clusters whose sums changed since `update` made the centres from them (None: all).
    """
    value: float = backend().loss(centres.handle(), total.steps, total.flat_counts, alpha, moved)
    return value


def objective(
    centres: Centres, total: Statistics, alpha: float, weights: Sequence[float] | None = None
) -> float:
    """J = sum_v S_v + L (Eq. 17 with its sign put right), for centres and labels of any kind."""
    return sum(squares_of(total, weights)) + loss(centres, total, alpha)
