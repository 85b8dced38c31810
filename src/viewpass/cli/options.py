"""Options and arguments that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer


def option(metavar: str, help: str, *names: str, **more: Any) -> Any:
    """An option with a value, as it appears in the help."""
    return typer.Option(*names, metavar=metavar, help=help, **more)


def flag(name: str, help: str) -> Any:
    """An option without a value."""
    return typer.Option(name, help=help)


Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA",
        show_default=False,
        help="Files (Parquet, Feather, CSV, npz, mat), glob patterns, folders or URLs; or NAME=FILE.npy for "
        "each view.",
    ),
]
Views = Annotated[
    list[str] | None,
    option(
        "NAME=COLUMNS",
        "The columns of a view: COLUMN, PREFIX*, FIRST:LAST, A,B,C, or COLUMN/WIDTH for a sparse one. "
        "Repeat for each view. By default every list column is a view.",
        "--views",
        show_default=False,
    ),
]
Id = Annotated[str | None, option("COLUMN", "Column with row ids; by default rows are numbered.")]
Keep = Annotated[
    str | None,
    option(
        "COLUMNS",
        "Columns of the data to write beside the labels, as in title,year.",
        "--keep",
        show_default=False,
    ),
]
Threads = Annotated[
    int | None,
    option("N", "Number of threads; by default one per processor. Does not affect the result.", min=1),
]
AsJson = Annotated[bool, flag("--json", "Print JSON, one object per line.")]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", show_default=False, help="A model file.")]
RunPath = Annotated[
    Path, typer.Argument(metavar="RUN", show_default=False, help="A run folder, or a label file.")
]
Force = Annotated[bool, flag("--force", "Overwrite FILE if it exists.")]
