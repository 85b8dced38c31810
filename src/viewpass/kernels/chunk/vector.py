"""Eight float32 products at a time, which numba's own code generation leaves apart."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 8  # of a vector
ROWS = 6  # rows whose products with two vectors of clusters fit into the registers
N_SUMS = 2  # sums of a sparse row that run side by side, since each addition waits for the last

_EIGHT = ir.VectorType(ir.FloatType(), LANES)
_WHOLE = ir.IntType(64)


def _number(value: int) -> Any:
    return ir.Constant(_WHOLE, value)


def _spread(builder: Any, value: Any) -> Any:
    """A vector with the same value in every lane."""
    nothing = ir.Constant(_EIGHT, ir.Undefined)
    single = builder.insert_element(nothing, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(
        single, nothing, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    )


def _load(builder: Any, pointer: Any) -> Any:
    """Eight values from a place that need not be aligned."""
    vector = builder.load(builder.bitcast(pointer, _EIGHT.as_pointer()))
    vector.align = 4
    return vector


def _store(builder: Any, vector: Any, pointer: Any) -> None:
    builder.store(vector, builder.bitcast(pointer, _EIGHT.as_pointer())).align = 4


def _add_product(builder: Any, a: Any, b: Any, total: Any) -> None:
    """Total += a * b, where `total` is a place."""
    multiply = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(_EIGHT, [_EIGHT] * 3), "llvm.fmuladd.v8f32"
    )
    builder.store(builder.call(multiply, [a, b, builder.load(total)]), total)


def _sums(builder: Any, number: int) -> list[Any]:
    zero = ir.Constant(_EIGHT, [0.0] * LANES)
    return [cgutils.alloca_once_value(builder, zero) for _ in range(number)]


def _floats(builder: Any, address: Any) -> Any:
    return builder.inttoptr(address, ir.FloatType().as_pointer())


@intrinsic
def sparse_dots(
    typing: Any,
    data: Any,
    columns: Any,
    first: Any,
    last: Any,
    factor: Any,
    table: Any,
    stride: Any,
    out: Any,
) -> Any:
    """Products of factor * data[first:last] with eight float32 values for each column; OUT eight at `out`.

    Column c's eight values lie `stride` values apart from `table` on; `table` and `out` are addresses.
    """
    whole = types.int64
    signature = types.void(data, columns, whole, whole, types.float32, whole, whole, whole)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values, places, low, high, scale = arguments[:5]
        centres, step, target = _floats(builder, arguments[5]), arguments[6], _floats(builder, arguments[7])
        sums = _sums(builder, N_SUMS)

        def one(p: Any, total: Any) -> None:
            value = builder.load(builder.gep(values, [p]))
            if value.type != ir.FloatType():
                value = builder.fptrunc(value, ir.FloatType())
            column = builder.load(builder.gep(places, [p]))
            if column.type != _WHOLE:
                column = builder.zext(column, _WHOLE)
            vector = _load(builder, builder.gep(centres, [builder.mul(column, step)]))
            _add_product(builder, vector, _spread(builder, value), total)

        pairs = builder.udiv(builder.sub(high, low), _number(N_SUMS))
        with cgutils.for_range(builder, pairs) as loop:
            p = builder.add(low, builder.mul(loop.index, _number(N_SUMS)))
            for n, total in enumerate(sums):
                one(builder.add(p, _number(n)), total)
        rest = builder.add(low, builder.mul(pairs, _number(N_SUMS)))
        with cgutils.for_range(builder, builder.sub(high, rest)) as loop:
            one(builder.add(rest, loop.index), sums[0])
        whole = builder.load(sums[0])
        for total in sums[1:]:
            whole = builder.fadd(whole, builder.load(total))
        _store(builder, builder.fmul(whole, _spread(builder, scale)), target)
        return context.get_dummy_value()

    return signature, generate


def _four_at(builder: Any, address: Any, index: int, wide: Any) -> Any:
    """Where four float64 lie, the first of them so many behind an address."""
    place = builder.add(address, _number(8 * index))
    return builder.inttoptr(place, wide.as_pointer())


def _dense_look(n_vectors: int) -> Any:
    wide = ir.VectorType(ir.DoubleType(), 4)

    def load(builder: Any, place: Any) -> Any:
        vector = builder.load(place)
        vector.align = 8
        return vector

    def finish(
        builder: Any, sums: list[Any], first: Any, line: Any, base: Any, target: Any, twice: Any
    ) -> None:
        """Target = base + line - twice * sums, four at a time."""
        nothing = ir.Constant(wide, ir.Undefined)
        single = builder.insert_element(nothing, twice, ir.Constant(ir.IntType(32), 0))
        factor = builder.shuffle_vector(
            single, nothing, ir.Constant(ir.VectorType(ir.IntType(32), 4), [0] * 4)
        )
        for n in range(n_vectors):
            eight = builder.load(sums[n])
            for half in range(2):
                places = ir.Constant(ir.VectorType(ir.IntType(32), 4), [4 * half + one for one in range(4)])
                dots = builder.fpext(builder.shuffle_vector(eight, eight, places), wide)
                at = LANES * n + 4 * half
                known = load(builder, _four_at(builder, builder.add(base, first), at, wide))
                known = builder.fadd(known, load(builder, _four_at(builder, line, at, wide)))
                value = builder.fsub(known, builder.fmul(factor, dots))
                builder.store(value, _four_at(builder, builder.add(target, first), at, wide)).align = 8

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows, bases, targets = (builder.inttoptr(arguments[n], _WHOLE.as_pointer()) for n in (0, 3, 4))
        factors = builder.inttoptr(arguments[7], ir.DoubleType().as_pointer())
        n_columns, panel = arguments[1], _floats(builder, arguments[2])
        row = [_floats(builder, builder.load(builder.gep(rows, [_number(r)]))) for r in range(ROWS)]
        sums = _sums(builder, ROWS * n_vectors)
        with cgutils.for_range(builder, n_columns) as loop:
            at = builder.mul(loop.index, _number(2 * LANES))
            centres = [
                _load(builder, builder.gep(panel, [builder.add(at, _number(LANES * n))]))
                for n in range(n_vectors)
            ]
            for r in range(ROWS):
                value = _spread(builder, builder.load(builder.gep(row[r], [loop.index])))
                for n in range(n_vectors):
                    _add_product(builder, centres[n], value, sums[r * n_vectors + n])
        for r in range(ROWS):
            base, target, twice = (
                builder.load(builder.gep(places, [_number(r)])) for places in (bases, targets, factors)
            )
            own = sums[r * n_vectors : (r + 1) * n_vectors]
            finish(builder, own, arguments[5], arguments[6], base, target, twice)
        return context.get_dummy_value()

    return generate


@intrinsic
def look_at_eight(
    typing: Any,
    rows: Any,
    n_columns: Any,
    panel: Any,
    bases: Any,
    targets: Any,
    first: Any,
    line: Any,
    twice: Any,
) -> Any:
    """Distances of six rows from eight clusters: what was known, plus a line, less twice the products.

    All arguments but n_columns are addresses; the addresses of six rows lie at `rows`, of what is known at
    `bases`, of what is written at `targets` (both `first` bytes further on), and what the float32
    products are multiplied by at `twice`. The panel has sixteen values a column: the first eight count.
    """
    return types.void(*[types.int64] * 8), _dense_look(1)


@intrinsic
def look_at_sixteen(
    typing: Any,
    rows: Any,
    n_columns: Any,
    panel: Any,
    bases: Any,
    targets: Any,
    first: Any,
    line: Any,
    twice: Any,
) -> Any:
    """The same of sixteen clusters."""
    return types.void(*[types.int64] * 8), _dense_look(2)
