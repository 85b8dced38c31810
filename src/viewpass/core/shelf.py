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
    END,
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
        starts = np.zeros(n_views, dtype=np.int64)
        np.cumsum(widths[:-1], out=starts[1:])
        self.numbers: Floats = np.zeros(WIDEST + 1)
        self.sync: Integers = np.zeros(SYNC_WORDS, dtype=np.int64)
        self.stale: Mask = np.zeros((n_spans, n_clusters), dtype=bool)
        self.by_span: Integers = np.zeros((3, n_spans), dtype=np.int64)
        self.applied = np.zeros(n_rows, dtype=np.int32)
        moves = np.zeros((4, n_views, n_clusters))
        sums = np.zeros((2, MOST_UPDATES + 1, n_views, n_clusters))
        lying = {
            WIDTHS: np.array(widths, dtype=np.int64),
            STARTS: starts,
            ROOMS: np.array([room.address for room in rooms], dtype=np.int64),
            NUMBERS: self.numbers,
            SYNC: self.sync,
            STALE: self.stale,
            **dict(zip((COMPLETE, LOOKED, SPAN_MOVED), self.by_span, strict=True)),
            APPLIED: self.applied,
            **dict(zip((SHIFTS, RISES, FALLS, TRACES_NOW), moves, strict=True)),
            RISEN: sums[0],
            FALLEN: sums[1],
            OLD: np.empty(n_rows, dtype=np.int32),
            MOVED: np.empty(n_rows, dtype=np.int64),
            SEEN: np.empty(n_views, dtype=bool),
            CHANGED: np.empty(n_clusters, dtype=bool),
            FLAT: np.empty(0 if sparse else n_clusters * sum(widths), dtype=np.float32),
        }
        if sparse:
            lying[ORDER] = np.empty(n_rows, dtype=np.int64)
            lying[BOUNDS] = np.empty(n_clusters + 1, dtype=np.int64)
        for slot, array in lying.items():
            desk.put(slot, array)
        values = {
            N_CLUSTERS: n_clusters,
            N_COLUMNS: sum(widths),
            BEGIN: 0,
            END: n_rows,
            N_SPANS: n_spans,
            N_ROOMS: len(rooms),
            CENTRES_AT: LAST,
            WORST: 0,
            YIELD: step.yielding(),
            **dict(enumerate(step.addresses(sparse=sparse), FIRST)),
        }
        for slot, value in values.items():
            table[slot] = value
        self._slots = np.array([*lying, *values])
        self._n_sums = n_clusters * sum(widths)
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
