"""The compiled core, or None where nothing was compiled."""

from __future__ import annotations

try:
    from viewpass import _native as native
except ImportError:
    native = None
