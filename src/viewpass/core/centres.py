"""The centres U (Eq. 11-13), and Algorithm 1's fill of those that have no row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from viewpass.core.packed import Packed
from viewpass.core.statistics import WORTH_THREADS, Statistics
from viewpass.kernels.grid import STEP, Floats, Integers, Mask
from viewpass.kernels.means import refresh, squared_norms
from viewpass.kernels.reference import centre_terms
from viewpass.kernels.threads import run_blocks
from viewpass.kernels.view import View, centres_of
from viewpass.views.rows import MeasuredRows


@dataclass(frozen=True)
class ViewCentres:
    """Centres of one view (K x d) with |u_k|^2, and u_k.R_k of the sums they were made from."""

    values: Floats
    squares: Floats
    traces: Floats

    @classmethod
    def of(cls, values: Floats) -> ViewCentres:
        """Centres that come from elsewhere than sums."""
        return cls(values, squared_norms(values), np.zeros(len(values)))


class Centres:
    """Centres of every view; never changed once made. A view without any centre yet is None."""

    def __init__(self, views: Sequence[ViewCentres | None], known: Sequence[Mask]) -> None:
        self.views = tuple(views)
        self.known = tuple(known)
        self._layouts: dict[Any, Any] = {}

    @classmethod
    def of_packed(cls, packed: Packed) -> Centres:
        """Centres as the compiled phases left them."""
        views = [
            ViewCentres(packed.view(v), packed.squares[v], packed.traces[v]) if ready else None
            for v, ready in enumerate(packed.ready.tolist())
        ]
        made = cls(views, list(packed.known))
        made._layouts[packed.sparse] = packed
        return made

    def packed(self, widths: Sequence[int], *, sparse: bool) -> Packed:
        """The centres in flat arrays, for views of these widths."""
        packed: Packed | None = self._layouts.get(sparse)
        if packed is None or packed.widths != tuple(widths):
            packed = Packed.room(self.n_clusters, widths, sparse=sparse)
            for v, view in enumerate(self.views):
                packed.known[v] = self.known[v]
                if view is not None:
                    packed.put(v, view.values, view.squares, view.traces)
            self._layouts[sparse] = packed
            # The same numbers once, not twice: wide centres are large.
            self.views = tuple(
                None if view is None else replace(view, values=packed.view(v))
                for v, view in enumerate(self.views)
            )
        return packed

    @classmethod
    def none(cls, n_clusters: int, n_views: int) -> Centres:
        """No centre in any view."""
        return cls([None] * n_views, [np.zeros(n_clusters, dtype=bool) for _ in range(n_views)])

    @classmethod
    def of(cls, values: Sequence[Floats | None]) -> Centres:
        """Given centres, all of them known."""
        n_clusters = next(len(u) for u in values if u is not None)
        return cls(
            [None if u is None else ViewCentres.of(u) for u in values],
            [np.full(n_clusters, u is not None) for u in values],
        )

    @property
    def n_clusters(self) -> int:
        """Centres in each view."""
        return len(self.known[0])

    @property
    def values(self) -> tuple[Floats | None, ...]:
        """The centres alone."""
        return tuple(None if view is None else view.values for view in self.views)

    def widths(self, widths: Sequence[int | None]) -> tuple[int, ...]:
        """Columns of each view: those of its centres, or of rows where there are none."""
        return tuple(
            (width or 0) if view is None else view.values.shape[1]
            for view, width in zip(self.views, widths, strict=True)
        )

    def layout(self, v: int, kind: str, clusters: Integers | None = None) -> Any:
        """View v's centres (or some of them) as the kernels of `kind` want them; made once."""
        view = self.views[v]
        assert view is not None
        key = (v, kind, None if clusters is None else clusters.tobytes())
        if key not in self._layouts:
            if clusters is None:
                self._layouts[key] = centres_of(kind, view.values, view.squares)
            else:
                self._layouts[key] = centres_of(kind, view.values[clusters], view.squares[clusters])
        return self._layouts[key]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_layouts": {}}


class ChunkMean:
    """The mean of a chunk's observed rows in a view, worked out when first needed.

    `zeros_too` lets rows that lack the view count as zeros, as the released code does in the first chunk.
    `total`: statistics with these rows, which save adding them up again where they are of no others.
    """

    def __init__(self, rows: MeasuredRows, *, zeros_too: bool, total: Statistics | None = None) -> None:
        self._rows = rows
        self._zeros_too = zeros_too
        self._total = total
        self._means: dict[int, Floats] = {}

    def __call__(self, v: int) -> Floats:
        """The mean of view `v`."""
        if v not in self._means:
            rows = self._rows
            view = rows.views[v]
            assert view is not None
            n_present = int(np.count_nonzero(rows.inverse[v] > 0))
            number = int((rows.n_seen > 0).sum()) if self._zeros_too else n_present
            self._means[v] = self._steps(v, view, n_present) * STEP / number
        return self._means[v]

    def _steps(self, v: int, view: View, n_present: int) -> Integers:
        """The rows added up."""
        if self._total is not None and self._total.counts[v].sum() == n_present:
            return np.asarray(self._total.steps[v].sum(axis=0))
        steps, counts = np.zeros((1, view.shape[1]), dtype=np.int64), np.zeros(1, dtype=np.int64)
        together = np.zeros(self._rows.n_rows, dtype=np.int32)
        view.add(np.arange(len(together)), self._rows.inverse[v], together, 1, steps, counts)
        return np.asarray(steps[0])


@dataclass(frozen=True)
class Filling:
    """What an empty cluster's centre becomes.

    In the first chunk of the first pass it takes the chunk's mean, later its last centre; one that
    never had a centre takes the mean then too. `fill=None` switches both off: it is zero.
    """

    fill: str | None
    first: bool
    mean: Callable[[int], Floats]

    def __call__(self, v: int, k: int, before: ViewCentres | None, known: bool) -> Floats | float:
        """The centre of cluster `k` in view `v`."""
        if self.fill is None:
            return 0.0
        if before is not None and known and not self.first:
            last: Floats = before.values[k]
            return last
        return self.mean(v)


def update(
    total: Statistics,
    seen: Mask,
    last: Centres,
    changed: Mask,
    alpha: float,
    filling: Filling,
    n_threads: int = 1,
) -> tuple[Centres, Floats]:
    """Eq. 13 from the statistics of everything including this chunk, then fill.

    `changed`: clusters whose sums or counts may differ from those `last` was made from. A view
    that no row of the chunk has (`seen`) is left as it was. Also gives how far each centre moved (views x
    K; inf where a view had no centres).
    """
    views: list[ViewCentres | None] = list(last.views)
    known = list(last.known)
    moves = np.zeros((len(views), last.n_clusters))

    def renew(v: int, _: int) -> None:
        if not seen[v]:
            before = last.views[v]
            if before is not None:  # rows may have moved after these centres were made
                views[v] = replace(before, traces=centre_terms(before.values, total.steps[v]))
            return
        before, counts = last.views[v], total.counts[v]
        affected = changed if before is not None else np.ones_like(changed)
        renewed, moves[v] = _renewed(total.steps[v], counts, before, affected, alpha)
        for k in np.flatnonzero(affected & (counts == 0)):
            value = filling(v, int(k), before, bool(known[v][k]))
            old = renewed.values[k].copy()
            renewed.values[k] = value
            renewed.squares[k] = squared_norms(renewed.values[k : k + 1])[0]
            renewed.traces[k] = 0.0
            moves[v, k] = np.sqrt(np.square(renewed.values[k] - old).sum())
        views[v] = renewed
        known[v] = known[v] | (counts > 0) | (filling.fill is not None)
        if before is None:
            moves[v] = np.inf

    wide = sum(steps.size for steps in total.steps) > WORTH_THREADS
    run_blocks(renew, len(views), n_threads if wide else 1)
    return Centres(views, known), moves


def _renewed(
    steps: Integers,
    counts: Integers,
    before: ViewCentres | None,
    changed: Mask,
    alpha: float,
) -> tuple[ViewCentres, Floats]:
    """Centres of clusters that have rows, made anew where they changed; and how far each moved."""
    if before is None:
        before = ViewCentres(np.zeros(steps.shape), np.zeros(len(steps)), np.zeros(len(steps)))
    everyone = (changed & (counts > 0)).all()
    values = np.empty_like(before.values) if everyone else before.values.copy()
    renewed = ViewCentres(values, before.squares.copy(), before.traces.copy())
    shifts = np.zeros(len(steps))
    refresh(
        *(steps, counts, alpha, changed, before.values),
        *(renewed.values, renewed.squares, renewed.traces, shifts),
    )
    return renewed, np.sqrt(shifts)
