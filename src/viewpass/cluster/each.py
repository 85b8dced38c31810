"""A setting for each view: a list in the order of the views, or a dict by their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from viewpass.errors import SettingError


def for_each_view(given: Any, names: tuple[str, ...], setting: str) -> list[Any] | None:
    """The values in the order of the views; None if it is neither list nor dict."""
    if isinstance(given, Mapping):
        by_name = {str(name): value for name, value in given.items()}
        if set(by_name) != set(names):
            raise SettingError(
                f"{setting} is given for {', '.join(map(repr, by_name)) or 'no view'}; "
                f"the views are {', '.join(map(repr, names))}."
            )
        return [by_name[name] for name in names]
    if not isinstance(given, list | tuple):
        return None
    if len(given) != len(names):
        raise SettingError(f"{setting} has {len(given)} entries, the data has {len(names)} views.")
    return list(given)
