"""Conversion of NumPy's random generators to JSON and back: a resumed stream draws the same numbers."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from viewpass.errors import FileError

Random: TypeAlias = np.random.Generator | np.random.RandomState

KINDS = {name: getattr(np.random, name) for name in ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")}
# Positions within a buffer of the generator: NumPy does not check them, and would read beyond its end.
MOST = {"pos": 624, "buffer_pos": 4, "has_uint32": 1, "uinteger": 2**32 - 1, "has_gauss": 1}


def generator_state(random: Random) -> dict[str, Any]:
    """Return the kind and state of a generator."""
    legacy = isinstance(random, np.random.RandomState)
    state: Any = random.get_state(legacy=False) if legacy else random.bit_generator.state  # type: ignore[union-attr]
    if state["bit_generator"] not in KINDS:
        raise FileError(f"a generator of kind {state['bit_generator']} cannot be written to a model file.")
    return {"legacy": legacy, "state": _listed(state)}


def generator_from(stored: Any) -> Random:
    """Restore a generator, or raise FileError."""
    try:
        state, legacy = stored["state"], stored["legacy"]
        template = KINDS[state["bit_generator"]](0)
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
    if isinstance(stored, int) and not 0 <= stored <= MOST.get(name, 2**128 - 1):
        raise ValueError(f"{name} is out of range")
    return stored
