"""What LLVM is asked for to work on eight float64 at a time: the parts of the vector scans."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 8
DOUBLE, WHOLE = ir.DoubleType(), ir.IntType(64)
EIGHT = ir.VectorType(DOUBLE, LANES)
_PLACE = ir.IntType(32)


def constant(values: list[float]) -> Any:
    """Numbers that are known beforehand."""
    return ir.Constant(ir.VectorType(DOUBLE, len(values)), values)


def eight_at(builder: Any, address: Any, index: Any) -> Any:
    """Where the eight numbers from `index` on lie."""
    first = builder.inttoptr(address, DOUBLE.as_pointer())
    return builder.bitcast(builder.gep(first, [index]), EIGHT.as_pointer())


def load(builder: Any, place: Any) -> Any:
    """Eight numbers from memory, wherever they begin."""
    vector = builder.load(place)
    vector.align = 8
    return vector


def spread(builder: Any, value: Any) -> Any:
    """The same number eight times."""
    nothing = ir.Constant(EIGHT, ir.Undefined)
    single = builder.insert_element(nothing, value, ir.Constant(_PLACE, 0))
    return builder.shuffle_vector(single, nothing, ir.Constant(ir.VectorType(_PLACE, LANES), [0] * LANES))


def less(builder: Any, a: Any, b: Any) -> Any:
    """The lesser of each two; `a` where `b` is no number."""
    return builder.select(builder.fcmp_ordered("<", b, a), b, a)


def more(builder: Any, a: Any, b: Any) -> Any:
    """The greater of each two; `a` where `b` is no number."""
    return builder.select(builder.fcmp_ordered(">", b, a), b, a)


def halves(builder: Any, vector: Any) -> tuple[Any, Any]:
    """The first and the second half of a vector."""
    half = vector.type.count // 2
    nothing = ir.Constant(vector.type, ir.Undefined)
    lanes = ir.VectorType(_PLACE, half)
    low = builder.shuffle_vector(vector, nothing, ir.Constant(lanes, list(range(half))))
    high = builder.shuffle_vector(vector, nothing, ir.Constant(lanes, list(range(half, 2 * half))))
    return low, high


def only(builder: Any, vector: Any) -> Any:
    """The number of a vector that has one."""
    return builder.extract_element(vector, ir.Constant(_PLACE, 0))


def least_of(builder: Any, vector: Any) -> Any:
    """The least number of a vector."""
    while vector.type.count > 1:
        vector = less(builder, *halves(builder, vector))
    return only(builder, vector)


def whole_eights(builder: Any, number: Any) -> Any:
    """Go through as many numbers as fill whole vectors; gives the index of each first one."""
    return cgutils.for_range(builder, builder.udiv(number, ir.Constant(WHOLE, LANES)))


def first_of(builder: Any, loop: Any) -> Any:
    """The index of the first number of a turn of `whole_eights`."""
    return builder.mul(loop.index, ir.Constant(WHOLE, LANES))


@intrinsic
def lowest_bit(typing: Any, bits: Any) -> Any:
    """The place of the lowest bit that is set; some must be."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), generate
