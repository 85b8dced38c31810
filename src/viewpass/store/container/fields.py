"""Take what a file holds apart, refusing everything that is not as it should be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from viewpass.errors import FileError
from viewpass.kernels.grid import Array


class Fields:
    """A mapping from a file, whose values are asked for by name and type."""

    def __init__(self, values: Any, arrays: Mapping[str, Array]) -> None:
        if not isinstance(values, dict):
            raise FileError("a mapping was expected.")
        self.values = values
        self.arrays = arrays

    def need(self, sound: bool, name: str) -> None:
        """Refuse the file unless `sound`."""
        if not sound:
            raise FileError(f"its field {name!r} makes no sense.")

    def get(self, name: str) -> Any:
        """A value of any kind."""
        self.need(name in self.values, name)
        return self.values[name]

    def part(self, name: str) -> Fields:
        """A mapping within this one."""
        return Fields(self.get(name), self.arrays)

    def number(self, name: str, *, least: int = 0, most: int = 2**62) -> int:
        """A whole number."""
        value = self.get(name)
        self.need(type(value) is int and least <= value <= most, name)
        return int(value)

    def decimal(self, name: str) -> float:
        """A number that is not negative."""
        value = self.get(name)
        self.need(type(value) in (int, float) and value >= 0, name)
        return float(value)

    def text(self, name: str) -> str:
        """Text."""
        value = self.get(name)
        self.need(type(value) is str, name)
        return str(value)

    def truth(self, name: str) -> bool:
        """True or False."""
        value = self.get(name)
        self.need(type(value) is bool, name)
        return bool(value)

    def list(self, name: str, *kinds: type | None) -> list[Any]:
        """A list, of values of some kinds."""
        values = self.get(name)
        self.need(type(values) is list, name)
        types = [type(None) if kind is None else kind for kind in kinds]
        self.need(not types or all(type(value) in types for value in values), name)
        return list(values)

    def array(self, name: str, dtype: Any, shape: tuple[int | None, ...]) -> Array:
        """An array; a None in `shape` is any length."""
        self.need(name in self.arrays, name)
        array = self.arrays[name]
        fits = array.dtype == dtype and array.ndim == len(shape)
        fits = fits and all(want is None or want == has for want, has in zip(shape, array.shape, strict=True))
        self.need(fits, name)
        return array
