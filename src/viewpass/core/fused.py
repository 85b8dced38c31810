"""The chunk step by compiled phases (kernels/chunk): what `assign` and `settle` do, in one call a thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from viewpass.core.centres import Centres, ChunkMean, Filling
from viewpass.core.packed import Packed
from viewpass.core.shelf import MOST_UPDATES
from viewpass.core.statistics import Statistics
from viewpass.kernels.chunk import step
from viewpass.kernels.chunk.crew import NOT_AT_ALL, WITH_ROWS
from viewpass.kernels.chunk.desk import (
    AGE,
    CENTRES_AT,
    DISTANCE,
    END,
    FILL,
    FRESH,
    JOIN,
    KEPT,
    KNOWN,
    LABELS,
    LAST,
    LOSS,
    LOSSES,
    MAX_ITER,
    MEAN,
    MIX,
    MIXED_NEAR,
    MOST_AGE,
    N_DONE,
    N_ITER,
    N_LOOKS,
    N_MIXED,
    NEW,
    SPARE,
    SPARE_STEPS,
    STOP,
    SUMMING,
    TOTAL_STEPS,
    WANTS,
    WORST,
)
from viewpass.kernels.chunk.renewing import LAST_CENTRE, MEAN_OF_CHUNK, ZERO
from viewpass.kernels.chunk.step import run
from viewpass.kernels.grid import Floats
from viewpass.kernels.threads import run_blocks
from viewpass.views.rows import MeasuredRows

if TYPE_CHECKING:
    from viewpass.core.assign import Decision, Workspace
    from viewpass.core.step import Rules

SMALL = 2**21  # multiplications of a look that one thread does sooner than two
TILE_BYTES = 2**18  # of a tile of rows that is looked at and summed while it is in cache
LEAST_TILE, MOST_TILE = 48, 192
SPARSE_TILE = 256  # rows looked at in one view after another: its centres stay in cache meanwhile
SPANS = 4  # parts of a chunk for each thread: whoever is quicker takes more
LEAST_SPAN = 96  # rows
KEPT_BYTES = 2**26  # a chunk's distances are kept between looks where they fit


class Settled(NamedTuple):
    """How a chunk is left: statistics with it, centres, loss, updates (none if no row has a view)."""

    total: Statistics
    centres: Centres
    loss: float
    n_iter: int


class Several(NamedTuple):
    """What chunks worked on one after another leave: those done, statistics, centres, losses, updates."""

    n_done: int
    total: Statistics
    centres: Centres
    losses: Floats
    n_iter: int


class Step:
    """One chunk on the desk."""

    def __init__(
        self,
        rows: MeasuredRows,
        centres: Centres,
        widths: tuple[int, ...],
        workspace: Workspace,
        *,
        chunk_rows: int | None = None,
    ) -> None:
        assert rows.desk is not None
        assert rows.numbers is not None
        self.rows, self.centres, self.widths, self.workspace = rows, centres, widths, workspace
        self.n_clusters = centres.n_clusters
        self.sparse = len(rows.numbers) > 1
        self.desk = desk = rows.desk
        n_columns = sum(widths)
        n_rows = rows.n_rows if chunk_rows is None else chunk_rows
        many = n_rows * n_columns * self.n_clusters > SMALL
        worth = many or (self.sparse and n_rows > MOST_TILE)
        self.n_threads = workspace.n_threads if worth else 1
        self.n_spans = 1
        if self.n_threads > 1:
            self.n_spans = min(SPANS * self.n_threads, -(-n_rows // LEAST_SPAN))
        self.shelf = workspace.shelf(
            *(rows.n_rows, tuple(widths), self.n_clusters, self.n_spans, self.n_threads),
            sparse=self.sparse,
            tile_rows=_tile_rows(n_columns, rows),
        )
        self.shelf.lay(desk)
        desk.table[END] = rows.n_rows
        self.last = centres.packed(widths, sparse=self.sparse)
        desk.put_all(LAST, self.last.on_desk)

    def _lay_decision(self, decision: Decision) -> None:
        self.desk.put_all(LABELS, (decision.labels, decision.margins, decision.slack))
        self.desk.table[DISTANCE] = 0
        if decision.distance is not None:
            self.desk.put(DISTANCE, decision.distance)
        self.desk.table[MIX] = 0
        if decision.mixture is not None:
            self.desk.put_all(MIXED_NEAR, decision.mixture)
            self.desk.table[MIX], self.desk.table[N_MIXED] = step.address("mix"), decision.mixture[0].shape[1]

    def _lay_sums(self, total: Statistics, after: Statistics) -> None:
        sums = (total.flat, total.flat_counts, after.flat, after.flat_counts)
        self.desk.put_all(TOTAL_STEPS, sums)

    def _go(self, looking: bool, joining: int, settling: bool) -> None:
        self._run("crew", looking, joining, settling)

    def _run(self, phase: str, *arguments: int) -> None:
        self.shelf.sync[:] = 0
        table = self.desk.address

        def work(_number: int, _worker: int) -> None:
            run(phase, table, *arguments)

        run_blocks(work, self.n_threads, self.n_threads)

    def look_first(self, decision: Decision, total: Statistics | None) -> tuple[bool, Statistics | None]:
        """Look at all rows, measure them if nobody has, and give the sums with them.

        False if rows had to be mended first; `total` stays as it was.
        """
        fresh, after = self._lay_look(decision, total)
        self._go(True, NOT_AT_ALL if total is None else WITH_ROWS, False)
        return self._accepted(fresh), after

    def _lay_look(self, decision: Decision, total: Statistics | None) -> tuple[bool, Statistics | None]:
        fresh = not self.rows.measured
        self.desk.table[FRESH] = fresh
        self.desk.table[SUMMING] = total is not None and not self.sparse
        self._lay_decision(decision)
        if total is None:
            return fresh, None
        after = self._new_sums(total)
        self._lay_sums(total, after)
        if not self.sparse:
            self.shelf.part(self.workspace.scratches)
        return fresh, after

    def _new_sums(self, like: Statistics) -> Statistics:
        flat = self.workspace.pool.lend(like.flat.size, np.int64)
        return Statistics.of(self.n_clusters, self.widths, flat, np.empty_like(like.flat_counts))

    def _accepted(self, fresh: bool) -> bool:
        return self.rows.accept(int(self.desk.table[WORST])) if fresh else True

    def read(self, total: Statistics, decision: Decision, rules: Rules, filling: Filling) -> Settled | None:
        """Look at new rows and settle them, in one go; None if rows had to be mended first.

        OUT decision; `total` stays as it was.
        """
        new, numbers = self._lay_loop(rules, filling, 0, np.nan)
        fresh, after = self._lay_look(decision, total)
        assert after is not None
        decision.stale[:] = False
        decision.complete = decision.distance is not None
        self._lay_bounds(decision)
        self._go(True, WITH_ROWS, True)
        if not self._accepted(fresh):
            return None
        self.workspace.n_looks += self.rows.n_rows
        return self._finish(after, decision, filling, new, numbers)

    def _lay_loop(
        self, rules: Rules, filling: Filling, n_done: int, last_loss: float
    ) -> tuple[Packed, Floats]:
        """What the inner iterations need; gives the new centres and the numbers with a fraction."""
        desk, table, numbers = self.desk, self.desk.table, self.shelf.numbers
        new = Packed.room(self.n_clusters, self.widths, sparse=self.sparse, pool=self.workspace.pool)
        new.known[:] = self.last.known
        numbers[:] = rules.alpha, rules.tol, last_loss, 0.0, 0.0
        self.shelf.applied[: self.rows.n_rows] = 0
        desk.put_all(NEW, new.on_desk)
        desk.put(KNOWN, new.known)
        table[AGE], table[MOST_AGE] = 0, min(rules.max_iter, MOST_UPDATES)
        fill = LAST_CENTRE
        if filling.fill is None:
            fill = ZERO
        elif filling.first:
            fill = MEAN_OF_CHUNK
        table[MEAN], table[FILL] = 0, fill
        table[N_ITER], table[MAX_ITER] = n_done, rules.max_iter
        return new, numbers

    def settle(
        self,
        total: Statistics,
        decision: Decision,
        rules: Rules,
        filling: Filling,
        n_done: int,
        last_loss: float | None,
    ) -> Settled:
        """Eq. 13 and Eq. 15-16 in turn until they stand still.  INOUT total, decision."""
        new, numbers = self._lay_loop(rules, filling, n_done, np.nan if last_loss is None else last_loss)
        self._lay_decision(decision)
        self._lay_sums(total, total)
        self._lay_bounds(decision)
        self._go(False, NOT_AT_ALL, True)
        return self._finish(total, decision, filling, new, numbers)

    def _lay_bounds(self, decision: Decision) -> None:
        self.shelf.stale[:] = decision.stale
        self.shelf.by_span[:] = 0
        self.shelf.by_span[0] = decision.complete

    def _finish(
        self,
        total: Statistics,
        decision: Decision,
        filling: Filling,
        new: Packed,
        numbers: Floats,
    ) -> Settled:
        """Go on where the chunk's mean was wanted; then tell how the chunk was left."""
        table = self.desk.table
        while table[WANTS]:
            self._lay_mean(filling)
            self._go(False, NOT_AT_ALL, True)
        self.workspace.n_looks += float(numbers[N_LOOKS])
        decision.complete = bool(self.shelf.by_span[0].all())
        decision.stale = np.logical_or.reduce(self.shelf.stale)
        centres = self.centres if table[CENTRES_AT] == LAST else Centres.of_packed(new)
        return Settled(total, centres, float(numbers[LOSS]), int(table[N_ITER]))

    def settle_several(
        self, size: int, total: Statistics, decision: Decision, rules: Rules, *, again: bool
    ) -> Several:
        """Chunks of `size` rows, one after another; `again`: they are in `total`.

        INOUT decision: a chunk that is not done may have lost its labels.
        """
        desk, table, pool = self.desk, self.desk.table, self.workspace.pool
        new, numbers = self._lay_loop(
            rules, Filling(rules.fill, False, ChunkMean(self.rows, zeros_too=False)), 0, np.nan
        )
        spare = Packed.room(self.n_clusters, self.widths, sparse=self.sparse, pool=pool)
        desk.put_all(SPARE, spare.on_desk)
        fresh, after = self._lay_look(decision, total)
        assert after is not None
        other = self._new_sums(total)
        desk.put_all(SPARE_STEPS, (other.flat, other.flat_counts))
        table[KEPT] = table[N_DONE] = table[STOP] = 0
        if size * self.n_clusters * 8 <= KEPT_BYTES:
            desk.put(KEPT, pool.lend(size * self.n_clusters, np.float64))
        losses = np.empty((2, -(-self.rows.n_rows // size)))
        desk.put(LOSSES, losses)
        if again:
            table[JOIN] = step.address("join")
        self._run("several", size, again)
        n_done = int(table[N_DONE])
        self.rows.measured |= fresh and n_done * size >= self.rows.n_rows
        made, sums = (new, after) if n_done % 2 else (spare, other)
        made.known[:] = new.known
        self.workspace.n_looks += float(numbers[N_LOOKS])
        n_iter = int(losses[1, :n_done].sum())
        return Several(n_done, sums, Centres.of_packed(made), losses[0, :n_done], n_iter)

    def _lay_mean(self, filling: Filling) -> None:
        """Work out the chunk's mean, since an empty cluster wants it."""
        mean = np.zeros(sum(self.widths))
        first = 0
        for v, width in enumerate(self.widths):
            if self.rows.inverse[v].any():
                mean[first : first + width] = filling.mean(v)
            first += width
        self.desk.put(MEAN, mean)


def _tile_rows(n_columns: int, rows: MeasuredRows) -> int:
    if rows.numbers and len(rows.numbers) > 1:
        return SPARSE_TILE
    size = 4 if rows.numbers and rows.numbers[0] == "float32" else 8
    fitting = TILE_BYTES // max(size * n_columns, 1)
    return min(max(LEAST_TILE, fitting), MOST_TILE)
