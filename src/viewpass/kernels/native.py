"""The compiled core; None where it could not be built."""

from __future__ import annotations

from types import ModuleType

native: ModuleType | None
try:
    from viewpass import _native as native
except ImportError:
    native = None
