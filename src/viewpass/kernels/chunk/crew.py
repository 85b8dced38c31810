"""Threads that take a chunk through its phases together, without coming back to Python in between.

Each thread of the crew runs the same function. A thread that comes after the first look is over is
not waited for: whoever was there shares the rest. What they find does not depend on how many they are.
"""

from __future__ import annotations

import numpy as np

from viewpass.kernels.chunk.desk import (
    AGAIN,
    ARRIVED,
    BEGIN,
    CENTRES_AT,
    CHANGED,
    END,
    FILL,
    FIRST,
    FOLD_IN,
    FOLLOW,
    GATHERED,
    GO,
    INVERSE,
    ITERATE,
    JOIN,
    JOINED,
    LOSS,
    MARK,
    MAX_ITER,
    MEAN,
    N_CLUSTERS,
    N_ITER,
    N_MOVED,
    N_ROOMS,
    N_ROWS,
    N_SPANS,
    N_VIEWS,
    NEW,
    NEXT,
    NUMBERS,
    PART_COUNTS,
    RENEW,
    RENEWED,
    REST,
    ROOMS,
    ROUND,
    SEEN,
    SORT,
    SPREAD,
    SUMMING,
    SYNC,
    TEAM,
    TOL,
    WANTS,
    WANTS_MEAN,
    WEIGH,
    WHETHER,
    WORST,
    YIELD,
)
from viewpass.kernels.chunk.memory import (
    call,
    call_nothing,
    flags_at,
    floats_at,
    shared,
    shared_add,
    shared_set,
    whole_at,
    wipe,
)
from viewpass.kernels.compiling import called, part
from viewpass.kernels.grid import PRESENT

NOT_AT_ALL, WITHOUT_ROWS, WITH_ROWS = range(3)  # how the sums before this chunk are taken over
CLOSED = 2**32  # added to JOINED when nobody else may join
PATIENCE = 4096  # looks at a shared number before others are let run
WELCOME = 64 * PATIENCE  # looks while the first waits for the rest, where no look at all rows gives them time


@called
def _wait_while(desk, address, value):
    """Until a shared number is another."""
    n_looks = 0
    while shared(address) == value:
        n_looks += 1
        if n_looks % PATIENCE == 0 and desk[YIELD] != 0:
            call_nothing(desk[YIELD])


@called
def welcome(desk):
    """Wait until the whole crew is here, but not for long."""
    n_looks = 0
    while shared(desk[SYNC] + JOINED) < desk[N_ROOMS] and n_looks < WELCOME:
        n_looks += 1
        if n_looks % PATIENCE == 0 and desk[YIELD] != 0:
            call_nothing(desk[YIELD])


@called
def meet(desk, n_team):
    """Go on when everybody is here."""
    if n_team == 1:
        return
    sync = desk[SYNC]
    now = shared(sync + ROUND)
    if shared_add(sync + ARRIVED, 1) == n_team - 1:
        shared_set(sync + ARRIVED, 0)
        shared_add(sync + ROUND, 1)
    else:
        _wait_while(desk, sync + ROUND, now)


@called
def _share(table, room_table, phase, means):
    """Have a phase done span by span, until none is left."""
    desk = whole_at(table)
    n_spans, n_rows = desk[N_SPANS], desk[END] - desk[BEGIN]
    number = shared_add(desk[SYNC] + NEXT, 1)
    while number < n_spans:
        begin = desk[BEGIN] + n_rows * number // n_spans
        end = desk[BEGIN] + n_rows * (number + 1) // n_spans
        call(phase, table, room_table, means, begin, end, number, 0, 0, 0)
        number = shared_add(desk[SYNC] + NEXT, 1)


@part
def _begin(desk):
    """Views with a row here; every cluster may have changed.  OUT SEEN, CHANGED; says whether any row is."""
    seen, changed = flags_at(desk[SEEN]), flags_at(desk[CHANGED])
    anyone = False
    for v in range(desk[N_VIEWS]):
        inverse = floats_at(desk[INVERSE] + 8 * v * desk[N_ROWS])
        i, end = desk[BEGIN], desk[END]
        while i < end and not inverse[i] > 0.0:
            i += 1
        seen[v] = i < end
        anyone |= i < end
    for k in range(desk[N_CLUSTERS]):
        changed[k] = True
    return anyone


def whether(table, _room, begins, last, fill, _d, _e, _f, _g):
    """Whether there is to be another update, or the chunk's mean is wanted for it.  OUT GO, WANTS."""
    desk = whole_at(table)
    if begins:
        desk[GO] = _begin(desk)
    desk[WANTS] = 0
    if desk[GO]:
        desk[GO] = desk[N_ITER] < desk[MAX_ITER]
    if desk[GO] and desk[MEAN] == 0:
        desk[WANTS] = call(desk[WANTS_MEAN], table, 0, last, fill, 0, 0, 0, 0, 0)
        desk[GO] = desk[WANTS] == 0
    shared_set(desk[SYNC] + NEXT, 0)
    return 0


def iterate(table, room_table, me, n_team, _c, _d, _e, _f, _g):
    """Eq. 13 and Eq. 15-16 in turn until no label moves, the loss stands still, or MAX_ITER."""
    desk = whole_at(table)
    numbers, fill, begins = floats_at(desk[NUMBERS]), desk[FILL], 1
    while True:
        last, before = desk[CENTRES_AT], numbers[LOSS]
        if me == 0:
            call(desk[WHETHER], table, 0, begins, last, fill, 0, 0, 0, 0)
        begins = 0
        meet(desk, n_team)
        if not desk[GO]:
            return 0
        call(desk[RENEW], table, room_table, me, n_team, last, fill, 0, 0, 0)
        meet(desk, n_team)
        call(desk[SPREAD], table, room_table, me, n_team, last, 0, 0, 0, 0)
        if me == 0:
            call(desk[RENEWED], table, 0, last, fill, 0, 0, 0, 0, 0)
            desk[CENTRES_AT] = NEW
            desk[N_ITER] += 1
        meet(desk, n_team)
        _share(table, room_table, desk[AGAIN], np.int64(NEW))
        meet(desk, n_team)
        if me == 0:
            call(desk[MARK], table, 0, 0, 0, 0, 0, 0, 0, 0)
        meet(desk, n_team)
        if desk[N_MOVED] > 0:
            call(desk[FOLLOW], table, room_table, me, n_team, desk[N_MOVED], 0, 0, 0, 0)
            meet(desk, n_team)
        if me == 0:
            call(desk[WEIGH], table, 0, 0, 0, 0, 0, 0, 0, 0)
            if desk[N_MOVED] == 0 or abs(numbers[LOSS] - before) < numbers[TOL] * abs(before):
                desk[GO] = 0


def rest(table, room_table, me, n_team, looking, joining, settling, _f, _g):
    """What is done to a chunk after the first look: the sums with it, the inner iterations."""
    desk = whole_at(table)
    if looking:
        meet(desk, n_team)
        if desk[WORST] > PRESENT:
            return 0
    if joining != NOT_AT_ALL:
        if desk[SUMMING] or joining != WITH_ROWS:
            n_parts = n_team if joining == WITH_ROWS else 0
            call(desk[JOIN], table, room_table, me, n_team, n_parts, 0, 0, 0, 0)
        else:
            if me == 0:
                call(desk[SORT], table, 0, 0, 0, 0, 0, 0, 0, 0)
            meet(desk, n_team)
            call(desk[FOLD_IN], table, 0, me, n_team, 0, 0, 0, 0, 0)
        meet(desk, n_team)
    if settling:
        call(desk[ITERATE], table, room_table, me, n_team, 0, 0, 0, 0, 0)
    return 0


@called
def look_first(table, room_table):
    """A thread's part of the first look at a chunk."""
    desk = whole_at(table)
    wipe(whole_at(room_table)[PART_COUNTS], 8 * desk[N_VIEWS] * desk[N_CLUSTERS])
    _share(table, room_table, desk[FIRST], desk[CENTRES_AT])


@called
def close(desk, me):
    """Nobody else may join now; gives how many have."""
    sync = desk[SYNC]
    if me == 0:
        shared_set(sync + TEAM, shared_add(sync + JOINED, CLOSED))
    else:
        _wait_while(desk, sync + TEAM, np.int64(0))
    return min(shared(sync + TEAM), desk[N_ROOMS])


def crew(table, _room, looking, joining, settling, _d, _e, _f, _g):
    """One thread's part of a chunk: the first look, the sums with it, the inner iterations.

    INOUT everything the phases change; OUT WORST, N_ITER, CENTRES_AT, WANTS. Nothing may be believed if
    WORST is a fault.
    """
    desk = whole_at(table)
    me = shared_add(desk[SYNC] + JOINED, 1)
    if me >= desk[N_ROOMS]:
        return 0
    room_table = whole_at(desk[ROOMS])[me]
    whole_at(whole_at(room_table)[GATHERED])[0] = -1
    if looking:
        look_first(table, room_table)
    elif me == 0:
        welcome(desk)
    n_team = close(desk, me)
    return call(desk[REST], table, room_table, me, n_team, looking, joining, settling, 0, 0)


def run_at(address, table, a, b, c, d):
    """Run the phase that lies there, without the interpreter's lock."""
    return call(address, table, 0, a, b, c, d, 0, 0, 0)
