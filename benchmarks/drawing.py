"""Draws charts if matplotlib, an extra, is installed."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any


def draw_if_possible(chart: str, found: Any, folder: Path) -> None:
    """Let the named module draw the results, or print why there is no chart."""
    try:
        module = import_module(chart)
    except ImportError:
        print("no chart: matplotlib is not installed (extra `bench`)", file=sys.stderr)
        return
    module.draw(found, folder)
