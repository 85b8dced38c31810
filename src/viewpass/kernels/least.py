"""The least of many float64 in a line, eight at a time: which they are is anyone's guess to the processor."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from viewpass.kernels.chunk.eights import (
    EIGHT,
    LANES,
    WHOLE,
    constant,
    eight_at,
    first_of,
    less,
    load,
    spread,
)
from viewpass.kernels.chunk.memory import floats_at
from viewpass.kernels.compiling import part

WORD = 64  # numbers that a word has a bit for each of


@intrinsic
def new_eight(typing: Any) -> Any:
    """The address of room for eight numbers, while the function runs."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ptrtoint(cgutils.alloca_once(builder, ir.DoubleType(), size=LANES), WHOLE)

    return types.int64(), generate


@intrinsic
def least_in_lanes(typing: Any, line: Any, n_eights: Any, out: Any) -> Any:
    """The least of every eighth number, from the first to the eighth on; arguments are addresses."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        line, n_eights, out = arguments
        least = cgutils.alloca_once_value(builder, constant([float("inf")] * LANES))
        with cgutils.for_range(builder, n_eights) as loop:
            values = load(builder, eight_at(builder, line, first_of(builder, loop)))
            builder.store(less(builder, builder.load(least), values), least)
        builder.store(builder.load(least), builder.inttoptr(out, EIGHT.as_pointer())).align = 8
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


@intrinsic
def _within(typing: Any, eight: Any, limit: Any) -> Any:
    """Which of eight numbers (at an address) are at most `limit`: a bit each, the first the lowest."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values = load(builder, eight_at(builder, arguments[0], ir.Constant(WHOLE, 0)))
        found = builder.fcmp_ordered("<=", values, spread(builder, arguments[1]))
        return builder.zext(builder.bitcast(found, ir.IntType(LANES)), WHOLE)

    return types.int64(types.int64, types.float64), generate


@part
def within(line, n_values, limit):
    """Which numbers of a line (no more than WORD) are at most `limit`: a bit each, the first the lowest."""
    bits, values = np.int64(0), floats_at(line)
    whole = n_values // LANES * LANES
    for first in range(0, whole, LANES):
        bits |= _within(line + 8 * first, limit) << first
    for k in range(whole, n_values):
        bits |= np.int64(values[k] <= limit) << k
    return bits


@part
def fifth_at_most(line, n_values, room):
    """A number that five of the line are not above, and few others: the fifth of the least in each lane."""
    if n_values < LANES:
        return np.inf
    least_in_lanes(line, n_values // LANES, room)
    lanes = floats_at(room)
    a = b = c = d = e = np.inf
    for lane in range(LANES):
        value = lanes[lane]
        a, value = min(a, value), max(a, value)
        b, value = min(b, value), max(b, value)
        c, value = min(c, value), max(c, value)
        d, value = min(d, value), max(d, value)
        e = min(e, value)
    return e
