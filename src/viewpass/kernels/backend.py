"""Which module computes: the compiled `viewpass._native`, or the NumPy reference where that is absent.

Both have the same names (see `viewpass/_native.pyi`). VIEWPASS_KERNELS=reference forces the reference.
"""

from __future__ import annotations

import os
import warnings
from importlib import import_module
from types import ModuleType
from typing import Any

from viewpass.kernels import reference

_warned = False


def find(name: str = "viewpass._native") -> tuple[ModuleType | None, str]:
    """Import the compiled module.

    Returns
    -------
    module : module or None
    reason : str
        Why there is no module; empty where there is one, or none is wanted.
    """
    if os.environ.get("VIEWPASS_KERNELS") == "reference":
        return None, ""
    try:
        return import_module(name), ""
    except ModuleNotFoundError as error:
        if error.name == name:
            return None, "it was not compiled when viewpass was installed"
        return None, f"it could not be loaded ({error})"
    except ImportError as error:  # compiled for another Python or another system library
        return None, f"it could not be loaded ({error})"


native, reason = find()


def without_module() -> str:
    """What it means that there is no compiled module, and what to do."""
    return (
        f"viewpass has no compiled module: {reason}. It runs on NumPy, some 50 to 100 times slower, and "
        "clusters of ViewPass may differ a little. To compile it, install a C++ compiler and Python's "
        "headers (Debian: apt install g++ python3-dev, Fedora: gcc-c++ python3-devel, macOS: xcode-select "
        "--install, Windows: Visual Studio Build Tools), then install viewpass again (pip install "
        "--force-reinstall --no-cache-dir --no-deps)."
    )


def warn_if_not_compiled() -> None:
    """Warn, once per process, that there is no compiled module."""
    global _warned
    if native is None and not _warned and reason:
        _warned = True
        warnings.warn(without_module(), RuntimeWarning, stacklevel=3)


def backend() -> Any:
    """The module that computes."""
    if native is None:
        warn_if_not_compiled()
        return reference
    return native
