"""Commands for what a run has found: report, names, diff, join, sample, dedup."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from viewpass.cli.arguments import (
    AsJson,
    Data,
    Force,
    NoRows,
    RunPath,
    Threads,
    Views,
    check_absent,
    check_out,
    flag,
    open_data,
    option,
    parsed_name,
)
from viewpass.cli.group import app
from viewpass.cli.stopping import signals
from viewpass.errors import FileError, SettingError, printable


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
    from viewpass.runs.folder import RunFolder
    from viewpass.runs.summary import run_page, summary, write_run_page

    if out is not None:
        check_absent(out, force=force)
    folder = RunFolder(run)
    if not folder.finished:
        raise FileError(f"{run} is not the folder of a finished run.")
    found = summary(run, rows=not no_rows)
    if out is None:
        write_run_page(folder, found)
    else:
        run_page(run, found).write(out)
    page = folder.page if out is None else out
    _told(f"report: {page}", as_json=as_json, run=str(run), out=str(page))


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
    from viewpass.estimators.persistence import load
    from viewpass.runs.folder import RunFolder

    file = RunFolder(model).model if model.is_dir() else model
    estimator = load(file)
    if not hasattr(type(estimator), "cluster_names_"):
        raise SettingError(f"{file} holds {type(estimator).__name__}, whose clusters have no names.")
    names, n_clusters = dict(estimator.cluster_names_), estimator._fitted_model().n_clusters
    for word in given or []:
        cluster, name = parsed_name(word, n_clusters)
        names.pop(cluster, None)
        names |= {cluster: name} if name else {}
    if names != estimator.cluster_names_:
        estimator.cluster_names_ = names
        with signals.finishing():
            estimator.save(file)
    if as_json:
        typer.echo(json.dumps({str(k): names[k] for k in sorted(names)}, ensure_ascii=False))
        return
    width = len(str(n_clusters - 1))
    lines = [f"{k:>{width}}  {names.get(k, '')}".rstrip() for k in range(n_clusters)]
    if given and model.is_dir():
        lines.append(f"report.html is drawn with them by: viewpass report {model}")
    typer.echo("\n".join(map(printable, lines)))


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
    from viewpass.cli.diff import diff_lines
    from viewpass.report.page import comparison_page
    from viewpass.runs.diff import compare
    from viewpass.runs.labels import RunLabels

    if out is not None:
        check_absent(out, force=force)
    found = compare(RunLabels(first), RunLabels(second))
    if out is not None:
        comparison_page(found).write(out)
    typer.echo(json.dumps(found) if as_json else "\n".join(map(printable, diff_lines(found))))


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
    from viewpass.cli.progress import working
    from viewpass.runs import tables
    from viewpass.runs.labels import RunLabels

    source = open_data(data, [], None)
    check_out(out, force=force)
    with working(as_json=as_json) as (_, show):
        n_rows = tables.join(RunLabels(run), source, out, lambda done: show(done, source.n_rows, "joining"))
    _told(f"{n_rows:,} rows with their labels: {out}", as_json=as_json, rows=n_rows, out=str(out))


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
    from viewpass.labels.formats import TableFile
    from viewpass.runs import tables
    from viewpass.runs.labels import RunLabels
    from viewpass.store.container.files import replacing

    check_out(out, force=force)
    drawn = tables.sample(RunLabels(run), per_cluster, doubtful=doubtful, seed=seed)
    with replacing(out) as file, TableFile(out, file) as written:
        written.write(drawn)
    _told(f"{len(drawn):,} rows: {out}", as_json=as_json, rows=len(drawn), out=str(out))


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
    from viewpass.cli.progress import working
    from viewpass.estimators.persistence import load
    from viewpass.runs import duplicates
    from viewpass.runs.folder import RunFolder
    from viewpass.runs.labels import RunLabels

    source = open_data(data, views or [], None)
    check_out(out, force=force)
    labels, model = RunLabels(run), load(RunFolder(run).model).set_params(n_threads=threads)
    with working(as_json=as_json) as (_, show):
        n_pairs, n_rows = duplicates.dedup(
            labels, model, source, out, threshold, lambda what, done: show(done, labels.n_rows, what)
        )
    said = f"{n_pairs:,} pairs among {n_rows:,} rows: {out}"
    _told(said, as_json=as_json, pairs=n_pairs, rows=n_rows, out=str(out))


def _told(text: str, *, as_json: bool, **figures: Any) -> None:
    """Say what was done: a line for people, or JSON for programs."""
    from viewpass.cli.progress import display

    with display(as_json=as_json) as shown:
        shown.say(text)
        shown.end("finished", **figures)
