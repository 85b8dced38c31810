"""Scans of a row's distances, eight clusters at a time: a minimum is otherwise taken one by one."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from viewpass.kernels.chunk.eights import (
    DOUBLE,
    EIGHT,
    LANES,
    WHOLE,
    constant,
    eight_at,
    first_of,
    halves,
    least_of,
    less,
    load,
    more,
    only,
    spread,
    whole_eights,
)


@intrinsic
def lower_eights(typing: Any, distances: Any, falls: Any, number: Any) -> Any:
    """Add falls to distances (both addresses) and give the least sum, for all whole eights of them."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        least = cgutils.alloca_once_value(builder, constant([float("inf")] * LANES))
        with whole_eights(builder, arguments[2]) as loop:
            at = first_of(builder, loop)
            place = eight_at(builder, arguments[0], at)
            value = builder.fadd(load(builder, place), load(builder, eight_at(builder, arguments[1], at)))
            builder.store(value, place).align = 8
            builder.store(less(builder, builder.load(least), value), least)
        return least_of(builder, builder.load(least))

    return types.float64(types.int64, types.int64, types.int64), generate


def _merge(builder: Any, a: tuple[Any, Any, Any], b: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
    """(least, second, place of the least) of two sets, from the same of each."""
    second = less(builder, less(builder, a[1], b[1]), more(builder, a[0], b[0]))
    earlier = builder.and_(builder.fcmp_ordered("==", b[0], a[0]), builder.fcmp_ordered("<", b[2], a[2]))
    nearer = builder.or_(builder.fcmp_ordered("<", b[0], a[0]), earlier)
    return builder.select(nearer, b[0], a[0]), second, builder.select(nearer, b[2], a[2])


@intrinsic
def least_two_of_eights(typing: Any, distances: Any, number: Any, out: Any) -> Any:
    """The least of all whole eights of distances, the second, the place of the least (the lowest of equals).

    `distances` and `out` are addresses.  OUT out: three numbers.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        far = constant([float("inf")] * LANES)
        least, second = cgutils.alloca_once_value(builder, far), cgutils.alloca_once_value(builder, far)
        best = cgutils.alloca_once_value(builder, constant([float(n) for n in range(LANES)]))
        with whole_eights(builder, arguments[1]) as loop:
            at = first_of(builder, loop)
            value, known = load(builder, eight_at(builder, arguments[0], at)), builder.load(least)
            other = more(builder, known, value)
            builder.store(less(builder, builder.load(second), other), second)
            number = spread(builder, builder.uitofp(at, DOUBLE))
            place = builder.fadd(number, constant([float(n) for n in range(LANES)]))
            nearer = builder.fcmp_ordered("<", value, known)
            builder.store(builder.select(nearer, place, builder.load(best)), best)
            builder.store(builder.select(nearer, value, known), least)
        found: Any = tuple(builder.load(one) for one in (least, second, best))
        while found[0].type.count > 1:
            pairs = [halves(builder, vector) for vector in found]
            found = _merge(builder, tuple(low for low, _ in pairs), tuple(high for _, high in pairs))
        target = builder.inttoptr(arguments[2], DOUBLE.as_pointer())
        for n, vector in enumerate(found):
            builder.store(only(builder, vector), builder.gep(target, [ir.Constant(WHOLE, n)]))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


@intrinsic
def eight_within(typing: Any, distances: Any, reach: Any, beyond: Any) -> Any:
    """Which of eight distances (at an address) are not more than `reach`: a bit each.

    INOUT beyond (eight numbers): the least of those that are more, lane by lane.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        zero = ir.Constant(WHOLE, 0)
        value = load(builder, eight_at(builder, arguments[0], zero))
        more = builder.fcmp_ordered(">", value, spread(builder, arguments[1]))
        place = builder.bitcast(arguments[2], EIGHT.as_pointer())
        far = builder.select(more, value, constant([float("inf")] * LANES))
        builder.store(less(builder, load(builder, place), far), place).align = 8
        bits = builder.not_(builder.bitcast(more, ir.IntType(LANES)))
        return builder.zext(bits, WHOLE)

    return types.int64(types.int64, types.float64, types.CPointer(types.float64)), generate
