"""The chunk step by compiled phases (kernels/chunk): what `assign` and `settle` do, in few calls.

A large chunk goes through phases that threads share: rows by ranges, clusters by turns. A small one is
settled in one call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from viewpass.core.centres import Centres, Filling
from viewpass.core.packed import Packed
from viewpass.core.statistics import Statistics
from viewpass.kernels.chunk import step
from viewpass.kernels.chunk.desk import (
    AGAIN,
    CENTRES_AT,
    COMPLETE,
    DISTANCE,
    LABELS,
    LAST,
    LOSS,
    MEAN,
    MOVED,
    N_CLUSTERS,
    N_COLUMNS,
    N_COMPARED,
    N_ITER,
    N_LOOKED,
    N_LOOKS,
    NEW,
    NUMBERS,
    OLD,
    PART_COUNTS,
    PART_STEPS,
    SEEN,
    SHIFTS,
    STALE,
    STARTS,
    TOTAL_STEPS,
    WANTS,
    WIDTHS,
)
from viewpass.kernels.chunk.step import run
from viewpass.kernels.chunk.updating import LAST_CENTRE, MEAN_OF_CHUNK, ZERO
from viewpass.kernels.grid import Array, Floats
from viewpass.kernels.threads import run_blocks
from viewpass.views.rows import MeasuredRows

if TYPE_CHECKING:
    from viewpass.core.assign import Decision, Workspace
    from viewpass.core.step import Rules

SMALL = 2**22  # multiplications of a look that one thread does sooner than two
SMALL_STATE = 2**15  # values of all centres that one thread renews sooner than two
TILE_BYTES = 2**18  # of a tile of rows that is looked at and summed while it is in cache
LEAST_TILE, MOST_TILE = 48, 192


class Step:
    """One chunk on the desk."""

    def __init__(
        self, rows: MeasuredRows, centres: Centres, widths: tuple[int, ...], workspace: Workspace
    ) -> None:
        assert rows.desk is not None
        assert rows.numbers is not None
        self.rows, self.centres, self.widths, self.workspace = rows, centres, widths, workspace
        self.n_clusters = centres.n_clusters
        self.sparse = len(rows.numbers) > 1
        self.desk = desk = rows.desk
        n_columns = sum(widths)
        desk.table[N_CLUSTERS], desk.table[N_COLUMNS] = self.n_clusters, n_columns
        starts = np.zeros(len(widths), dtype=np.int64)
        np.cumsum(widths[:-1], out=starts[1:])
        desk.put(WIDTHS, np.array(widths, dtype=np.int64))
        desk.put(STARTS, starts)
        self.last = centres.packed(widths, sparse=self.sparse)
        desk.put_all(LAST, self.last.on_desk)
        many = rows.n_rows * n_columns * self.n_clusters > SMALL
        self.n_threads = workspace.n_threads if many or (self.sparse and rows.n_rows > MOST_TILE) else 1
        sizes = (len(widths), self.n_clusters, n_columns)
        self.rooms = workspace.rooms(sizes, rows.n_rows, self.n_threads, _tile_rows(n_columns, rows))
        self.spans = [
            (rows.n_rows * part // self.n_threads, rows.n_rows * (part + 1) // self.n_threads)
            for part in range(self.n_threads)
        ]

    def _together(self, name: str, *arguments: int, n_threads: int | None = None) -> None:
        """Let threads share a phase that works by lots."""
        n_lots = self.n_threads if n_threads is None else n_threads
        table = self.desk.address

        def work(lot: int, _: int) -> None:
            run(name, table, self.rooms[lot].address, lot, n_lots, *arguments)

        run_blocks(work, n_lots, n_lots)

    def look_first(self, decision: Decision, *, summing: bool) -> bool:
        """Look at all rows, measure them if nobody has; False if they had to be mended first."""
        fresh = not self.rows.measured
        desk = self.desk
        desk.put_all(LABELS, (decision.labels, decision.margins, decision.slack))
        desk.table[DISTANCE] = 0
        if decision.distance is not None:
            desk.put(DISTANCE, decision.distance)
        worst = [0] * self.n_threads

        def work(part: int, _: int) -> None:
            room = self.rooms[part]
            if summing:
                counts = np.zeros((len(self.widths), self.n_clusters), dtype=np.int64)
                room.put(PART_COUNTS, counts)
                room.put(PART_STEPS, self.workspace.part(part, self.n_clusters * sum(self.widths)))
            begin, end = self.spans[part]
            worst[part] = run("first", desk.address, room.address, LAST, begin, end, fresh, summing)

        run_blocks(work, self.n_threads, self.n_threads)
        return self.rows.accept(max(worst)) if fresh else True

    def collect(self, total: Statistics, *, summed: bool) -> Statistics:
        """The sums with this chunk; `total` stays as it was."""
        flat = self.workspace.pool.lend(total.flat.size, np.int64)
        after = Statistics.of(self.n_clusters, self.widths, flat, np.empty_like(total.flat_counts))
        self._lay_sums(total, after)
        parts = np.array([room.address for room in self.rooms], dtype=np.int64)
        threads = self._threads_for_state()
        where = parts.__array_interface__["data"][0]
        self._together("join", where, len(parts) if summed else 0, n_threads=threads)
        if not summed:
            order = np.empty(self.rows.n_rows, dtype=np.int64)
            bounds = np.empty(self.n_clusters + 1, dtype=np.int64)
            places = [array.__array_interface__["data"][0] for array in (order, bounds)]
            run("sort", self.desk.address, 0, *places)
            self._together("fold_in", *places)
        return after

    def _lay_sums(self, total: Statistics, after: Statistics) -> None:
        self.desk.put_all(TOTAL_STEPS, (total.flat, total.flat_counts, after.flat, after.flat_counts))

    def _threads_for_state(self) -> int:
        return self.n_threads if self.n_clusters * sum(self.widths) > SMALL_STATE else 1

    def settle(
        self,
        total: Statistics,
        decision: Decision,
        rules: Rules,
        filling: Filling,
        n_done: int,
        last_loss: float | None,
    ) -> tuple[Centres, float, int]:
        """Eq. 13 and Eq. 15-16 in turn until they stand still.  INOUT total, decision.

        Gives the centres, the loss and the number of updates.
        """
        desk = self.desk
        n_views, n_rows = len(self.widths), self.rows.n_rows
        new = Packed.room(self.n_clusters, self.widths, sparse=self.sparse, pool=self.workspace.pool)
        new.known[:] = self.last.known
        both = np.empty((4, n_views, self.n_clusters))
        numbers = np.array([rules.alpha, rules.tol, np.nan if last_loss is None else last_loss, 0.0])
        desk.put_all(NEW, new.on_desk)
        desk.put_all(LABELS, (decision.labels, decision.margins, decision.slack))
        desk.table[DISTANCE] = 0
        if decision.distance is not None:
            desk.put(DISTANCE, decision.distance)
        desk.put_all(OLD, (np.empty(n_rows, dtype=np.int32), np.empty(n_rows, dtype=np.int64)))
        self._lay_sums(total, total)
        desk.put_all(SHIFTS, (both[0], both[1], both[2], new.known, both[3]))
        desk.put_all(SEEN, (self.rows.inverse.any(axis=1), np.ones(self.n_clusters, dtype=bool)))
        desk.put(NUMBERS, numbers)
        desk.table[MEAN] = 0
        desk.table[AGAIN:NUMBERS] = [step.address_of(name) for name in step.IN_ORDER]
        for room in self.rooms:
            room.put(STALE, decision.stale.copy())
            room.table[COMPLETE] = decision.complete
        loop = _Loop(self, filling, rules, numbers, n_done)
        n_iter, where = loop.alone() if self.n_threads == 1 else loop.together()
        self.workspace.n_looks += numbers[N_LOOKS]
        decision.complete = all(room.table[COMPLETE] for room in self.rooms)
        decision.stale = np.any([room.held(STALE) for room in self.rooms], axis=0)
        centres = self.centres if where == LAST else Centres.of_packed(new)
        return centres, float(numbers[LOSS]), n_iter


class _Loop:
    """The inner iterations, by one thread in one call or by several, phase by phase."""

    def __init__(self, on: Step, filling: Filling, rules: Rules, numbers: Floats, n_done: int) -> None:
        self.on, self.filling, self.rules, self.numbers, self.n_iter = on, filling, rules, numbers, n_done
        self.table = on.desk.address
        self.has_mean = False
        self.fill = LAST_CENTRE
        if filling.fill is None:
            self.fill = ZERO
        elif filling.first:
            self.fill = MEAN_OF_CHUNK

    def _lay_mean(self) -> None:
        """Work out the chunk's mean, since an empty cluster wants it."""
        on = self.on
        mean = np.zeros(sum(on.widths))
        first = 0
        for v, width in enumerate(on.widths):
            if on.rows.inverse[v].any():
                mean[first : first + width] = self.filling.mean(v)
            first += width
        on.desk.put(MEAN, mean)
        self.has_mean = True

    def alone(self) -> tuple[int, int]:
        room, last = self.on.rooms[0], LAST
        while True:
            run(
                *("settle", self.table, room.address),
                *(last, self.rules.max_iter, self.fill, self.has_mean, self.n_iter),
            )
            self.n_iter, last = int(room.table[N_ITER]), int(room.table[CENTRES_AT])
            if not room.table[WANTS]:
                return self.n_iter, last
            self._lay_mean()

    def together(self) -> tuple[int, int]:
        on, last = self.on, LAST
        threads = on._threads_for_state()
        while self.n_iter < self.rules.max_iter:
            if not self.has_mean and run("wants_mean", self.table, 0, last, self.fill):
                self._lay_mean()
            self.n_iter += 1
            before = self.numbers[LOSS]
            on._together("renew", last, self.fill, n_threads=threads)
            run("renewed", self.table, 0, last, self.fill)
            last = NEW
            n_moved = self._again()
            run("mark", self.table, 0, n_moved)
            if n_moved:
                on._together("follow", n_moved, n_threads=threads)
            run("weigh", self.table, 0)
            if n_moved == 0 or abs(self.numbers[LOSS] - before) < self.rules.tol * abs(before):
                break
        return self.n_iter, last

    def _again(self) -> int:
        on = self.on
        n_moved = [0] * on.n_threads

        def work(part: int, _: int) -> None:
            room = on.rooms[part]
            begin, end = on.spans[part]
            n_moved[part] = run(
                *("again", self.table, room.address),
                *(NEW, begin, end, int(room.table[COMPLETE])),
            )

        run_blocks(work, on.n_threads, on.n_threads)
        moved: Array = on.desk.held(MOVED)
        there = n_moved[0]
        for (begin, _), number in zip(on.spans[1:], n_moved[1:], strict=True):
            moved[there : there + number] = moved[begin : begin + number]
            there += number
        for room in on.rooms:
            looked = int(room.table[N_LOOKED]) * int(room.table[N_COMPARED])
            self.numbers[N_LOOKS] += looked / on.n_clusters
        return there


def _tile_rows(n_columns: int, rows: MeasuredRows) -> int:
    size = 4 if rows.numbers and rows.numbers[0] == "float32" else 8
    fitting = TILE_BYTES // max(size * n_columns, 1)
    return min(max(LEAST_TILE, fitting), MOST_TILE)
