"""Conversion of settings and names to JSON and arrays, and back.

Finite numbers, text, True, False and None are JSON values. Everything else is a mapping whose one key is
the kind of the value; arrays are stored in the file's arrays under a name of their own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from viewpass.errors import FileError
from viewpass.kernels.grid import Array
from viewpass.store.container.body import DTYPES
from viewpass.store.container.generators import generator_from, generator_state


def to_plain(value: Any, name: str, arrays: dict[str, Array]) -> Any:
    """Convert `value` to JSON; `name` is used in error messages and as a key of `arrays`."""
    if isinstance(value, np.generic) and not isinstance(value, np.void):
        value = value.item()
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"float": str(float(value))}
    if isinstance(value, list | tuple):
        parts = [to_plain(part, f"{name}.{place}", arrays) for place, part in enumerate(value)]
        return {"tuple" if isinstance(value, tuple) else "list": parts}
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {"dict": {key: to_plain(part, f"{name}.{key}", arrays) for key, part in value.items()}}
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "iu":
            value = value.astype(np.int64)
        if value.dtype in DTYPES.values():
            arrays[name] = value
            return {"array": name}
    if isinstance(value, np.random.Generator | np.random.RandomState):
        return {"random": generator_state(value)}
    raise FileError(
        f"{name} is of type {type(value).__name__}, which a model file cannot hold. "
        "Use numbers, text, arrays of numbers, or lists of these."
    )


def from_plain(value: Any, arrays: Mapping[str, Array]) -> Any:
    """Convert back from JSON, or raise FileError."""
    if not isinstance(value, dict):
        if isinstance(value, list):
            raise FileError("there is a list where none is allowed.")
        return value
    if len(value) != 1:
        raise FileError("a value is of an unknown kind.")
    ((kind, content),) = value.items()
    if kind == "float" and content in ("inf", "-inf", "nan"):
        return float(content)
    if kind in ("list", "tuple") and isinstance(content, list):
        parts = [from_plain(part, arrays) for part in content]
        return parts if kind == "list" else tuple(parts)
    if kind == "dict" and isinstance(content, dict):
        return {key: from_plain(part, arrays) for key, part in content.items()}
    if kind == "array" and isinstance(content, str) and content in arrays:
        return arrays[content]
    if kind == "random":
        return generator_from(content)
    raise FileError(f"a value of kind {kind!r} is invalid.")
