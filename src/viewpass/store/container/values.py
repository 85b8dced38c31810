"""Conversion of settings and names to JSON and arrays, and back.

Finite numbers, text, True, False and None are JSON values. Everything else is a mapping whose one key is
the kind of the value; arrays are stored in the file's arrays under a name of their own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from viewpass.errors import FileError
from viewpass.kernels.grid import Array
from viewpass.store.container.frame import DTYPES


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


Random: TypeAlias = np.random.Generator | np.random.RandomState

BIT_GENERATORS = {
    name: getattr(np.random, name) for name in ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
}
# Positions within a buffer of the generator: NumPy does not check them, and would read beyond its end.
MOST_POSITION = {"pos": 624, "buffer_pos": 4, "has_uint32": 1, "uinteger": 2**32 - 1, "has_gauss": 1}


def generator_state(random: Random) -> dict[str, Any]:
    """Return the kind and state of a generator."""
    legacy = isinstance(random, np.random.RandomState)
    state: Any = random.get_state(legacy=False) if legacy else random.bit_generator.state  # type: ignore[union-attr]
    if state["bit_generator"] not in BIT_GENERATORS:
        raise FileError(f"a generator of kind {state['bit_generator']} cannot be written to a model file.")
    return {"legacy": legacy, "state": _listed(state)}


def generator_from(stored: Any) -> Random:
    """Restore a generator, or raise FileError."""
    try:
        state, legacy = stored["state"], stored["legacy"]
        template = BIT_GENERATORS[state["bit_generator"]](0)
        if legacy:
            old = np.random.RandomState(template)
            old.set_state(_like(state, old.get_state(legacy=False)))
            return old
        template.state = _like(state, template.state)
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as problem:
        raise FileError(f"the state of a random generator is invalid ({problem}).") from problem
    return np.random.Generator(template)


def _listed(state: Any) -> Any:
    if isinstance(state, dict):
        return {key: _listed(value) for key, value in state.items()}
    return state.tolist() if isinstance(state, np.ndarray | np.generic) else state


def _like(stored: Any, template: Any, name: str = "") -> Any:
    """Return the stored state if it has the structure and types of `template`."""
    if isinstance(template, dict):
        if not isinstance(stored, dict) or stored.keys() != template.keys():
            raise ValueError("its keys are not those of its kind")
        return {key: _like(stored[key], part, key) for key, part in template.items()}
    if isinstance(template, np.ndarray):
        if not isinstance(stored, list) or not all(type(number) is int for number in stored):
            raise TypeError(f"{name} is not a list of whole numbers")
        array = np.array(stored, dtype=template.dtype)
        if array.shape != template.shape:
            raise ValueError(f"{name} has another length")
        return array
    wanted = float if isinstance(template, float) else type(template)
    if type(stored) is not wanted:
        raise TypeError(f"{name} is not of type {wanted.__name__}")
    if isinstance(stored, int) and not 0 <= stored <= MOST_POSITION.get(name, 2**128 - 1):
        raise ValueError(f"{name} is out of range")
    return stored
