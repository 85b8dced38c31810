"""Check what a user gives as `scale`: a name, or one for each view."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from viewpass.errors import SettingError
from viewpass.views.scaling import NAMES

KNOWN = ", ".join(map(repr, NAMES))


def checked_scale(scale: Any, names: tuple[str, ...]) -> tuple[str, ...]:
    """The name of a scale for every view."""
    if isinstance(scale, str):
        return (_checked(scale, "scale="),) * len(names)
    if isinstance(scale, Mapping):
        given = {str(name): value for name, value in scale.items()}
        if set(given) != set(names):
            raise SettingError(
                f"scale is given for {', '.join(map(repr, given)) or 'no view'}; "
                f"the views are {', '.join(map(repr, names))}."
            )
        return tuple(_checked(given[name], f"scale of view {name!r}: ") for name in names)
    if isinstance(scale, list | tuple):
        if len(scale) != len(names):
            raise SettingError(f"scale has {len(scale)} names, the data has {len(names)} views.")
        pairs = zip(names, scale, strict=True)
        return tuple(_checked(value, f"scale of view {name!r}: ") for name, value in pairs)
    raise SettingError(f"scale={scale!r}: one of {KNOWN}, or a list or dict with one for each view.")


def _checked(value: Any, where: str) -> str:
    if not isinstance(value, str) or value not in NAMES:
        raise SettingError(f"{where}{value!r}: one of {KNOWN} was expected.")
    return value
