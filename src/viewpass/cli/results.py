"""Commands for what a run has found: report, names, diff, join, sample, dedup."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from viewpass.cli.arguments import AsJson, Data, Force, NoRows, RunPath, Threads, Views, flag, option
from viewpass.cli.group import app


@app.command(epilog="Example:  viewpass report run --out found.html")
def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", show_default=False, help="A run folder.")],
    out: Annotated[
        Path | None, option("FILE", "Page to write; by default RUN/report.html.", show_default=False)
    ] = None,
    no_rows: NoRows = False,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Draw what a run has found as one HTML page.

    The page shows a map of some rows, the clusters with typical and doubtful
    rows, which view decides, missing views, what was chosen and why, and what to
    try next. It needs no network and has at most 2 MB.
    """
    from viewpass.cli.pages import run_report

    run_report(run, out, rows=not no_rows, force=force, as_json=as_json)


@app.command(epilog="Example:  viewpass names run 3='machine translation' 7=dialogue")
def names(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL|RUN", show_default=False, help="A model file, or a run folder.")
    ],
    given: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NUMBER=NAME", show_default=False, help="A cluster and its name; NUMBER= takes it away."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the names of clusters, or give them others.

    The names are in the model: predict, join, sample, diff, inspect and report
    show them, and update keeps them. Nothing is fitted again.
    """
    from viewpass.cli.tables import run

    run(model, given or [], as_json=as_json)


@app.command(epilog="Example:  viewpass diff yesterday today --out diff.html")
def diff(
    first: Annotated[
        Path, typer.Argument(metavar="RUN1", show_default=False, help="A run folder, or a label file.")
    ],
    second: Annotated[Path, typer.Argument(metavar="RUN2", show_default=False, help="Another one.")],
    out: Annotated[Path | None, option("FILE", "HTML page to write, too.", show_default=False)] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Compare two runs: which clusters correspond, and which rows moved where.

    Rows are matched by id if both runs were fitted with --id, otherwise by number.
    """
    from viewpass.cli.pages import run_diff

    run_diff(first, second, out, force=force, as_json=as_json)


@app.command(epilog="Example:  viewpass join run items.parquet --out labelled.parquet")
def join(
    run: RunPath,
    data: Data,
    out: Annotated[
        Path,
        option("FILE", "Table to write: .parquet, .csv, .jsonl, .arrow or .feather.", show_default=False),
    ],
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Add the labels of a run to its table.

    FILE has all columns of DATA and those of the labels. If the run was fitted with
    --id, rows are matched by id, in any order; DATA may be a part of the table.
    Otherwise they are matched by number. If they do not fit, nothing is written.
    """
    from viewpass.cli.arguments import open_data
    from viewpass.cli.tables import run_join

    run_join(run, open_data(data, [], None), out, force=force, as_json=as_json)


@app.command(epilog="Example:  viewpass sample run --per-cluster 20 --doubtful --out to-label.csv")
def sample(
    run: RunPath,
    out: Annotated[
        Path, option("FILE", "File to write: .parquet, .csv, .jsonl, .arrow or .feather.", show_default=False)
    ],
    per_cluster: Annotated[int, option("N", "Rows of each cluster, at most.", min=1)] = 10,
    doubtful: Annotated[
        bool, flag("--doubtful", "Take the rows of the lowest confidence, not random ones.")
    ] = False,
    seed: Annotated[int, option("N", "Random seed.", min=0)] = 0,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Draw rows of each cluster: balanced ones, or the least sure.

    FILE has the columns of the label file, for example to be labelled by hand or
    to train on. Fit with --keep to have more columns in it.
    """
    from viewpass.cli.tables import run_sample

    run_sample(run, out, per_cluster, doubtful=doubtful, seed=seed, force=force, as_json=as_json)


@app.command(epilog="Example:  viewpass dedup run items.parquet --threshold 0.98 --out pairs.parquet")
def dedup(
    run: Annotated[Path, typer.Argument(metavar="RUN", show_default=False, help="A run folder.")],
    data: Data,
    threshold: Annotated[
        float,
        option(
            "T",
            "Least similarity of a pair: the mean cosine over the views that both rows have.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path, option("FILE", "File to write: .parquet, .csv, .jsonl, .arrow or .feather.", show_default=False)
    ],
    views: Views = None,
    threads: Threads = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Find near-duplicates: rows of a cluster that are almost the same.

    FILE has the row numbers (and ids) of each pair, its cluster and its
    similarity. DATA is what the run was fitted to; its rows are matched as by
    join. While they are compared they are staged in the folder of FILE.
    """
    from viewpass.cli.arguments import open_data
    from viewpass.cli.tables import run_dedup

    source = open_data(data, views or [], None)
    run_dedup(run, source, out, threshold=threshold, threads=threads, force=force, as_json=as_json)
