"""Access to the contents of a file by name and type, which refuses values that are not as expected."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from viewpass.errors import FileError
from viewpass.kernels.grid import Array

T = TypeVar("T")

MOST_DECIMAL = float(np.finfo(np.float64).max)
MOST_REPEATS = (
    10**6
)  # n_init and max_iter: hours of the smallest data, and a damaged file cannot ask for more
MOST_COUNTED = 2**53  # rows, columns, steps: whole numbers that are exact as float64, too


class Rule(NamedTuple):
    """What an array must be: its type, its lengths by name or number ("K d 2"; "*" is any), its range."""

    dtype: Any  # or a tuple of those it may be
    shape: str
    least: float = -math.inf
    most: float = math.inf
    finite: bool = True


class Fields:
    """A mapping read from a file, with the arrays of the file."""

    def __init__(self, values: Any, arrays: Mapping[str, Array]) -> None:
        if not isinstance(values, dict):
            raise FileError("a mapping was expected.")
        self.values = values
        self.arrays = arrays

    def need(self, sound: bool, name: str) -> None:
        """Refuse the file unless `sound`."""
        if not sound:
            raise FileError(f"its field {name!r} is invalid.")

    def get(self, name: str) -> Any:
        """Return a value of any kind."""
        self.need(name in self.values, name)
        return self.values[name]

    def _of(self, name: str, kind: type) -> Any:
        value = self.get(name)
        self.need(type(value) is kind, name)
        return value

    def part(self, name: str) -> Fields:
        """Return a nested mapping."""
        return Fields(self.get(name), self.arrays)

    def within(self, name: str) -> Fields:
        """Return a nested mapping whose arrays are stored under its name (`store_within`)."""
        start = f"{name}."
        own = {key[len(start) :]: array for key, array in self.arrays.items() if key.startswith(start)}
        return Fields(self.get(name), own)

    def maybe(self, name: str, read: Callable[[Fields], T]) -> T | None:
        """Read a nested mapping, or return None where it is none."""
        return None if self.get(name) is None else read(self.part(name))

    def number(self, name: str, *, least: int = 0, most: int = MOST_COUNTED) -> int:
        """Return an integer."""
        value = self._of(name, int)
        self.need(least <= value <= most, name)
        return int(value)

    def number_or_none(self, name: str, *, least: int = 0) -> int | None:
        """Return an integer or None."""
        return None if self.get(name) is None else self.number(name, least=least)

    def decimal(self, name: str) -> float:
        """Return a finite number that is not negative."""
        value = self.get(name)
        self.need(type(value) in (int, float) and 0 <= value <= MOST_DECIMAL, name)
        return float(value)

    def text(self, name: str) -> str:
        """Return a text."""
        return str(self._of(name, str))

    def truth(self, name: str) -> bool:
        """Return True or False."""
        return bool(self._of(name, bool))

    def list(self, name: str, *kinds: type | None) -> list[Any]:
        """Return a list, whose values must be of the given kinds."""
        values = self._of(name, list)
        types = [type(None) if kind is None else kind for kind in kinds]
        self.need(not types or all(type(value) in types for value in values), name)
        return list(values)

    def array(self, name: str, rule: Rule, **lengths: int | None) -> Array:
        """Return an array that follows the rule; a length that is None may be any."""
        self.need(name in self.arrays, name)
        array = self.arrays[name]
        wanted = [
            None if length == "*" else int(length) if length.isdigit() else lengths[length]
            for length in rule.shape.split()
        ]
        dtypes = rule.dtype if isinstance(rule.dtype, tuple) else (rule.dtype,)
        fits = array.dtype in dtypes and array.ndim == len(wanted)
        fits = fits and all(
            want is None or want == has for want, has in zip(wanted, array.shape, strict=True)
        )
        self.need(fits, name)
        if rule.finite and array.size and array.dtype != np.bool_:
            least, most = array.min(), array.max()  # NaN, if there is one
            within = rule.least <= least and most <= rule.most
            self.need(bool(within) and math.isfinite(least) and math.isfinite(most), name)
        return array

    def array_of(self, name: str, rules: Mapping[str, Rule], **lengths: int | None) -> Array:
        """Return an array by the rule of its name, without the number of the view at its end."""
        return self.array(name, rules[name.split(".")[0]], **lengths)


def store_each(arrays: dict[str, Array], parts: Sequence[Any], **names: str) -> None:
    """Store attributes of the part of each view, those that it has, as arrays "name.v"; INOUT arrays."""
    for v, part in enumerate(parts):
        for name, attribute in names.items():
            if (value := getattr(part, attribute, None)) is not None:
                arrays[f"{name}.{v}"] = np.asarray(value)


def store_within(arrays: dict[str, Array], name: str, own: Mapping[str, Array]) -> None:
    """Store arrays under a name of their own (`Fields.within`); INOUT arrays."""
    arrays |= {f"{name}.{key}": array for key, array in own.items()}
