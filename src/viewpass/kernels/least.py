"""The least of many float64 in a line, eight at a time: which they are is anyone's guess to the processor."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from viewpass.kernels.chunk.memory import floats_at
from viewpass.kernels.compiling import part

LANES = 8
WORD = 64  # numbers that a word has a bit for each of
_EIGHT = ir.VectorType(ir.DoubleType(), LANES)
_WHOLE = ir.IntType(64)


def _load(builder: Any, address: Any) -> Any:
    vector = builder.load(builder.inttoptr(address, _EIGHT.as_pointer()))
    vector.align = 8
    return vector


@intrinsic
def new_eight(typing: Any) -> Any:
    """The address of room for eight numbers, while the function runs."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ptrtoint(cgutils.alloca_once(builder, ir.DoubleType(), size=LANES), _WHOLE)

    return types.int64(), generate


@intrinsic
def least_in_lanes(typing: Any, line: Any, n_eights: Any, out: Any) -> Any:
    """The least of every eighth number, from the first to the eighth on; arguments are addresses."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        line, n_eights, out = arguments
        infinite = ir.Constant(_EIGHT, [float("inf")] * LANES)
        least = cgutils.alloca_once_value(builder, infinite)
        with cgutils.for_range(builder, n_eights) as loop:
            here = builder.add(line, builder.mul(loop.index, ir.Constant(_WHOLE, 8 * LANES)))
            values, before = _load(builder, here), builder.load(least)
            lower = builder.fcmp_ordered("<", values, before)
            builder.store(builder.select(lower, values, before), least)
        builder.store(builder.load(least), builder.inttoptr(out, _EIGHT.as_pointer())).align = 8
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


@intrinsic
def _within(typing: Any, eight: Any, limit: Any) -> Any:
    """Which of eight numbers (at an address) are at most `limit`: a bit each, the first the lowest."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        nothing = ir.Constant(_EIGHT, ir.Undefined)
        single = builder.insert_element(nothing, arguments[1], ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        limits = builder.shuffle_vector(single, nothing, zeros)
        found = builder.fcmp_ordered("<=", _load(builder, arguments[0]), limits)
        return builder.zext(builder.bitcast(found, ir.IntType(LANES)), _WHOLE)

    return types.int64(types.int64, types.float64), generate


@intrinsic
def lowest_bit(typing: Any, bits: Any) -> Any:
    """The place of the lowest bit that is set; there must be one."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), generate


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
