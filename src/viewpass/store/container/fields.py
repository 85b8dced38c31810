"""Access to the contents of a file by name and type, which refuses values that are not as expected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from viewpass.errors import FileError
from viewpass.kernels.grid import Array


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

    def number(self, name: str, *, least: int = 0, most: int = 2**62) -> int:
        """Return an integer."""
        value = self._of(name, int)
        self.need(least <= value <= most, name)
        return int(value)

    def decimal(self, name: str) -> float:
        """Return a number that is not negative."""
        value = self.get(name)
        self.need(type(value) in (int, float) and value >= 0, name)
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

    def array(self, name: str, dtype: Any, shape: tuple[int | None, ...]) -> Array:
        """Return an array; None in `shape` is any length."""
        self.need(name in self.arrays, name)
        array = self.arrays[name]
        fits = array.dtype == dtype and array.ndim == len(shape)
        fits = fits and all(want is None or want == has for want, has in zip(shape, array.shape, strict=True))
        self.need(fits, name)
        return array
