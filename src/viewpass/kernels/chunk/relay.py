"""Chunks that come together, taken through their phases one after another without coming back to Python."""

from __future__ import annotations

import numpy as np

from viewpass.kernels.chunk.crew import WITH_ROWS, WITHOUT_ROWS, close, look_first, meet, welcome
from viewpass.kernels.chunk.desk import (
    AGE,
    APPLIED,
    BEGIN,
    CENTRES_AT,
    COMPLETE,
    DISTANCE,
    END,
    GATHERED,
    JOINED,
    KEPT,
    LAST,
    LOSS,
    LOSSES,
    MARGINS,
    N_CLUSTERS,
    N_DONE,
    N_ITER,
    N_LOOKS,
    N_ROOMS,
    N_ROWS,
    N_SPANS,
    NEW,
    NEXT,
    NUMBERS,
    REST,
    ROOMS,
    SPARE,
    SPARE_STEPS,
    STALE,
    STEPS,
    STOP,
    SYNC,
    TOTAL_STEPS,
    WANTS,
    WIDEST,
    WORST,
)
from viewpass.kernels.chunk.memory import call, flags_at, floats_at, shared_add, shared_set, whole_at, wipe
from viewpass.kernels.compiling import called, part
from viewpass.kernels.grid import PRESENT


@part
def _turn(desk, here, there, spare, n_slots, first):
    """What was written becomes what is read; what is written next is `spare` at first, then in turn."""
    for slot in range(n_slots):
        read, written = desk[here + slot], desk[there + slot]
        desk[here + slot] = written
        desk[there + slot] = desk[spare + slot] if first else read


@called
def _next_chunk(desk, number, size, again):
    """Lay out the chunk of this number."""
    n_rows, n_clusters = desk[N_ROWS], desk[N_CLUSTERS]
    begin, end = number * size, min((number + 1) * size, n_rows)
    desk[BEGIN], desk[END], desk[N_ITER], desk[CENTRES_AT], desk[WORST] = begin, end, 0, LAST, 0
    desk[AGE], desk[WANTS] = 0, 0
    wipe(desk[APPLIED] + 4 * begin, 4 * (end - begin))
    desk[DISTANCE] = desk[KEPT] - 8 * begin * n_clusters if desk[KEPT] != 0 else 0
    stale, complete = flags_at(desk[STALE]), whole_at(desk[COMPLETE])
    for span in range(desk[N_SPANS]):
        complete[span] = 0 if again else desk[KEPT] != 0
        for k in range(n_clusters):
            stale[span * n_clusters + k] = again != 0
    margins, numbers = floats_at(desk[MARGINS]), floats_at(desk[NUMBERS])
    if again:
        for i in range(begin, end):
            margins[i] = -np.inf
    numbers[LOSS], numbers[WIDEST] = np.nan, 0.0
    numbers[N_LOOKS] += 0 if again else end - begin
    shared_set(desk[SYNC] + NEXT, 0)


@called
def _chunk_done(desk, number, n_chunks):
    """Note what a chunk left and go on from there; or STOP before it, if something is out of the ordinary."""
    losses, numbers = floats_at(desk[LOSSES]), floats_at(desk[NUMBERS])
    if desk[WORST] > PRESENT or desk[WANTS] or desk[N_ITER] == 0:
        desk[STOP] = 1
        return
    losses[number], losses[n_chunks + number] = numbers[LOSS], desk[N_ITER]
    _turn(
        desk, np.int64(TOTAL_STEPS), np.int64(STEPS), np.int64(SPARE_STEPS), STEPS - TOTAL_STEPS, number == 0
    )
    _turn(desk, np.int64(LAST), np.int64(NEW), np.int64(SPARE), NEW - LAST, number == 0)
    desk[N_DONE] = number + 1


def several(table, _room, size, again, _c, _d, _e, _f, _g):
    """One thread's part of chunks of `size` rows, one after another.

    `again`: their rows are in the sums, with the labels they have. INOUT LABELS, the TOTAL sums and the
    LAST centres (which change places with others); OUT MARGINS, LOSSES (of each chunk, then its
    updates), N_DONE: a chunk without rows, at fault, or whose mean is wanted is left.
    """
    desk = whole_at(table)
    me = shared_add(desk[SYNC] + JOINED, 1)
    if me >= desk[N_ROOMS]:
        return 0
    room_table = whole_at(desk[ROOMS])[me]
    if me == 0:
        welcome(desk)
    n_team = close(desk, me)
    n_chunks = (desk[N_ROWS] + size - 1) // size
    joining = WITHOUT_ROWS if again else WITH_ROWS
    for number in range(n_chunks):
        if me == 0:
            _next_chunk(desk, number, size, again)
        whole_at(whole_at(room_table)[GATHERED])[0] = -1
        meet(desk, n_team)
        if not again:
            look_first(table, room_table)
        call(desk[REST], table, room_table, me, n_team, not again, joining, 1, 0, 0)
        meet(desk, n_team)
        if me == 0:
            _chunk_done(desk, number, n_chunks)
        meet(desk, n_team)
        if desk[STOP]:
            return 0
    return 0
