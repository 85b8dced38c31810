"""The compiled core; None where it could not be built."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

native: ModuleType | None
try:
    native = import_module("viewpass._native")
except ImportError:
    native = None
