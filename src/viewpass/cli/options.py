"""Options and arguments that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

DATA, CLUSTERS, OUTPUT, RUN = "Data", "Clusters", "Output", "Run"  # groups of options of fit


def option(metavar: str, help: str, *names: str, panel: str | None = None, **more: Any) -> Any:
    """An option with a value, as it appears in the help."""
    more = {"show_default": False, **more} if panel else more
    return typer.Option(*names, metavar=metavar, help=help, rich_help_panel=panel, **more)


def flag(name: str, help: str, panel: str | None = None) -> Any:
    """An option without a value."""
    return typer.Option(name, metavar=" ", help=help, rich_help_panel=panel)


Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA",
        show_default=False,
        help="Files (Parquet, Feather, CSV, npz, mat), patterns, folders, URLs; or NAME=FILE.npy per view.",
    ),
]
Views = Annotated[
    list[str] | None,
    option(
        "NAME=COLUMNS",
        "Columns of a view: COLUMN, PREFIX*, FIRST:LAST, A,B,C, or COLUMN/WIDTH if sparse; once per view. "
        "By default every list column is one.",
        "--views",
        panel=DATA,
    ),
]
Id = Annotated[str | None, option("COLUMN", "Column of row ids; by default rows are numbered.", panel=DATA)]
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
NoRows = Annotated[bool, flag("--no-rows", "Of a run: leave out ids and rows, for data that must not leave.")]
Force = Annotated[bool, flag("--force", "Overwrite FILE if it exists.")]
