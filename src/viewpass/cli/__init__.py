"""The command line `viewpass`; it uses the public API only."""

from __future__ import annotations

import sys

from viewpass.errors import missing_extra


def main() -> None:
    """Run the command line; the console entry point."""
    try:
        from viewpass.cli.app import app
    except ModuleNotFoundError as absent:
        if absent.name not in ("typer", "rich"):
            raise
        sys.exit(f"viewpass: {missing_extra(absent.name, 'cli', 'the command viewpass')}")
    app(prog_name="viewpass")
