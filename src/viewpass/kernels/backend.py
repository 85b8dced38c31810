"""Which module computes: the compiled core, or its NumPy specification where nothing is compiled."""

from __future__ import annotations

from typing import Any

from viewpass.kernels import reference as specification
from viewpass.kernels.native import native, warn_if_not_compiled

# How a chunk begins (native/chunk_step.hpp).
FROM_CENTRES, FROM_SOFT_CENTRES, FROM_LABELS, FROM_COUNTED = range(4)


def backend(reference: bool = False) -> Any:
    """The module that computes; both have the same names (see `viewpass/_native.pyi`)."""
    if reference:
        return specification
    if native is None:
        warn_if_not_compiled()
        return specification
    return native
