"""`viewpass summary`: the summary of a run as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from viewpass.cli.predict import check_absent
from viewpass.runs.summary import summary
from viewpass.store.container.files import naming, replacing


def run(path: Path, out: Path | None, *, rows: bool, force: bool) -> None:
    """Print the summary, or write it to a file."""
    if out is not None:
        check_absent(out, force=force)
    text = json.dumps(summary(path, rows=rows), indent=1, ensure_ascii=False)
    if out is None:
        typer.echo(text)
        return
    with replacing(out) as file, naming(out):
        file.write((text + "\n").encode())
