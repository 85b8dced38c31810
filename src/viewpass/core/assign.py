"""Eq. 15-16: every row to the nearest centre over the views it has.

Blocks of rows go to threads; each block is measured, looked at and summed while it is in cache. A
float32 look decides what it safely can, float64 the rest (kernels/), so that the labels depend on
neither the blocks nor the threads.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from viewpass.core.centres import Centres
from viewpass.core.statistics import Statistics
from viewpass.kernels import choose
from viewpass.kernels.grid import Floats, Integers, Labels
from viewpass.kernels.scratch import Scratch
from viewpass.kernels.threads import run_blocks, single_threaded_blas
from viewpass.views.rows import MeasuredRows


@dataclass
class Decision:
    """Labels of a chunk's rows, and by how much each was nearest (a lower bound)."""

    labels: Labels
    margins: Floats

    @classmethod
    def empty(cls, n_rows: int) -> Decision:
        """Nothing decided."""
        return cls(np.full(n_rows, -1, dtype=np.int32), np.full(n_rows, np.inf))


@dataclass
class Workspace:
    """Threads and the room each of them works in; kept between chunks."""

    n_threads: int
    scratches: list[Scratch] = field(init=False)

    def __post_init__(self) -> None:
        self.scratches = [Scratch() for _ in range(self.n_threads)]

    def __getstate__(self) -> dict[str, int]:
        return {"n_threads": self.n_threads}

    def __setstate__(self, state: dict[str, int]) -> None:
        self.n_threads = state["n_threads"]
        self.__post_init__()

    def __deepcopy__(self, memo: object) -> Workspace:
        return Workspace(self.n_threads)


def assign(
    rows: MeasuredRows,
    centres: Centres,
    workspace: Workspace,
    *,
    which: Integers | None = None,
    into: Decision | None = None,
    collect: Statistics | None = None,
) -> Decision:
    """Decide all rows, or those of `which`, into `into`; add them to `collect` on the way.

    Rows not measured yet are measured on the way too, and faults found are raised before anything
    is added to `collect`.
    """
    decision = Decision.empty(rows.n_rows) if into is None else into
    fresh = not rows.measured
    size = rows.block
    targets = np.arange(rows.n_rows) if which is None else which
    n_blocks = -(-len(targets) // size)
    parts: list[Statistics | None] = [None] * workspace.n_threads

    def work(block: int, worker: int) -> None:
        if fresh:
            rows.measure_block(block)
        chosen = targets[block * size : (block + 1) * size]
        decide(rows, chosen, centres, workspace.scratches[worker], decision)
        if collect is not None:
            part = parts[worker]
            if part is None:
                part = parts[worker] = Statistics(collect.n_clusters, collect.widths)
            part.move(rows, chosen, decision.labels, 1)

    with single_threaded_blas():
        run_blocks(work, n_blocks, workspace.n_threads)
    if fresh and rows.finish():
        rows.measure(workspace.n_threads)
        return assign(rows, centres, workspace, which=which, into=into, collect=collect)
    if collect is not None:
        for part in parts:
            if part is not None:
                _add_in_place(collect, part)
    return decision


def decide(
    rows: MeasuredRows, chosen: Integers, centres: Centres, scratch: Scratch, decision: Decision
) -> None:
    """Label the chosen rows (one block): look, choose, and settle what is too close to call."""
    n_clusters = len(centres.known[0])
    distance = scratch.room("distance", (len(chosen), n_clusters), np.float64)
    slack = scratch.room("slack", (len(chosen),), np.float64)
    distance[:] = 0.0
    slack[:] = 0.0
    for v, view in enumerate(rows.views):
        if view is not None and centres.values[v] is not None:
            view.look(
                *(chosen, rows.inverse[v], centres.layout(v, view.kind)),
                *(distance, slack, scratch),
            )
    labels = scratch.room("labels", (len(chosen),), np.int32)
    margins = scratch.room("margins", (len(chosen),), np.float64)
    pair_rows = scratch.room("pair_rows", (distance.size,), np.int64)
    pair_clusters = scratch.room("pair_clusters", (distance.size,), np.int64)
    n_pairs = choose.kernel("choose")(
        distance, slack, rows.n_seen[chosen], labels, margins, pair_rows, pair_clusters
    )
    if n_pairs:
        pair_rows, pair_clusters = pair_rows[:n_pairs], pair_clusters[:n_pairs]
        exact = pair_distances(rows, chosen[pair_rows], pair_clusters, centres)
        choose.kernel("resolve")(n_pairs, pair_rows, pair_clusters, exact, labels, margins)
    decision.labels[chosen] = labels
    decision.margins[chosen] = margins


def pair_distances(rows: MeasuredRows, which: Integers, clusters: Integers, centres: Centres) -> Floats:
    """Distances of (row, cluster) pairs in float64, without |x|^2."""
    exact = np.zeros(len(which))
    for v, view in enumerate(rows.views):
        if view is not None and centres.values[v] is not None:
            layout = centres.layout(v, view.kind)
            view.settle(which, clusters, rows.inverse[v], layout, exact)
    return exact


def distances(rows: MeasuredRows, centres: Centres, workspace: Workspace) -> Floats:
    """Eq. 15 for every row and cluster in float64; NaN for a row without any view."""
    rows.measure(workspace.n_threads)
    out = np.zeros((rows.n_rows, len(centres.known[0])))

    def work(block: int, worker: int) -> None:
        start, stop = rows.span(block)
        chosen = np.arange(start, stop)
        for v, view in enumerate(rows.views):
            if view is not None and centres.values[v] is not None:
                layout = centres.layout(v, view.kind)
                scratch = workspace.scratches[worker]
                view.distances(chosen, rows.inverse[v], layout, out[start:stop], scratch)
                out[start:stop] += rows.present(v)[start:stop, None]  # |x|^2 = 1

    run_blocks(work, rows.n_blocks, workspace.n_threads)
    np.maximum(out, 0.0, out=out)
    out[rows.n_seen == 0] = np.nan
    return out


def _add_in_place(total: Statistics, part: Statistics) -> None:
    for mine, more in zip(total.steps + total.counts, part.steps + part.counts, strict=True):
        mine += more
