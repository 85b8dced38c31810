"""The command line `viewpass`; it uses the public API only."""

from __future__ import annotations

import sys

from viewpass.cli.stopping import signals
from viewpass.errors import missing_extra


def main() -> None:
    """Run the command line; the console entry point, which takes over the signals of the process."""
    signals.take_over()
    try:
        from viewpass.cli.app import app
    except ModuleNotFoundError as absent:
        if absent.name not in ("typer", "rich"):
            raise
        sys.exit(f"viewpass: {missing_extra(absent.name, 'cli', 'the command viewpass')}")
    try:
        app(prog_name="viewpass")
    except SystemExit as end:
        signals.ended(end.code if isinstance(end.code, int) else 1)
        raise
