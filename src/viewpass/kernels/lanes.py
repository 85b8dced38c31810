"""The fixed order of adding for norms and traces (see grid.LANES), and bits on the grid, compiled."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from viewpass.kernels.grid import LANES

_POINTER = types.CPointer(types.float64)
_FOUR = ir.VectorType(ir.DoubleType(), 4)


def _new_lanes(typing: Any) -> Any:
    """Room for the lanes, while the function runs."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return cgutils.alloca_once(builder, ir.DoubleType(), size=LANES)

    return _POINTER(), generate


def _clear(typing: Any, lanes: Any) -> Any:
    """All lanes at zero.  OUT lanes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        cgutils.memset(builder, arguments[0], ir.Constant(ir.IntType(64), 8 * LANES), 0)
        return context.get_dummy_value()

    return types.void(_POINTER), generate


def _fold(typing: Any, lanes: Any) -> Any:
    """Add the lanes in halves.  IN lanes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        parts = []
        for lane in range(0, LANES, 4):
            place = builder.gep(arguments[0], [ir.Constant(ir.IntType(64), lane)])
            parts.append(builder.load(builder.bitcast(place, _FOUR.as_pointer())))
            parts[-1].align = 8
        while len(parts) > 1:
            half = len(parts) // 2
            parts = [builder.fadd(parts[n], parts[n + half]) for n in range(half)]
        a, b, c, d = (builder.extract_element(parts[0], ir.Constant(ir.IntType(32), n)) for n in range(4))
        return builder.fadd(builder.fadd(a, c), builder.fadd(b, d))

    return types.float64(_POINTER), generate


def _bits_of(typing: Any, value: Any) -> Any:
    """The bits of a float64 as a whole number."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), generate


new_lanes: Any = intrinsic(_new_lanes)
clear: Any = intrinsic(_clear)
fold: Any = intrinsic(_fold)
bits_of: Any = intrinsic(_bits_of)
