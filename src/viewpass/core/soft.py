"""The first centres of the published start: Eq. 11 and 12 for a soft V, each view by itself."""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np

from viewpass.core.centres import Centres, Filling, ViewCentres
from viewpass.kernels.grid import Floats, Integers
from viewpass.kernels.threads import run_blocks, single_threaded_blas
from viewpass.kernels.view import View
from viewpass.views.rows import MeasuredRows

SOFT_BLOCKS, SOFT_ROWS = 8, 64  # parts a chunk is cut into for its product with a soft V, of so many rows
WORTH_SOLVING = 200  # clusters from which on views are solved for side by side


def from_memberships(
    rows: MeasuredRows, memberships: Floats, alpha: float, filling: Filling, n_threads: int = 1
) -> Centres:
    """Eq. 11 for a soft V: solve with the full K x K matrix V'WV + alpha I."""
    n_clusters = memberships.shape[1]
    views: list[ViewCentres | None] = [None] * rows.n_views
    known = [np.zeros(n_clusters, dtype=bool) for _ in range(rows.n_views)]
    by_view = all(view is None or view.kind == "sparse" for view in rows.views)
    found: list[Any] = [None] * rows.n_views

    def multiply(v: int, _: int) -> None:
        view, present = rows.views[v], np.flatnonzero(rows.inverse[v] > 0)
        if view is not None and len(present):
            threads = 1 if by_view else n_threads
            found[v] = soft_sums(view, present, rows.inverse[v], memberships, threads)

    def solve(v: int, _: int) -> None:
        if found[v] is None:
            return
        sums, weights, counts = found[v]
        found[v] = None
        if alpha > 0:
            solved = np.linalg.solve(weights + alpha * np.eye(n_clusters), sums)
        else:
            solved = np.linalg.lstsq(weights, sums, rcond=None)[0]
        values: Floats = np.array(solved, dtype=np.float64, order="C")
        empty = counts == 0
        for k in np.flatnonzero(empty):
            values[k] = filling(v, int(k), None, False)
        views[v] = ViewCentres.of(values)
        known[v] = ~empty | (filling.fill is not None)

    def both(v: int, worker: int) -> None:
        multiply(v, worker)
        solve(v, worker)

    with single_threaded_blas():
        if by_view:
            run_blocks(both, rows.n_views, n_threads)
        else:
            run_blocks(multiply, rows.n_views, 1)
            worth = n_clusters > WORTH_SOLVING
            run_blocks(solve, rows.n_views, n_threads if worth else 1)
    return Centres(views, known)


def soft_sums(
    view: View, present: Integers, inverse: Floats, memberships: Floats, n_threads: int = 1
) -> tuple[Floats, Floats, Floats]:
    """Eq. 12 for a soft V: X'V as a K x d matrix, V'V and V'1; sums of parts, whatever the threads."""
    n_blocks = max(1, min(SOFT_BLOCKS, len(present) // SOFT_ROWS))
    cuts = [len(present) * block // n_blocks for block in range(n_blocks + 1)]

    def multiply(block: int) -> tuple[Floats, Floats, Floats]:
        part = present[cuts[block] : cuts[block + 1]]
        mine = memberships[part]
        return view.weighed_sums(part, inverse, mine), mine.T @ mine, mine.sum(axis=0)

    total: list[Floats] = []
    waiting: dict[int, tuple[Floats, ...]] = {}
    taking, n_added = Lock(), 0

    def work(block: int, _: int) -> None:
        nonlocal n_added
        part = multiply(block)
        with taking:
            waiting[block] = part
            while n_added in waiting:  # in order, and as soon as may be: parts can be wide
                _add(total, waiting.pop(n_added))
                n_added += 1

    run_blocks(work, n_blocks, n_threads)
    sums, weights, counts = total
    return np.ascontiguousarray(sums.T), weights, counts


def _add(total: list[Floats], part: tuple[Floats, ...]) -> None:
    """Add a part to the sums; the first becomes them.  INOUT total."""
    if not total:
        total.extend(part)
        return
    for whole, more in zip(total, part, strict=True):
        whole += more
