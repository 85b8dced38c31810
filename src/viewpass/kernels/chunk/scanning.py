"""Scans of a row's distances, eight clusters at a time: a minimum is otherwise taken one by one."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 8
_DOUBLE, _WHOLE = ir.DoubleType(), ir.IntType(64)
_EIGHT = ir.VectorType(_DOUBLE, LANES)
_PLACE = ir.IntType(32)


def _constant(values: list[float]) -> Any:
    return ir.Constant(ir.VectorType(_DOUBLE, len(values)), values)


def _eight(builder: Any, address: Any, index: Any) -> Any:
    """Where the eight numbers from `index` on lie."""
    first = builder.inttoptr(address, _DOUBLE.as_pointer())
    return builder.bitcast(builder.gep(first, [index]), _EIGHT.as_pointer())


def _load(builder: Any, place: Any) -> Any:
    vector = builder.load(place)
    vector.align = 8
    return vector


def _spread(builder: Any, value: Any) -> Any:
    nothing = ir.Constant(_EIGHT, ir.Undefined)
    single = builder.insert_element(nothing, value, ir.Constant(_PLACE, 0))
    return builder.shuffle_vector(single, nothing, ir.Constant(ir.VectorType(_PLACE, LANES), [0] * LANES))


def _less(builder: Any, a: Any, b: Any) -> Any:
    """The lesser of each two; `a` where `b` is no number."""
    return builder.select(builder.fcmp_ordered("<", b, a), b, a)


def _more(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", b, a), b, a)


def _halves(builder: Any, vector: Any) -> tuple[Any, Any]:
    half = vector.type.count // 2
    nothing = ir.Constant(vector.type, ir.Undefined)
    lanes = ir.VectorType(_PLACE, half)
    low = builder.shuffle_vector(vector, nothing, ir.Constant(lanes, list(range(half))))
    high = builder.shuffle_vector(vector, nothing, ir.Constant(lanes, list(range(half, 2 * half))))
    return low, high


def _only(builder: Any, vector: Any) -> Any:
    return builder.extract_element(vector, ir.Constant(_PLACE, 0))


def _least_of(builder: Any, vector: Any) -> Any:
    while vector.type.count > 1:
        vector = _less(builder, *_halves(builder, vector))
    return _only(builder, vector)


def _eights(builder: Any, number: Any) -> Any:
    """Go through as many numbers as fill whole vectors; gives the index of each first one."""
    return cgutils.for_range(builder, builder.udiv(number, ir.Constant(_WHOLE, LANES)))


def _first(builder: Any, loop: Any) -> Any:
    return builder.mul(loop.index, ir.Constant(_WHOLE, LANES))


@intrinsic
def lower_eights(typing: Any, distances: Any, falls: Any, number: Any) -> Any:
    """Add falls to distances (both addresses) and give the least sum, for all whole eights of them."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        least = cgutils.alloca_once_value(builder, _constant([float("inf")] * LANES))
        with _eights(builder, arguments[2]) as loop:
            at = _first(builder, loop)
            place = _eight(builder, arguments[0], at)
            value = builder.fadd(_load(builder, place), _load(builder, _eight(builder, arguments[1], at)))
            builder.store(value, place).align = 8
            builder.store(_less(builder, builder.load(least), value), least)
        return _least_of(builder, builder.load(least))

    return types.float64(types.int64, types.int64, types.int64), generate


def _merge(builder: Any, a: tuple[Any, Any, Any], b: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
    """(least, second, place of the least) of two sets, from the same of each."""
    second = _less(builder, _less(builder, a[1], b[1]), _more(builder, a[0], b[0]))
    earlier = builder.and_(builder.fcmp_ordered("==", b[0], a[0]), builder.fcmp_ordered("<", b[2], a[2]))
    nearer = builder.or_(builder.fcmp_ordered("<", b[0], a[0]), earlier)
    return builder.select(nearer, b[0], a[0]), second, builder.select(nearer, b[2], a[2])


@intrinsic
def least_two_of_eights(typing: Any, distances: Any, number: Any, out: Any) -> Any:
    """The least of all whole eights of distances, the second, the place of the least (the lowest of equals).

    `distances` and `out` are addresses.  OUT out: three numbers.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        far = _constant([float("inf")] * LANES)
        least, second = cgutils.alloca_once_value(builder, far), cgutils.alloca_once_value(builder, far)
        best = cgutils.alloca_once_value(builder, _constant([float(n) for n in range(LANES)]))
        with _eights(builder, arguments[1]) as loop:
            at = _first(builder, loop)
            value, known = _load(builder, _eight(builder, arguments[0], at)), builder.load(least)
            other = _more(builder, known, value)
            builder.store(_less(builder, builder.load(second), other), second)
            number = _spread(builder, builder.uitofp(at, _DOUBLE))
            place = builder.fadd(number, _constant([float(n) for n in range(LANES)]))
            nearer = builder.fcmp_ordered("<", value, known)
            builder.store(builder.select(nearer, place, builder.load(best)), best)
            builder.store(builder.select(nearer, value, known), least)
        found: Any = tuple(builder.load(one) for one in (least, second, best))
        while found[0].type.count > 1:
            halves = [_halves(builder, vector) for vector in found]
            found = _merge(builder, tuple(low for low, _ in halves), tuple(high for _, high in halves))
        target = builder.inttoptr(arguments[2], _DOUBLE.as_pointer())
        for n, vector in enumerate(found):
            builder.store(_only(builder, vector), builder.gep(target, [ir.Constant(_WHOLE, n)]))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


@intrinsic
def eight_within(typing: Any, distances: Any, reach: Any, beyond: Any) -> Any:
    """Which of eight distances (at an address) are not more than `reach`: a bit each.

    INOUT beyond (eight numbers): the least of those that are more, lane by lane.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        zero = ir.Constant(_WHOLE, 0)
        value = _load(builder, _eight(builder, arguments[0], zero))
        more = builder.fcmp_ordered(">", value, _spread(builder, arguments[1]))
        place = builder.bitcast(arguments[2], _EIGHT.as_pointer())
        far = builder.select(more, value, _constant([float("inf")] * LANES))
        builder.store(_less(builder, _load(builder, place), far), place).align = 8
        bits = builder.not_(builder.bitcast(more, ir.IntType(LANES)))
        return builder.zext(bits, _WHOLE)

    return types.int64(types.int64, types.float64, types.CPointer(types.float64)), generate


@intrinsic
def lowest_bit(typing: Any, bits: Any) -> Any:
    """The place of the lowest bit that is set; some must be."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), generate
