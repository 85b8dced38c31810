"""Check what a user gives as `view_weights`: None, "auto", or a number for each view."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np

from viewpass.cluster.each import for_each_view
from viewpass.core.weighing import LEAST, Weights, relative
from viewpass.errors import SettingError


def checked_weights(given: Any, names: tuple[str, ...]) -> Weights | str | None:
    """Weights by the largest of them, "auto", or None where all views count the same."""
    if given is None or (isinstance(given, str) and given == "auto"):
        return given
    if isinstance(given, np.ndarray) and given.ndim == 1:
        given = given.tolist()
    each = for_each_view(given, names, "view_weights")
    if each is None:
        raise SettingError(
            f"view_weights={given!r}: None, 'auto', or a list or dict with a number for each view."
        )
    weights = [_checked(value, name) for value, name in zip(each, names, strict=True)]
    largest = max(weights)
    if largest == 0:
        raise SettingError("view_weights are all 0: at least one view must count.")
    for weight, name in zip(weights, names, strict=True):
        if 0 < weight < LEAST * largest:
            raise SettingError(
                f"view_weights, view {name!r}: {weight:g} is less than a millionth of the largest. "
                "Use 0 to leave the view out."
            )
    return relative(weights)


def _checked(value: Any, name: str) -> float:
    number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    if not number or not math.isfinite(value) or value < 0:
        raise SettingError(f"view_weights, view {name!r}: {value!r}: a number from 0 on was expected.")
    return float(value)
