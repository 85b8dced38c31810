"""Eq. 15-16: every row to the nearest centre over the views it has.

Blocks of rows go to threads; each block is measured, looked at and summed while it is in cache. A
float32 look decides what it safely can, float64 the rest (kernels/), so that the labels depend on
neither the blocks nor the threads.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

import numpy as np

from viewpass.core.centres import Centres
from viewpass.core.fused import KEPT_BYTES, Step
from viewpass.core.shelf import Shelf
from viewpass.core.statistics import Statistics
from viewpass.kernels import choose
from viewpass.kernels.chunk.desk import Desk, new_room
from viewpass.kernels.grid import Array, Floats, Integers, Labels, Mask
from viewpass.kernels.links import MOST_NEAR
from viewpass.kernels.pool import Pool
from viewpass.kernels.scratch import Scratch
from viewpass.kernels.threads import run_blocks, single_threaded_blas
from viewpass.views.rows import MeasuredRows

FEW_ROWS, FEW_SUMS = 4096, 2**16  # room for less is the same: chunks of several sizes have it in turn
SMALLEST_PART = 128  # rows looked at again that are worth a thread of their own
MOST_OF = 0.6  # of a chunk's rows in doubt: look at all of them, which needs no gathering


def keeps(n_rows: int, n_clusters: int) -> bool:
    """Whether there is room for the distances of so many rows."""
    return n_rows * n_clusters * 8 <= KEPT_BYTES


class Decision:
    """Labels of a chunk's rows, and by how much each was nearest (a lower bound).

    Where they fit, the distances of the last look are kept too (`distance`), so that a later look
    need only be at the clusters that moved: `stale` are those some rows have not been compared with
    since. `mixed`: a first look by the compiled phases also tells the rows' nearest centres (`mixture`).
    """

    def __init__(
        self,
        n_rows: int,
        n_clusters: int,
        *,
        keep: bool = False,
        mixed: bool = False,
        pool: Pool | None = None,
    ) -> None:
        self.labels: Labels = np.full(n_rows, -1, dtype=np.int32)
        self.margins: Floats = np.full(n_rows, np.inf)
        self.slack: Floats = np.zeros(n_rows)
        self.distance: Floats | None = None
        if keep and keeps(n_rows, n_clusters):
            flat = (pool or Pool()).lend(n_rows * n_clusters, np.float64)
            self.distance = flat.reshape(n_rows, n_clusters)
        self.stale: Mask = np.ones(n_clusters, dtype=bool)
        self.complete = False  # whether `distance` holds every row, or a bound of it
        self.mixture: tuple[Array, Integers] | None = None  # which, and with what weight (links.Mixture)
        if mixed and n_clusters > 1:
            shape = (n_rows, min(MOST_NEAR, n_clusters - 1))
            self.mixture = np.empty(shape, dtype=np.int32), np.empty(shape, dtype=np.int64)


@dataclass
class Workspace:
    """Threads and the room each of them works in; kept between chunks."""

    n_threads: int
    scratches: list[Scratch] = field(init=False)
    _rooms: list[Desk] = field(init=False, default_factory=list)
    _shape: tuple[int, ...] = field(init=False, default=())
    _capacity: int = field(init=False, default=0)
    _shelf: tuple[tuple[object, ...], Shelf] | None = field(init=False, default=None)
    pool: Pool = field(init=False, default_factory=Pool)
    n_looks: float = field(init=False, default=0.0)  # rows looked at, in parts where not at all centres

    def __post_init__(self) -> None:
        self.scratches = [Scratch() for _ in range(self.n_threads)]

    def __getstate__(self) -> dict[str, int]:
        return {"n_threads": self.n_threads}

    def __setstate__(self, state: dict[str, int]) -> None:
        self.__init__(state["n_threads"])  # type: ignore[misc]

    def empty_sums(self, worker: int, like: Statistics, views: list[int]) -> Statistics:
        """Statistics of nothing for one thread to add to, in some views; the same room each time."""
        widths = [width if v in views else 0 for v, width in enumerate(like.widths)]
        flat = self.scratches[worker].room("steps", (like.n_clusters * sum(widths),), np.int64)
        flat[:] = 0
        counts = np.zeros((len(widths), like.n_clusters), dtype=np.int64)
        return Statistics.of(like.n_clusters, widths, flat, counts)

    def rooms(self, sizes: tuple[int, int, int], n_rows: int, n_threads: int, tile_rows: int) -> list[Desk]:
        """Room for the compiled phases, kept for chunks of the same shape."""
        key = (*sizes, tile_rows)
        if self._shape != key or self._capacity < n_rows or len(self._rooms) < n_threads:
            self._shape, self._capacity = key, max(n_rows, FEW_ROWS)
            self._rooms = [new_room(*sizes, self._capacity, tile_rows) for _ in range(n_threads)]
        return self._rooms[:n_threads]

    def shelf(
        self,
        n_rows: int,
        widths: tuple[int, ...],
        n_clusters: int,
        n_spans: int,
        n_threads: int,
        *,
        sparse: bool,
        tile_rows: int,
    ) -> Shelf:
        """What chunks of one shape need besides their rows; it serves one at a time."""
        rooms = self.rooms((len(widths), n_clusters, sum(widths)), n_rows, n_threads, tile_rows)
        most_rows = max(n_rows, FEW_ROWS)
        key = (most_rows, widths, n_clusters, n_spans, sparse, *map(id, rooms))
        if self._shelf is None or self._shelf[0] != key:
            self._shelf = key, Shelf(most_rows, widths, n_clusters, n_spans, rooms, sparse=sparse)
        return self._shelf[1]

    def release(self, *, small_too: bool = True) -> None:
        """Give the room back as well; it is made anew when needed."""
        if (
            not small_too
            and self._shape
            and self._capacity == FEW_ROWS
            and prod(self._shape[1:3]) <= FEW_SUMS
        ):
            return
        self.__post_init__()
        self._rooms, self._shape, self._shelf = [], (), None
        self.pool.clear()

    def __deepcopy__(self, memo: object) -> Workspace:
        return Workspace(self.n_threads)


def assign(
    rows: MeasuredRows,
    centres: Centres,
    workspace: Workspace,
    *,
    keep: bool = False,
) -> Decision:
    """Decide all rows, and keep the distances if asked; rows not measured yet are measured on the way."""
    return assign_and_add(rows, centres, None, workspace, keep=keep)[0]


def assign_and_add(
    rows: MeasuredRows,
    centres: Centres,
    total: Statistics | None,
    workspace: Workspace,
    *,
    keep: bool = False,
    mixed: bool = False,
) -> tuple[Decision, Statistics | None]:
    """Decide all rows; give the statistics with them as well, which leaves `total` as it was."""
    if rows.desk is None:
        collect = None if total is None else total.copy(workspace.n_threads)
        return _assign(rows, centres, workspace, collect=collect, keep=keep), collect
    widths = centres.widths(rows.chunk.schema.widths) if total is None else total.widths
    decision = Decision(rows.n_rows, centres.n_clusters, keep=keep, mixed=mixed, pool=workspace.pool)
    step = Step(rows, centres, widths, workspace)
    sound, after = step.look_first(decision, total)
    if not sound:  # rows had to be mended: look at all of them again
        rows.measure(workspace.n_threads)
        return assign_and_add(rows, centres, total, workspace, keep=keep, mixed=mixed)
    decision.stale[:] = False
    decision.complete = decision.distance is not None
    workspace.n_looks += rows.n_rows
    return decision, after


def _assign(
    rows: MeasuredRows,
    centres: Centres,
    workspace: Workspace,
    *,
    collect: Statistics | None = None,
    keep: bool = False,
) -> Decision:
    """Decide all rows, view by view and block by block; add them to `collect` on the way.

    Faults found are raised before anything is added to `collect`.
    """
    decision = Decision(rows.n_rows, centres.n_clusters, keep=keep)
    fresh = not rows.measured
    everyone = np.arange(rows.n_rows)
    fused = [v for v, view in enumerate(rows.views) if view is not None and view.kind != "sparse"]
    parts: list[Statistics | None] = [None] * workspace.n_threads

    def work(block: int, worker: int) -> None:
        scratch = workspace.scratches[worker]
        start, stop = rows.span(block)
        _look_first(rows, block, centres, decision, scratch, fresh=fresh)
        if collect is not None and fused:
            part = parts[worker]
            if part is None:
                part = parts[worker] = workspace.empty_sums(worker, collect, fused)
            part.move(rows, everyone[start:stop], decision.labels, 1, fused)

    with single_threaded_blas():
        run_blocks(work, rows.n_blocks, workspace.n_threads)
    if fresh and rows.finish():  # rows had to be mended: look at all of them again
        rows.measure(workspace.n_threads)
        return _assign(rows, centres, workspace, collect=collect, keep=keep)
    decision.stale[:] = False
    decision.complete = decision.distance is not None
    workspace.n_looks += rows.n_rows
    if collect is not None:
        for part in parts:
            if part is not None:
                collect.absorb(part, fused)
        _add_sparse(rows, decision, collect, workspace)
    return decision


def _look_first(
    rows: MeasuredRows,
    block: int,
    centres: Centres,
    decision: Decision,
    scratch: Scratch,
    *,
    fresh: bool,
) -> None:
    """Measure the rows of a block if nobody has, look at them and choose."""
    start, stop = rows.span(block)
    which = np.arange(start, stop)
    if decision.distance is not None:
        distance, at = decision.distance[start:stop], which
    else:
        distance = scratch.room("distance", (stop - start, centres.n_clusters), np.float64)
        at = np.arange(stop - start)
    distance[:] = 0.0
    slack = decision.slack[start:stop]
    for v, view in enumerate(rows.views):
        if view is None:
            continue
        if centres.views[v] is None:
            if fresh:
                rows.measure_view(v, start, stop)
        elif fresh:
            rows.read_view(v, start, stop, centres.layout(v, view.kind), distance, slack, scratch)
        else:
            layout = centres.layout(v, view.kind)
            view.look(which, rows.inverse[v], layout, distance, slack, scratch)
    if fresh:
        rows.count_views(start, stop)
    whole = distance if decision.distance is None else decision.distance
    _choose(rows, which, at, whole, centres, decision, scratch)


def _choose(
    rows: MeasuredRows,
    which: Integers,
    at: Integers,
    distance: Floats,
    centres: Centres,
    decision: Decision,
    scratch: Scratch,
) -> None:
    """Label rows by their distances (row at[r] of `distance` is that of row which[r])."""
    room = len(which) * centres.n_clusters
    pair_rows = scratch.room("pair_rows", (room,), np.int64)
    pair_clusters = scratch.room("pair_clusters", (room,), np.int64)
    n_pairs = choose.kernel("choose")(
        *(distance, at, which, decision.slack, rows.n_seen),
        *(decision.labels, decision.margins, pair_rows, pair_clusters),
    )
    if n_pairs:
        pair_rows, pair_clusters = pair_rows[:n_pairs], pair_clusters[:n_pairs]
        exact = pair_distances(rows, pair_rows, pair_clusters, centres)
        choose.kernel("resolve")(pair_rows, pair_clusters, exact, decision.labels, decision.margins)


def look_again(
    rows: MeasuredRows,
    which: Integers,
    centres: Centres,
    moved: Mask,
    decision: Decision,
    workspace: Workspace,
) -> None:
    """Decide the rows of `which` anew after the clusters `moved` moved; the others keep their label."""
    compared = decision.stale | moved
    everyone = len(which) > MOST_OF * rows.n_rows
    decision.stale = np.zeros_like(moved) if everyone else compared
    decision.complete |= everyone and decision.distance is not None
    if not len(which) or not compared.any():
        return
    if everyone:
        which = np.arange(rows.n_rows)
    clusters = None if decision.distance is None or compared.all() else np.flatnonzero(compared)
    n_compared = centres.n_clusters if clusters is None else len(clusters)
    places = np.arange(n_compared) if clusters is None else clusters
    layouts = [
        None if view is None or centres.views[v] is None else centres.layout(v, view.kind, clusters)
        for v, view in enumerate(rows.views)
    ]
    size = rows.block if everyone else max(SMALLEST_PART, -(-len(which) // workspace.n_threads))

    def work(block: int, worker: int) -> None:
        scratch = workspace.scratches[worker]
        part = which[block * size : (block + 1) * size]
        distance = scratch.room("distance", (len(part), n_compared), np.float64)
        slack = scratch.room("slack", (len(part),), np.float64)
        distance[:] = 0.0
        slack[:] = 0.0
        for v, view in enumerate(rows.views):
            if view is None or layouts[v] is None:
                continue
            view.look(part, rows.inverse[v], layouts[v], distance, slack, scratch)
        decision.slack[part] = np.maximum(decision.slack[part], slack)
        if decision.distance is None:
            _choose(rows, part, np.arange(len(part)), distance, centres, decision, scratch)
        else:
            choose.kernel("place")(distance, part, places, decision.distance)
            _choose(rows, part, part, decision.distance, centres, decision, scratch)

    with single_threaded_blas():
        run_blocks(work, -(-len(which) // size), workspace.n_threads)
    workspace.n_looks += len(which) * n_compared / centres.n_clusters


def pair_distances(rows: MeasuredRows, which: Integers, clusters: Integers, centres: Centres) -> Floats:
    """Distances of (row, cluster) pairs in float64, without |x|^2."""
    exact = np.zeros(len(which))
    for v, view in enumerate(rows.views):
        if view is not None and centres.views[v] is not None:
            view.settle(which, clusters, rows.inverse[v], centres.layout(v, view.kind), exact)
    return exact


def distances(rows: MeasuredRows, centres: Centres, workspace: Workspace) -> Floats:
    """Eq. 15 for every row and cluster in float64; NaN for a row without any view."""
    rows.measure(workspace.n_threads)
    out = np.zeros((rows.n_rows, centres.n_clusters))

    def work(block: int, worker: int) -> None:
        start, stop = rows.span(block)
        chosen = np.arange(start, stop)
        for v, view in enumerate(rows.views):
            if view is not None and centres.views[v] is not None:
                layout = centres.layout(v, view.kind)
                scratch = workspace.scratches[worker]
                view.distances(chosen, rows.inverse[v], layout, out[start:stop], scratch)
                out[start:stop] += rows.present(v)[start:stop, None] * rows.squares[v]  # |x|^2

    run_blocks(work, rows.n_blocks, workspace.n_threads)
    np.maximum(out, 0.0, out=out)
    out[rows.n_seen == 0] = np.nan
    return out


def _add_sparse(rows: MeasuredRows, decision: Decision, collect: Statistics, workspace: Workspace) -> None:
    """Sparse sums are far larger than a block of rows: one thread a view adds them in place."""
    sparse = [v for v, view in enumerate(rows.views) if view is not None and view.kind == "sparse"]
    everyone = np.arange(rows.n_rows)

    def work(number: int, _: int) -> None:
        collect.move(rows, everyone, decision.labels, 1, [sparse[number]])

    run_blocks(work, len(sparse), workspace.n_threads)
