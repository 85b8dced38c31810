"""What the compiled phases need besides rows and results: kept for the next chunk of the same shape."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viewpass.kernels.chunk import step
from viewpass.kernels.chunk.desk import (
    APPLIED,
    BEGIN,
    BOUNDS,
    CENTRES_AT,
    CHANGED,
    COMPLETE,
    FALLEN,
    FALLS,
    FIRST,
    FLAT,
    LAST,
    LOOKED,
    MOVED,
    N_CLUSTERS,
    N_COLUMNS,
    N_ROOMS,
    N_SPANS,
    NUMBERS,
    OLD,
    ORDER,
    PART_STEPS,
    RISEN,
    RISES,
    ROOMS,
    SEEN,
    SHIFTS,
    SLOTS,
    SPAN_MOVED,
    STALE,
    STARTS,
    SYNC,
    TRACES_NOW,
    WIDEST,
    WIDTHS,
    WORST,
    YIELD,
    Desk,
)
from viewpass.kernels.grid import Floats, Integers, Mask
from viewpass.kernels.scratch import Scratch

MOST_UPDATES = 31  # whose moves are remembered: then every row's bounds are brought up to date
SYNC_WORDS = 40


class Shelf:
    """Room for one chunk at a time, all of it on a desk from which it is laid out at once."""

    def __init__(
        self,
        n_rows: int,
        widths: Sequence[int],
        n_clusters: int,
        n_spans: int,
        rooms: Sequence[Desk],
        *,
        sparse: bool,
    ) -> None:
        self.rooms = rooms
        self._desk = desk = Desk(SLOTS)
        n_views, table = len(widths), desk.table
        n_lines, n_sums = n_views * n_clusters, n_clusters * sum(widths)
        wanted = [
            (WIDTHS, n_views, np.int64),
            (STARTS, n_views, np.int64),
            (ROOMS, len(rooms), np.int64),
            (NUMBERS, WIDEST + 1, np.float64),
            (SYNC, SYNC_WORDS, np.int64),
            (STALE, n_spans * n_clusters, np.bool_),
            (COMPLETE, 3 * n_spans, np.int64),
            *((slot, n_lines, np.float64) for slot in (SHIFTS, RISES, FALLS, TRACES_NOW)),
            *((slot, (MOST_UPDATES + 1) * n_lines, np.float64) for slot in (RISEN, FALLEN)),
            (APPLIED, n_rows, np.int32),
            (OLD, n_rows, np.int32),
            (MOVED, n_rows, np.int64),
            (SEEN, n_views, np.bool_),
            (CHANGED, n_clusters, np.bool_),
            (FLAT, 0 if sparse else n_sums, np.float32),
            (ORDER, n_rows if sparse else 0, np.int64),
            (BOUNDS, n_clusters + 1, np.int64),
        ]
        desk.furnish(wanted, zeroed=True)
        desk.held(WIDTHS)[:] = widths
        desk.held(STARTS)[1:] = np.cumsum(widths[:-1])
        desk.held(ROOMS)[:] = [room.address for room in rooms]
        self.numbers: Floats = desk.held(NUMBERS)
        self.sync: Integers = desk.held(SYNC)
        self.stale: Mask = desk.held(STALE).reshape(n_spans, n_clusters)
        self.by_span: Integers = desk.held(COMPLETE).reshape(3, n_spans)
        self.applied = desk.held(APPLIED)
        values = {
            N_CLUSTERS: n_clusters,
            N_COLUMNS: sum(widths),
            BEGIN: 0,
            N_SPANS: n_spans,
            LOOKED: table[COMPLETE] + 8 * n_spans,
            SPAN_MOVED: table[COMPLETE] + 16 * n_spans,
            N_ROOMS: len(rooms),
            CENTRES_AT: LAST,
            WORST: 0,
            YIELD: step.yielding(),
            **dict(enumerate(step.addresses(sparse=sparse), FIRST)),
        }
        for slot, value in values.items():
            table[slot] = value
        self._slots = np.array([*(slot for slot, _, _ in wanted), *values])
        self._n_sums = n_sums
        self._parted = False

    def lay(self, desk: Desk) -> None:
        """Lay everything on a chunk's desk."""
        desk.table[self._slots] = self._desk.table[self._slots]

    def part(self, scratches: Sequence[Scratch]) -> None:
        """Give each thread room for sums of its own."""
        if not self._parted:
            for room, scratch in zip(self.rooms, scratches, strict=False):
                room.put(PART_STEPS, scratch.room("part", (self._n_sums,), np.int64))
            self._parted = True
