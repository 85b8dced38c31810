"""Check what a user gives as `scale`: a name, or one for each view."""

from __future__ import annotations

from typing import Any

from viewpass.cluster.each import for_each_view
from viewpass.errors import SettingError
from viewpass.views.scaling import NAMES

KNOWN = ", ".join(map(repr, NAMES))


def checked_scale(scale: Any, names: tuple[str, ...]) -> tuple[str, ...]:
    """The name of a scale for every view."""
    if isinstance(scale, str):
        return (_checked(scale, "scale="),) * len(names)
    each = for_each_view(scale, names, "scale")
    if each is not None:
        pairs = zip(names, each, strict=True)
        return tuple(_checked(value, f"scale of view {name!r}: ") for name, value in pairs)
    raise SettingError(f"scale={scale!r}: one of {KNOWN}, or a list or dict with one for each view.")


def _checked(value: Any, where: str) -> str:
    if not isinstance(value, str) or value not in NAMES:
        raise SettingError(f"{where}{value!r}: one of {KNOWN} was expected.")
    return value
