"""Charts where they can be drawn: matplotlib is an extra."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any


def draw_if_possible(chart: str, found: Any, folder: Path) -> None:
    """Let the module of that name draw what was found, or say why there is no chart."""
    try:
        module = import_module(chart)
    except ImportError:
        print("no chart: matplotlib is not installed (extra `bench`)", file=sys.stderr)
        return
    module.draw(found, folder)
