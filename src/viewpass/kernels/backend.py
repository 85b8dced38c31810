"""Chooses the compiled module, or its NumPy specification where it is not compiled."""

from __future__ import annotations

from typing import Any

from viewpass.kernels import reference as specification
from viewpass.kernels.native import native, warn_if_not_compiled
from viewpass.kernels.reference.step import FROM_CENTRES, FROM_COUNTED, FROM_LABELS, FROM_SOFT_CENTRES

__all__ = ["FROM_CENTRES", "FROM_COUNTED", "FROM_LABELS", "FROM_SOFT_CENTRES", "backend"]


def backend(reference: bool = False) -> Any:
    """The module that computes; both have the same names (see `viewpass/_native.pyi`)."""
    if reference:
        return specification
    if native is None:
        warn_if_not_compiled()
        return specification
    return native
