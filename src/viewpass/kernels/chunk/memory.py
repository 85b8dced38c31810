"""Arrays by address, so that one compiled function serves any number of views and few arguments do.

The caller keeps the memory alive; all arrays are in C order.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array


def _array_at(dtype: Any, n_dimensions: int) -> Any:
    """(type of the array, code for it), given an address and then the lengths of its sides."""
    array = types.Array(dtype, n_dimensions, "C")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        sides = list(arguments[1 : 1 + n_dimensions])
        item = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(dtype)))
        strides = [item]
        for side in reversed(sides[1:]):
            strides.insert(0, builder.mul(strides[0], side))
        made = context.make_array(array)(context, builder)
        pointer = builder.inttoptr(arguments[0], context.get_data_type(dtype).as_pointer())
        populate_array(made, data=pointer, shape=sides, strides=strides, itemsize=item, meminfo=None)
        return made._getvalue()

    return array, generate


@intrinsic
def matrix_at(typing: Any, address: Any, n_rows: Any, width: Any, like: Any) -> Any:
    """The matrix of numbers of the type `like` that lies there."""
    array, generate = _array_at(like.dtype, 2)
    return array(types.int64, types.int64, types.int64, like), generate


@intrinsic
def vector_at(typing: Any, address: Any, length: Any, like: Any) -> Any:
    """The vector of numbers of the type `like` that lies there."""
    array, generate = _array_at(like.dtype, 1)
    return array(types.int64, types.int64, like), generate


@intrinsic
def floats_at(typing: Any, address: Any, length: Any) -> Any:
    """A vector of float64."""
    array, generate = _array_at(types.float64, 1)
    return array(types.int64, types.int64), generate


@intrinsic
def narrow_at(typing: Any, address: Any, length: Any) -> Any:
    """A vector of float32."""
    array, generate = _array_at(types.float32, 1)
    return array(types.int64, types.int64), generate


@intrinsic
def whole_at(typing: Any, address: Any, length: Any) -> Any:
    """A vector of int64."""
    array, generate = _array_at(types.int64, 1)
    return array(types.int64, types.int64), generate


@intrinsic
def labels_at(typing: Any, address: Any, length: Any) -> Any:
    """A vector of int32."""
    array, generate = _array_at(types.int32, 1)
    return array(types.int64, types.int64), generate


@intrinsic
def flags_at(typing: Any, address: Any, length: Any) -> Any:
    """A vector of bool."""
    array, generate = _array_at(types.boolean, 1)
    return array(types.int64, types.int64), generate


@intrinsic
def call(
    typing: Any, address: Any, desk: Any, room: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any
) -> Any:
    """Call the function that lies there (kinds.py): tables and whole numbers in, a whole number out."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole = ir.IntType(64)
        kind = ir.FunctionType(whole, [whole] * (len(arguments) - 1))
        return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])

    return types.int64(*[types.int64] * 10), generate


def _atomic(operation: str) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
        if operation == "load":
            return builder.load_atomic(place, ordering="seq_cst", align=8)
        return builder.atomic_rmw(operation, place, arguments[1], "seq_cst")

    return generate


@intrinsic
def shared_add(typing: Any, address: Any, value: Any) -> Any:
    """Add to a number that threads share; gives what it was."""
    return types.int64(types.int64, types.int64), _atomic("add")


@intrinsic
def shared_set(typing: Any, address: Any, value: Any) -> Any:
    """Set a number that threads share; gives what it was."""
    return types.int64(types.int64, types.int64), _atomic("xchg")


@intrinsic
def shared_max(typing: Any, address: Any, value: Any) -> Any:
    """Raise a number that threads share to at least this; gives what it was."""
    return types.int64(types.int64, types.int64), _atomic("max")


@intrinsic
def shared(typing: Any, address: Any) -> Any:
    """A number that threads share, as it is now."""
    return types.int64(types.int64), _atomic("load")


@intrinsic
def call_nothing(typing: Any, address: Any) -> Any:
    """Call the C function that lies there, which takes nothing."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(ir.IntType(32), [])
        return builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), [])

    return types.int32(types.int64), generate
