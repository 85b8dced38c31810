"""Which module computes: the compiled `viewpass._native`, or its NumPy specification where that is absent.

Both have the same names (see `viewpass/_native.pyi`) and give the same results, the specification slowly.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from types import ModuleType
from typing import Any

from viewpass.kernels import reference as specification
from viewpass.kernels.reference.step import FROM_CENTRES, FROM_COUNTED, FROM_LABELS, FROM_SOFT_CENTRES

__all__ = ["FROM_CENTRES", "FROM_COUNTED", "FROM_LABELS", "FROM_SOFT_CENTRES", "backend", "native"]

COST = "It runs on the NumPy reference, some 50 to 100 times slower, with the same results."
REMEDY = (
    "To compile it, install a C++ compiler and Python's headers (Debian: apt install g++ python3-dev, "
    "Fedora: gcc-c++ python3-devel, macOS: xcode-select --install, Windows: Visual Studio Build Tools)"
)

_warned = False


def find(name: str = "viewpass._native") -> tuple[ModuleType | None, str]:
    """Import the compiled module.

    Returns
    -------
    module : module or None
    reason : str
        Why there is no module; empty where there is one.
    """
    try:
        return import_module(name), ""
    except ModuleNotFoundError as error:
        if error.name == name:
            return None, "it was not compiled when viewpass was installed"
        return None, f"it could not be loaded ({error})"
    except ImportError as error:  # compiled for another Python or another system library
        return None, f"it could not be loaded ({error})"


native, reason = find()


def warn_if_not_compiled() -> None:
    """Warn, once per process, that there is no compiled module, what that costs and what to do."""
    global _warned
    if native is not None or _warned:
        return
    _warned = True
    warnings.warn(
        f"viewpass has no compiled module: {reason}. {COST} {REMEDY}, then install viewpass again "
        "(pip install --force-reinstall --no-cache-dir --no-deps).",
        RuntimeWarning,
        stacklevel=2,
    )


def backend(reference: bool = False) -> Any:
    """The module that computes."""
    if reference:
        return specification
    if native is None:
        warn_if_not_compiled()
        return specification
    return native
