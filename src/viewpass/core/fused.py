"""The chunk step by compiled phases (kernels/chunk): what `assign` and `settle` do, in one call a thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from viewpass.core.centres import Centres, ChunkMean, Filling
from viewpass.core.packed import Packed
from viewpass.core.statistics import Statistics
from viewpass.kernels.chunk import step
from viewpass.kernels.chunk.crew import NOT_AT_ALL, WITH_ROWS
from viewpass.kernels.chunk.desk import (
    AGE,
    APPLIED,
    BEGIN,
    CENTRES_AT,
    DISTANCE,
    END,
    FILL,
    FIRST,
    FRESH,
    LABELS,
    LAST,
    LOSS,
    LOSSES,
    MAX_ITER,
    MEAN,
    MIX,
    MIXED_NEAR,
    MOST_AGE,
    N_CLUSTERS,
    N_COLUMNS,
    N_ITER,
    N_LOOKS,
    N_MIXED,
    N_ROOMS,
    N_SPANS,
    NEW,
    NUMBERS,
    OLD,
    ORDER,
    PART_STEPS,
    ROOMS,
    SEEN,
    SHIFTS,
    STALE,
    STARTS,
    SUMMING,
    SYNC,
    TOTAL_STEPS,
    WANTS,
    WIDTHS,
    WORST,
    YIELD,
)
from viewpass.kernels.chunk.renewing import LAST_CENTRE, MEAN_OF_CHUNK, ZERO
from viewpass.kernels.chunk.step import run
from viewpass.kernels.grid import Floats, Integers, Mask
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
MOST_UPDATES = 31  # whose moves are remembered: then every row's bounds are brought up to date


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
        alone: bool = False,
    ) -> None:
        assert rows.desk is not None
        assert rows.numbers is not None
        self.rows, self.centres, self.widths, self.workspace = rows, centres, widths, workspace
        self.n_clusters = centres.n_clusters
        self.sparse = len(rows.numbers) > 1
        self.desk = desk = rows.desk
        table = desk.table
        n_columns = sum(widths)
        table[N_CLUSTERS], table[N_COLUMNS] = self.n_clusters, n_columns
        starts = np.zeros(len(widths), dtype=np.int64)
        np.cumsum(widths[:-1], out=starts[1:])
        desk.put(WIDTHS, np.array(widths, dtype=np.int64))
        desk.put(STARTS, starts)
        self.last = centres.packed(widths, sparse=self.sparse)
        desk.put_all(LAST, self.last.on_desk)
        many = rows.n_rows * n_columns * self.n_clusters > SMALL
        worth = many or (self.sparse and rows.n_rows > MOST_TILE)
        self.n_threads = workspace.n_threads if worth and not alone else 1
        sizes = (len(widths), self.n_clusters, n_columns)
        self.rooms = workspace.rooms(sizes, rows.n_rows, self.n_threads, _tile_rows(n_columns, rows))
        self.n_spans = 1
        if self.n_threads > 1:
            self.n_spans = min(SPANS * self.n_threads, -(-rows.n_rows // LEAST_SPAN))
        table[BEGIN], table[END], table[N_SPANS] = 0, rows.n_rows, self.n_spans
        table[N_ROOMS], table[CENTRES_AT], table[WORST] = self.n_threads, LAST, 0
        desk.put(ROOMS, np.array([room.address for room in self.rooms], dtype=np.int64))
        table[FIRST:NUMBERS] = step.addresses(sparse=self.sparse)
        table[YIELD] = step.yielding()

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

    def _lay_parts(self) -> None:
        """Room for sums of each thread's own."""
        size = self.n_clusters * sum(self.widths)
        for number, room in enumerate(self.rooms):
            room.put(PART_STEPS, self.workspace.part(number, size))

    def _lay_order(self) -> None:
        """Room for rows in the order of their clusters."""
        n_rows = self.rows.n_rows
        self.desk.put_all(
            ORDER, (np.empty(n_rows, dtype=np.int64), np.empty(self.n_clusters + 1, dtype=np.int64))
        )

    def _go(self, looking: bool, joining: int, settling: bool) -> None:
        self.desk.put(SYNC, np.zeros(40, dtype=np.int64))
        table = self.desk.address

        def work(_number: int, _worker: int) -> None:
            run("crew", table, looking, joining, settling)

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
        flat = self.workspace.pool.lend(total.flat.size, np.int64)
        after = Statistics.of(self.n_clusters, self.widths, flat, np.empty_like(total.flat_counts))
        self._lay_sums(total, after)
        if self.sparse:
            self._lay_order()
        else:
            self._lay_parts()
        return fresh, after

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
        bounds = self._lay_bounds(decision)
        self._go(True, WITH_ROWS, True)
        if not self._accepted(fresh):
            return None
        self.workspace.n_looks += self.rows.n_rows
        return self._finish(after, decision, filling, new, numbers, bounds)

    def _lay_loop(
        self, rules: Rules, filling: Filling, n_done: int, last_loss: float
    ) -> tuple[Packed, Floats]:
        """What the inner iterations need; gives the new centres and the numbers with a fraction."""
        desk, n_views = self.desk, len(self.widths)
        new = Packed.room(self.n_clusters, self.widths, sparse=self.sparse, pool=self.workspace.pool)
        new.known[:] = self.last.known
        both = np.empty((4, n_views, self.n_clusters))
        numbers = np.array([rules.alpha, rules.tol, last_loss, 0.0, 0.0])
        n_rows = self.rows.n_rows
        desk.put_all(NEW, new.on_desk)
        desk.put_all(OLD, (np.empty(n_rows, dtype=np.int32), np.empty(n_rows, dtype=np.int64)))
        desk.put_all(SHIFTS, (both[0], both[1], both[2], new.known, both[3]))
        most = min(rules.max_iter, MOST_UPDATES)
        sums = self.workspace.pool.lend(2 * (most + 1) * both[0].size, np.float64).reshape(2, -1)
        sums[:, : both[0].size] = 0.0
        desk.table[AGE], desk.table[MOST_AGE] = 0, most
        desk.put_all(APPLIED, (np.zeros(n_rows, dtype=np.int32), sums[0], sums[1]))
        desk.put_all(SEEN, (np.empty(n_views, dtype=bool), np.empty(self.n_clusters, dtype=bool)))
        desk.put(NUMBERS, numbers)
        fill = LAST_CENTRE
        if filling.fill is None:
            fill = ZERO
        elif filling.first:
            fill = MEAN_OF_CHUNK
        desk.table[MEAN], desk.table[FILL] = 0, fill
        desk.table[N_ITER], desk.table[MAX_ITER] = n_done, rules.max_iter
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
        bounds = self._lay_bounds(decision)
        self._go(False, NOT_AT_ALL, True)
        return self._finish(total, decision, filling, new, numbers, bounds)

    def _lay_bounds(self, decision: Decision) -> tuple[Mask, Integers]:
        stale = np.tile(decision.stale, (self.n_spans, 1))
        complete = np.full(self.n_spans, decision.complete, dtype=np.int64)
        looked = np.zeros((2, self.n_spans), dtype=np.int64)
        self.desk.put_all(STALE, (stale, complete, looked[0], looked[1]))
        return stale, complete

    def _finish(
        self,
        total: Statistics,
        decision: Decision,
        filling: Filling,
        new: Packed,
        numbers: Floats,
        bounds: tuple[Mask, Integers],
    ) -> Settled:
        """Go on where the chunk's mean was wanted; then tell how the chunk was left."""
        table = self.desk.table
        while table[WANTS]:
            self._lay_mean(filling)
            self._go(False, NOT_AT_ALL, True)
        stale, complete = bounds
        self.workspace.n_looks += numbers[N_LOOKS]
        decision.complete = bool(complete.all())
        decision.stale = np.logical_or.reduce(stale)
        centres = self.centres if table[CENTRES_AT] == LAST else Centres.of_packed(new)
        return Settled(total, centres, float(numbers[LOSS]), int(table[N_ITER]))

    def settle_several(
        self, size: int, total: Statistics, decision: Decision, rules: Rules, *, again: bool
    ) -> Several:
        """Small chunks of `size` measured rows, one after another; `again`: they are in `total`.

        INOUT decision: a chunk that is not done may have lost its labels.
        """
        desk, table, pool = self.desk, self.desk.table, self.workspace.pool
        new, numbers = self._lay_loop(
            rules, Filling(rules.fill, False, ChunkMean(self.rows, zeros_too=False)), 0, np.nan
        )
        last = Packed.room(self.n_clusters, self.widths, sparse=self.sparse, pool=pool)
        for mine, theirs in zip(last.on_desk, self.last.on_desk, strict=True):
            mine[:] = theirs
        desk.put_all(LAST, last.on_desk)
        sums = [total.copy(), total.copy()]
        self._lay_sums(*sums)
        self._lay_decision(decision)
        if self.sparse:
            self._lay_order()
        else:
            self._lay_parts()
        table[FRESH], table[SUMMING] = False, not self.sparse
        n_chunks = -(-self.rows.n_rows // size)
        losses = np.empty((2, n_chunks))
        words = np.zeros((3, 1), dtype=np.int64)
        desk.put_all(STALE, (np.empty((1, self.n_clusters), dtype=bool), words[0], words[1], words[2]))
        desk.put(LOSSES, losses)
        desk.put(SYNC, np.zeros(40, dtype=np.int64))
        n_done = run("several", desk.address, size, again)
        swapped = n_done % 2
        made = last if not swapped else new
        made.known[:] = new.known
        self.workspace.n_looks += numbers[N_LOOKS]
        n_iter = int(losses[1, :n_done].sum())
        return Several(n_done, sums[swapped], Centres.of_packed(made), losses[0, :n_done], n_iter)

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
