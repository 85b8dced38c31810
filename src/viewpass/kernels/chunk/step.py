"""The phases, compiled, and how Python calls them."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from numba import types

from viewpass.kernels.chunk import assigning, updating
from viewpass.kernels.chunk import crew as crews
from viewpass.kernels.compiling import callback, compiled, once

# In the order of the desk, from FIRST on; the crew's own after them.
ON_DESK = (
    *("first", "again", "join", "sort", "fold_in", "mark"),
    *("follow", "wants_mean", "renew", "renewed", "weigh", "crew"),
)
_PHASES: dict[str, Any] = {
    "measure": assigning.measure,
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
    "spread": updating.spread,
    "weigh": updating.weigh,
    "crew": crews.crew,
    "several": crews.several,
}


@once
def _compiled(name: str) -> Any:
    return callback(_PHASES[name], types.int64(*[types.int64] * 9), "phase")


@once
def _caller() -> Any:
    return compiled(crews.run_at, types.int64(*[types.int64] * 6))


@cache
def addresses() -> tuple[int, ...]:
    """Where the phases lie that the crew calls."""
    return tuple(address_of(name) for name in ON_DESK)


def address_of(name: str) -> int:
    """Where a phase lies."""
    return int(_compiled(name).address)


@cache
def yielding() -> int:
    """Where the system's function lies that lets another thread run; 0 if there is none."""
    try:
        return ctypes.cast(ctypes.CDLL(None).sched_yield, ctypes.c_void_p).value or 0
    except (AttributeError, OSError, TypeError):
        return 0


def run(name: str, table: int, a: int = 0, b: int = 0, c: int = 0) -> int:
    """Run a phase on the desk that lies there; without the interpreter's lock."""
    result: int = _caller()(_compiled(name).address, table, 0, a, b, c)
    return result
