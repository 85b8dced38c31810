"""The centres U of every view, and the loss they give.

    U = R (T + alpha I)^-1                                            (Eq. 13)
    L = sum_v [-2 tr(U'R) + tr(U'U T) + alpha |U|^2]                  (Eq. 17-20)
    J = sum_v S_v + L                                                 (Eq. 17)

R, T and S are the statistics (statistics.py). A cluster without rows in a view keeps its last centre there,
or is filled with the mean of the view.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from viewpass.kernels.backend import backend
from viewpass.kernels.grid import STEP, Array, Floats, Integers, Mask
from viewpass.sums.rules import Alpha, each_view
from viewpass.sums.statistics import Statistics, squares_of
from viewpass.views.rows import MeasuredRows


class Centres:
    """Centres of every view; immutable. The values of a view without any centre yet are None."""

    def __init__(self, values: Sequence[Floats | None], known: Sequence[Mask]) -> None:
        self.values = tuple(values)
        self.known = tuple(known)
        self._handle: Any = None
        self._derived: dict[str, Any] = {}

    @classmethod
    def made(cls, handle: Any, n_views: int) -> Centres:
        """Wrap centres that a kernel has made."""
        known = [np.asarray(handle.known(v), dtype=bool) for v in range(n_views)]
        centres = cls([handle.values(v) for v in range(n_views)], known)
        centres._handle = handle
        return centres

    @classmethod
    def none(cls, n_clusters: int, n_views: int) -> Centres:
        """No centre in any view."""
        return cls([None] * n_views, [np.zeros(n_clusters, dtype=bool) for _ in range(n_views)])

    @classmethod
    def of(cls, values: Sequence[Floats | None]) -> Centres:
        """Given centres, known for every cluster."""
        n_clusters = next(len(u) for u in values if u is not None)
        return cls(values, [np.full(n_clusters, u is not None) for u in values])

    @property
    def n_clusters(self) -> int:
        """Number of centres in each view."""
        return len(self.known[0])

    def handle(self) -> Any:
        """The centres in the form the kernels take."""
        if self._handle is None:
            given = [None if u is None else np.ascontiguousarray(u) for u in self.values]
            self._handle = backend().Centres(given, np.array(self.known))
        return self._handle

    def suited(self, rows: MeasuredRows) -> Any:
        """The kernel form, laid out for rows stored like these (dense or sparse, float32 or float64)."""
        self._handle = self.handle().suited(rows.handle)
        return self._handle

    def derived(self, name: str, make: Callable[[], Any]) -> Any:
        """What follows from the centres alone, made once."""
        if name not in self._derived:
            self._derived[name] = make()
        return self._derived[name]

    def squares(self, v: int) -> Floats:
        """|u_k|^2 of the centres of view v."""
        squares: Floats = self.handle().squares(v)
        return squares

    def widths(self, widths: Sequence[int | None]) -> tuple[int, ...]:
        """Columns of each view: those of its centres, else the given width."""
        return tuple(
            (width or 0) if u is None else u.shape[1] for u, width in zip(self.values, widths, strict=True)
        )

    def take(self, clusters: Integers) -> Centres:
        """The centres of some clusters, in this order."""
        return Centres(
            [None if u is None else u[clusters] for u in self.values],
            [known[clusters] for known in self.known],
        )

    def joined(self, more: Sequence[Array]) -> Centres:
        """With further centres behind them, known in every view that has columns."""
        values, n_more = list[Floats | None](), len(more[0])
        for u, m in zip(self.values, more, strict=True):
            wide = m if u is None or m.shape[1] else np.zeros((n_more, u.shape[1]))
            values.append(None if u is None else np.concatenate((u, wide.astype(np.float64))))
        pairs = zip(self.known, more, strict=True)
        return Centres(values, [np.pad(k, (0, n_more), constant_values=m.shape[1] > 0) for k, m in pairs])

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_handle": None, "_derived": {}}


def update(
    total: Statistics,
    seen: Mask,
    last: Centres,
    changed: Mask,
    alpha: Alpha,
    *,
    fill: bool,
    means: Sequence[Floats | None],
) -> Centres:
    """Eq. 13 for the views that are `seen`; the other views keep their centres.

    `changed`: clusters whose sums or counts may differ from those `last` was made from. A cluster without
    rows keeps its last centre; if it never had one it gets the mean of the view, or zero without `fill`.
    """
    alphas = each_view(alpha, len(total.counts))
    given = total.steps, total.flat_counts, seen, changed, alphas, fill, means
    made = backend().update_centres(last.handle(), *given)
    return Centres.made(made, len(seen))


def loss(centres: Centres, total: Statistics, alpha: Alpha, moved: Mask | None = None) -> float:
    """L of Eq. 17-20: the objective without the constant S, hence negative.

    `moved`: clusters whose sums changed since `update` made the centres from them (None: all).
    """
    alphas = each_view(alpha, len(total.counts))
    value: float = backend().loss(centres.handle(), total.steps, total.flat_counts, alphas, moved)
    return value


def objective(
    centres: Centres, total: Statistics, alpha: Alpha, weights: Sequence[float] | None = None
) -> float:
    """J (Eq. 17, with its sign corrected) of any centres and labels."""
    return sum(squares_of(total, weights)) + loss(centres, total, alpha)


def in_columns(centres: Centres, total: Statistics) -> list[Floats | None]:
    """Centres in the views' own columns, given the statistics they were made from.

    Where a view is mapped they are means, without a ridge; a cluster without rows has the mean of all.
    """
    found = list(centres.values)
    for v, counts in enumerate(total.counts):
        own = total.in_columns(v)
        if own is not total:
            mean = own.steps[v].sum(axis=0) * STEP / max(int(counts.sum()), 1)
            means = own.sums(v) / np.where(counts > 0, counts, 1)[:, None]
            found[v] = np.where(counts[:, None] > 0, means, mean)
    return found
