"""The phases by name, and all of them in turn for a chunk that one thread settles alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from viewpass.kernels.chunk import assigning, updating
from viewpass.kernels.chunk.desk import (
    ADDRESSES,
    AGAIN,
    CENTRES_AT,
    COMPLETE,
    FOLLOW,
    LANES_ROOM,
    LOSS,
    MARK,
    MEASURE,
    N_CLUSTERS,
    N_COMPARED,
    N_ITER,
    N_LOOKED,
    N_LOOKS,
    N_ROWS,
    N_VIEWS,
    NEW,
    NUMBERS,
    RENEW,
    RENEWED,
    ROOM_SLOTS,
    SLOTS,
    TOL,
    WANTS,
    WANTS_MEAN,
    WEIGH,
)
from viewpass.kernels.chunk.memory import call, floats_at, whole_at
from viewpass.kernels.compiling import callback, compiled, once
from viewpass.kernels.grid import LANES


def settle(table, room_table, last, max_iter, fill, has_mean, n_iter, _f, _g):  # type: ignore[no-untyped-def]
    """Eq. 13 and Eq. 15-16 in turn until no label moves, the loss stands still, or max_iter.

    INOUT LOSS (NaN if there is none yet), N_LOOKS, COMPLETE; OUT N_ITER (updates done), CENTRES_AT (which
    centres are the last), WANTS (whether the chunk's mean is wanted to go on).
    """
    desk, room = whole_at(table, SLOTS), whole_at(room_table, ROOM_SLOTS)
    numbers = floats_at(desk[NUMBERS], N_LOOKS + 1)
    room[WANTS] = 0
    while n_iter < max_iter:
        if not has_mean and call(desk[WANTS_MEAN], table, room_table, last, fill, 0, 0, 0, 0, 0):
            room[WANTS] = 1
            break
        n_iter += 1
        before = numbers[LOSS]
        call(desk[RENEW], table, room_table, 0, 1, last, fill, 0, 0, 0)
        call(desk[RENEWED], table, room_table, last, fill, 0, 0, 0, 0, 0)
        last = NEW
        n_moved = call(desk[AGAIN], table, room_table, NEW, 0, desk[N_ROWS], room[COMPLETE], 0, 0, 0)
        numbers[N_LOOKS] += room[N_LOOKED] * room[N_COMPARED] / desk[N_CLUSTERS]
        call(desk[MARK], table, room_table, n_moved, 0, 0, 0, 0, 0, 0)
        if n_moved > 0:
            call(desk[FOLLOW], table, room_table, 0, 1, n_moved, 0, 0, 0, 0)
        call(desk[WEIGH], table, room_table, 0, 0, 0, 0, 0, 0, 0)
        if n_moved == 0 or abs(numbers[LOSS] - before) < numbers[TOL] * abs(before):
            break
    room[N_ITER], room[CENTRES_AT] = n_iter, last
    return 0


def _measure(table, _room, begin, end, _c, _d, _e, _f, _g):  # type: ignore[no-untyped-def]
    """Norms and kinds of rows begin..end in every view; gives the worst kind.  INOUT N_SEEN."""
    desk, room = whole_at(table, SLOTS), np.empty(ROOM_SLOTS, dtype=np.int64)
    lanes = np.empty(LANES)
    room[LANES_ROOM] = lanes.ctypes.data
    worst = 0
    for v in range(desk[N_VIEWS]):
        if whole_at(desk[ADDRESSES], 3 * desk[N_VIEWS])[3 * v] != 0:
            kind = call(desk[MEASURE], table, room.ctypes.data, v, begin, end, 0, 0, 0, 0)
            worst = max(worst, kind)
    return worst


_PHASES: dict[str, Any] = {
    "measure": _measure,
    "first": assigning.first,
    "again": assigning.again,
    "join": updating.join,
    "sort": updating.sort,
    "fold_in": updating.fold_in,
    "mark": updating.mark,
    "follow": updating.follow,
    "wants_mean": updating.wants_mean,
    "renew": updating.renew,
    "renewed": updating.renewed,
    "weigh": updating.weigh,
    "settle": settle,
}
IN_ORDER = ("again", "follow", "renew", "renewed", "wants_mean", "mark", "weigh")  # as on the desk


@once
def _compiled(name: str) -> Any:
    return callback(_PHASES[name], types.int64(*[types.int64] * 9), "phase")


def _run(address, table, room, a, b, c, d, e, f, g):  # type: ignore[no-untyped-def]
    return call(address, table, room, a, b, c, d, e, f, g)


@once
def _caller() -> Any:
    return compiled(_run, types.int64(*[types.int64] * 10))


def measure(table: int, begin: int, end: int) -> int:
    """Measure rows begin..end of a desk; gives the worst kind."""
    return run("measure", table, 0, begin, end)


def address_of(name: str) -> int:
    """Where a phase lies."""
    return int(_compiled(name).address)


def run(
    name: str,
    table: int,
    room: int,
    a: int = 0,
    b: int = 0,
    c: int = 0,
    d: int = 0,
    e: int = 0,
) -> int:
    """Run a phase on a desk and in a room, given where these lie; without the interpreter's lock."""
    result: int = _caller()(_compiled(name).address, table, room, a, b, c, d, e, 0, 0)
    return result
