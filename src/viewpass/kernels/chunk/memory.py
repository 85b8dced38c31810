"""Memory by address, so that one compiled function serves any number of views and few arguments do.

The caller keeps the memory alive and knows how much of it there is. Pointers know neither length nor
negative places, which leaves a fraction of the code that arrays make: the phases compile in less time.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


def _pointer_to(dtype: Any) -> Any:
    """(type of the pointer, code for it), given an address."""
    pointer = types.CPointer(dtype)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(pointer))

    return pointer, generate


@intrinsic
def numbers_at(typing: Any, address: Any, like: Any) -> Any:
    """Numbers of the type `like` that lie there."""
    pointer, generate = _pointer_to(like.dtype)
    return pointer(types.int64, like), generate


@intrinsic
def floats_at(typing: Any, address: Any) -> Any:
    """Numbers of float64."""
    pointer, generate = _pointer_to(types.float64)
    return pointer(types.int64), generate


@intrinsic
def narrow_at(typing: Any, address: Any) -> Any:
    """Numbers of float32."""
    pointer, generate = _pointer_to(types.float32)
    return pointer(types.int64), generate


@intrinsic
def whole_at(typing: Any, address: Any) -> Any:
    """Numbers of int64."""
    pointer, generate = _pointer_to(types.int64)
    return pointer(types.int64), generate


@intrinsic
def labels_at(typing: Any, address: Any) -> Any:
    """Numbers of int32."""
    pointer, generate = _pointer_to(types.int32)
    return pointer(types.int64), generate


@intrinsic
def flags_at(typing: Any, address: Any) -> Any:
    """Truth values, a byte each."""
    pointer, generate = _pointer_to(types.uint8)
    return pointer(types.int64), generate


@intrinsic
def copy(typing: Any, source: Any, target: Any, n_bytes: Any) -> Any:
    """Copy bytes from an address to another."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        there, here = (builder.inttoptr(arguments[n], ir.IntType(8).as_pointer()) for n in (1, 0))
        cgutils.raw_memcpy(builder, there, here, arguments[2], 1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


@intrinsic
def wipe(typing: Any, address: Any, n_bytes: Any) -> Any:
    """Set bytes to zero, which is 0 in every type."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        there = builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())
        cgutils.memset(builder, there, arguments[1], 0)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@intrinsic
def fetch(typing: Any, address: Any) -> Any:
    """Have the cache line there brought near, since it will be read soon."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(
            function, [builder.inttoptr(arguments[0], byte), *(ir.Constant(number, n) for n in (0, 3, 1))]
        )
        return context.get_dummy_value()

    return types.void(types.int64), generate


@intrinsic
def call(
    typing: Any, address: Any, desk: Any, room: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any
) -> Any:
    """Call the function that lies there (kinds.py): tables and whole numbers in, a whole number out.

    It is called as compiled functions call each other, and raises nothing.
    """
    kinds = [types.int64] * 9

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        convention = context.call_conv
        kind = convention.get_function_type(types.int64, kinds)
        function = builder.inttoptr(arguments[0], kind.as_pointer())
        return convention.call_function(builder, function, types.int64, kinds, arguments[1:])[1]

    return types.int64(types.int64, *kinds), generate


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
