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
    COMPLETE,
    COUNTS,
    CREW,
    DISTANCE,
    END,
    FILL,
    FIRST,
    FOLD_IN,
    FOLLOW,
    FRESH,
    GO,
    INVERSE,
    JOIN,
    JOINED,
    LAST,
    LOOKED,
    LOSS,
    LOSSES,
    MARGINS,
    MARK,
    MAX_ITER,
    MEAN,
    MOVED,
    N_CLUSTERS,
    N_ITER,
    N_LOOKS,
    N_MOVED,
    N_ROOMS,
    N_ROWS,
    N_SEEN,
    N_SPANS,
    N_VIEWS,
    NEW,
    NEXT,
    NUMBERS,
    PART_COUNTS,
    RENEW,
    RENEWED,
    ROOMS,
    ROUND,
    SEEN,
    SORT,
    SPAN_MOVED,
    SPARSE,
    SPREAD,
    STALE,
    STEPS,
    SUMMING,
    SYNC,
    TEAM,
    TOL,
    TOTAL_COUNTS,
    TOTAL_STEPS,
    WANTS,
    WANTS_MEAN,
    WEIGH,
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
    shared_max,
    shared_set,
    whole_at,
)
from viewpass.kernels.compiling import part
from viewpass.kernels.grid import PRESENT

NOT_AT_ALL, WITHOUT_ROWS, WITH_ROWS = range(3)  # how the sums before this chunk are taken over
CLOSED = 2**32  # added to JOINED when nobody else may join
PATIENCE = 4096  # looks at a shared number before others are let run


@part
def _wait_while(desk, address, value):
    """Until a shared number is another."""
    n_looks = 0
    while shared(address) == value:
        n_looks += 1
        if n_looks % PATIENCE == 0 and desk[YIELD] != 0:
            call_nothing(desk[YIELD])


@part
def _meet(desk, n_team):
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


@part
def _span(desk, number):
    """First row of a span and the row after its last."""
    begin, n_rows, n_spans = desk[BEGIN], desk[END] - desk[BEGIN], desk[N_SPANS]
    return begin + n_rows * number // n_spans, begin + n_rows * (number + 1) // n_spans


@part
def _look_first(table, desk, room_table):
    """The first look, span by span, until none is left."""
    room = whole_at(room_table)
    counts = whole_at(room[PART_COUNTS])
    for line in range(desk[N_VIEWS] * desk[N_CLUSTERS]):
        counts[line] = 0
    last, fresh, summing = desk[CENTRES_AT], desk[FRESH], desk[SUMMING]
    while True:
        number = shared_add(desk[SYNC] + NEXT, 1)
        if number >= desk[N_SPANS]:
            return
        begin, end = _span(desk, number)
        worst = call(desk[FIRST], table, room_table, last, begin, end, fresh, summing, 0, 0)
        shared_max(table + 8 * WORST, worst)


@part
def _look_again(table, desk, room_table):
    """Looks again, span by span, until none is left."""
    moved = whole_at(desk[SPAN_MOVED])
    while True:
        number = shared_add(desk[SYNC] + NEXT, 1)
        if number >= desk[N_SPANS]:
            return
        begin, end = _span(desk, number)
        moved[number] = call(desk[AGAIN], table, room_table, NEW, begin, end, number, 0, 0, 0)


@part
def _gather_moved(desk):
    """Put the rows that moved in all spans behind one another.  INOUT MOVED; OUT N_MOVED."""
    moved, by_span = whole_at(desk[MOVED]), whole_at(desk[SPAN_MOVED])
    looked, numbers = whole_at(desk[LOOKED]), floats_at(desk[NUMBERS])
    there = 0
    for number in range(desk[N_SPANS]):
        begin, _ = _span(desk, number)
        for place in range(by_span[number]):
            moved[there] = moved[begin + place]
            there += 1
        numbers[N_LOOKS] += looked[number] / desk[N_CLUSTERS]
    desk[N_MOVED] = there


@part
def _before_settling(desk):
    """Views with a row here; every cluster may have changed.  OUT SEEN, CHANGED; says whether any row is."""
    n_rows, n_views = desk[N_ROWS], desk[N_VIEWS]
    seen, changed = flags_at(desk[SEEN]), flags_at(desk[CHANGED])
    for v in range(n_views):
        inverse = floats_at(desk[INVERSE] + 8 * v * n_rows)
        seen[v] = False
        for i in range(desk[BEGIN], desk[END]):
            if inverse[i] > 0.0:
                seen[v] = True
                break
    for k in range(desk[N_CLUSTERS]):
        changed[k] = True
    anyone = False
    for v in range(n_views):
        anyone |= seen[v]
    return anyone


@part
def _whether_to_go(table, desk):
    """OUT GO, WANTS."""
    desk[WANTS] = 0
    desk[GO] = desk[N_ITER] < desk[MAX_ITER]
    if desk[GO] and desk[MEAN] == 0:
        desk[WANTS] = call(desk[WANTS_MEAN], table, 0, desk[CENTRES_AT], desk[FILL], 0, 0, 0, 0, 0)
        desk[GO] = desk[WANTS] == 0
    shared_set(desk[SYNC] + NEXT, 0)


@part
def _settle(table, desk, room_table, me, n_team):
    """Eq. 13 and Eq. 15-16 in turn until no label moves, the loss stands still, or MAX_ITER."""
    numbers, fill = floats_at(desk[NUMBERS]), desk[FILL]
    if me == 0:
        if _before_settling(desk):
            _whether_to_go(table, desk)
        else:
            desk[GO] = desk[WANTS] = 0
    _meet(desk, n_team)
    while desk[GO]:
        last, before = desk[CENTRES_AT], numbers[LOSS]
        call(desk[RENEW], table, room_table, me, n_team, last, fill, 0, 0, 0)
        _meet(desk, n_team)
        if desk[SPARSE]:
            call(desk[SPREAD], table, room_table, me, n_team, last, 0, 0, 0, 0)
        if me == 0:
            call(desk[RENEWED], table, 0, last, fill, 0, 0, 0, 0, 0)
            desk[CENTRES_AT] = NEW
            desk[N_ITER] += 1
        _meet(desk, n_team)
        _look_again(table, desk, room_table)
        _meet(desk, n_team)
        if me == 0:
            _gather_moved(desk)
            call(desk[MARK], table, 0, desk[N_MOVED], 0, 0, 0, 0, 0, 0)
        _meet(desk, n_team)
        if desk[N_MOVED] > 0:
            call(desk[FOLLOW], table, room_table, me, n_team, desk[N_MOVED], 0, 0, 0, 0)
            _meet(desk, n_team)
        if me == 0:
            call(desk[WEIGH], table, 0, 0, 0, 0, 0, 0, 0, 0)
            _whether_to_go(table, desk)
            if desk[N_MOVED] == 0 or abs(numbers[LOSS] - before) < numbers[TOL] * abs(before):
                desk[GO] = desk[WANTS] = 0
        _meet(desk, n_team)


@part
def _swap(desk, a, b):
    desk[a], desk[b] = desk[b], desk[a]


def several(table, _room, size, again, _c, _d, _e, _f, _g):
    """Small chunks of `size` measured rows, one after another, by one thread.

    `again`: their rows are in the sums, with the labels they have. INOUT LABELS, the TOTAL sums and the
    LAST centres (which change places with the others); OUT MARGINS, LOSSES (of each chunk, then its
    updates). Gives the number of chunks done: a chunk without rows, or whose mean is wanted, is left.
    """
    desk = whole_at(table)
    n_rows, n_clusters = desk[N_ROWS], desk[N_CLUSTERS]
    n_chunks = (n_rows + size - 1) // size
    losses, numbers = floats_at(desk[LOSSES]), floats_at(desk[NUMBERS])
    stale, margins = flags_at(desk[STALE]), floats_at(desk[MARGINS])
    n_seen = whole_at(desk[N_SEEN])
    desk[N_SPANS] = 1
    for number in range(n_chunks):
        begin, end = number * size, min((number + 1) * size, n_rows)
        anyone = False
        for i in range(begin, end):
            anyone |= n_seen[i] > 0
            if again:
                margins[i] = -np.inf
        if not anyone:
            return number
        desk[BEGIN], desk[END], desk[N_ITER], desk[CENTRES_AT], desk[WORST] = begin, end, 0, LAST, 0
        for word in (JOINED, TEAM, ARRIVED, ROUND, NEXT):
            shared_set(desk[SYNC] + word, 0)
        for k in range(n_clusters):
            stale[k] = again != 0
        whole_at(desk[COMPLETE])[0] = 0 if again else desk[DISTANCE] != 0
        numbers[LOSS] = np.nan
        numbers[N_LOOKS] += 0 if again else end - begin
        call(desk[CREW], table, 0, not again, WITHOUT_ROWS if again else WITH_ROWS, 1, 0, 0, 0, 0)
        if desk[WANTS]:
            return number
        losses[number], losses[n_chunks + number] = numbers[LOSS], desk[N_ITER]
        _swap(desk, TOTAL_STEPS, STEPS)
        _swap(desk, TOTAL_COUNTS, COUNTS)
        for slot in range(NEW - LAST):
            _swap(desk, LAST + slot, NEW + slot)
    return n_chunks


def crew(table, _room, looking, joining, settling, _d, _e, _f, _g):
    """One thread's part of a chunk: the first look, the sums with it, the inner iterations.

    INOUT everything the phases change; OUT WORST, N_ITER, CENTRES_AT, WANTS. Nothing may be believed if
    WORST is a fault.
    """
    desk = whole_at(table)
    sync = desk[SYNC]
    me = shared_add(sync + JOINED, 1)
    if me >= desk[N_ROOMS]:
        return 0
    room_table = whole_at(desk[ROOMS])[me]
    if looking:
        _look_first(table, desk, room_table)
    if me == 0:
        shared_set(sync + TEAM, shared_add(sync + JOINED, CLOSED))
    else:
        _wait_while(desk, sync + TEAM, 0)
    n_team = min(shared(sync + TEAM), desk[N_ROOMS])
    if looking:
        _meet(desk, n_team)
        if desk[WORST] > PRESENT:
            return 0
    if joining != NOT_AT_ALL:
        n_parts = n_team if desk[SUMMING] and joining == WITH_ROWS else 0
        call(desk[JOIN], table, room_table, me, n_team, n_parts, 0, 0, 0, 0)
        if not desk[SUMMING] and joining == WITH_ROWS:
            if me == 0:
                call(desk[SORT], table, 0, 0, 0, 0, 0, 0, 0, 0)
            _meet(desk, n_team)
            call(desk[FOLD_IN], table, 0, me, n_team, 0, 0, 0, 0, 0)
        _meet(desk, n_team)
    if settling:
        _settle(table, desk, room_table, me, n_team)
    return 0


def run_at(address, table, room, a, b, c):
    """Run the phase that lies there, without the interpreter's lock."""
    return call(address, table, room, a, b, c, 0, 0, 0, 0)
