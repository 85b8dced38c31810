"""What is done to the rows of one view, compiled for the kind and the type of its numbers.

The phases call these by address: they are compiled once, whatever the rows are made of.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from viewpass.kernels.chunk import dense, sparse
from viewpass.kernels.compiling import callback, once

NAMES = ("measure", "look", "pair", "dots", "add", "pick")  # in the order of the desk
NARROW = "narrow_pair"  # for float32 rows only

_SIGNATURE = types.int64(*[types.int64] * 9)
_TYPES = {"float32": np.float32, "float64": np.float64, "int32": np.int32, "int64": np.int64}


@once
def _compiled(name: str, *numbers: str) -> Any:
    kind: Any = dense if len(numbers) == 1 else sparse
    if name == "pick":
        return callback(getattr(kind, name), _SIGNATURE, kind.__name__)
    made = kind.functions(*(_TYPES[one] for one in numbers))
    return callback(made[name], _SIGNATURE, "_".join(numbers))


def addresses(*numbers: str) -> list[int]:
    """Where the functions lie, for dense rows of a type or CSR rows of (values, columns)."""
    return [_compiled(name, *numbers).address for name in NAMES]


def narrow_address(*numbers: str) -> int:
    """Where the products of float32 rows with single centres lie; 0 for other rows."""
    return int(_compiled(NARROW, *numbers).address) if numbers == ("float32",) else 0
