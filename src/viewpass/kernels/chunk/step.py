"""The phases, compiled, and how Python calls them."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from numba import types

from viewpass.kernels import links
from viewpass.kernels.chunk import crew, deciding, loosening, relay, renewing, revising, summing
from viewpass.kernels.compiling import callback, compiled, once

# In the order of the desk, from FIRST on.
ON_DESK: dict[str, Any] = {
    **dict.fromkeys(("first", "look_at", "choose", "decide", "near", "settle", "sum_up"), deciding),
    **dict.fromkeys(("loosen", "bound"), loosening),
    **dict.fromkeys(("again", "compare", "gather", "note"), revising),
    **dict.fromkeys(("join", "mark", "follow"), summing),
    **dict.fromkeys(
        ("trace", "renew", "make", "lengths", "renewed", "wants_mean", "weigh", "spread"), renewing
    ),
    **dict.fromkeys(("whether", "iterate", "rest"), crew),
}
FOR_SPARSE: dict[str, Any] = {"sort": summing, "fold_in": summing}  # after them
FOR_DENSE = ("compare", "sum_up", "join")  # among them; rows of CSR that are read again are joined, too
BY_NAME: dict[str, Any] = {"measure": deciding, "crew": crew, "several": relay, "mix": links}  # not on it


@once
def _compiled(name: str) -> Any:
    where = (ON_DESK | FOR_SPARSE | BY_NAME)[name]
    return callback(getattr(where, name), types.int64(*[types.int64] * 9), "phase")


@once
def _caller() -> Any:
    return compiled(crew.run_at, types.int64(*[types.int64] * 6))


@cache
def addresses(*, sparse: bool) -> tuple[int, ...]:
    """Where the phases on the desk lie; 0 for those that rows of this kind do not need."""
    needless = FOR_DENSE if sparse else FOR_SPARSE
    return tuple(0 if name in needless else address(name) for name in (*ON_DESK, *FOR_SPARSE))


def address(name: str) -> int:
    """Where one phase lies."""
    return int(_compiled(name).address)


@cache
def yielding() -> int:
    """Where the system's function lies that lets another thread run; 0 if there is none."""
    try:
        return ctypes.cast(ctypes.CDLL(None).sched_yield, ctypes.c_void_p).value or 0
    except (AttributeError, OSError, TypeError):
        return 0


def run(name: str, table: int, a: int = 0, b: int = 0, c: int = 0, d: int = 0) -> int:
    """Run a phase on the desk that lies there (0: it needs none); without the interpreter's lock."""
    result: int = _caller()(_compiled(name).address, table, a, b, c, d)
    return result
