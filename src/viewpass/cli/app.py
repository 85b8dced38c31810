"""Commands and their options; each command is implemented in its own module, imported when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import rich.console
import typer

from viewpass.cli.group import app as app
from viewpass.cli.options import AsJson, Data, Id, Keep, ModelFile, Threads, Views, flag, option
from viewpass.cli.stopping import signals
from viewpass.errors import SettingError, missing_extra
from viewpass.version import __version__


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"viewpass {__version__}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, flag("--debug", "Show the traceback of an error, not only its message.")] = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Cluster multi-modal rows in one pass, even when modalities are missing.

    A row has up to several views (an image, a text, sensor readings ...), and
    many rows lack some of them. viewpass draws a sample of all rows, finds the
    clusters in it, and assigns every row to one; memory stays small.
    """


@app.command(epilog="Example:  viewpass demo --out digits --seed 7")
def demo(
    out: Annotated[Path, option("FOLDER", "Folder for the labels and the picture.")] = Path("viewpass-demo"),
    seed: Annotated[int, option("N", "Random seed: row order, removed views, initial centres.", min=0)] = 0,
    repeats: Annotated[int | None, typer.Option(min=1, hidden=True)] = None,
) -> None:
    """Cluster real handwritten digits, with 30% of each view removed.

    Computes four views of each of the 1,797 images in scikit-learn, finds ten
    clusters, and compares the result with other methods. Takes less
    than a minute and downloads nothing.

    Writes labels.csv (the cluster of each image) and clusters.png (the images of
    each cluster, which of them are wrong, and which views were missing).
    """
    from viewpass.cli.demo import run

    with signals.interrupting():
        run(out, seed, repeats, rich.console.Console(highlight=False))


@app.command(epilog="Example:  viewpass fit items/*.parquet -k 10 --id item_id --out run")
def fit(
    data: Data,
    n_clusters: Annotated[
        str, option("N", 'Number of clusters, or "auto" to estimate it.', "-k", "--clusters")
    ],
    out: Annotated[Path, option("FOLDER", "Folder for model, labels and report.")],
    views: Views = None,
    id: Id = None,
    alpha: Annotated[
        str, option("X", "Ridge on the centres, in rows, or auto to estimate one for each view.")
    ] = "auto",
    scale: Annotated[
        str,
        option(
            "NAME",
            "Scaling before rows get unit length: unit (none), standard (zero mean and unit variance "
            "per column), idf, or auto; euclidean (zero mean; rows keep their lengths); counts, composition "
            "or binary for values of these kinds; "
            "VIEW=NAME,VIEW=NAME to set it per view.",
        ),
    ] = "auto",
    missing_entries: Annotated[
        str,
        option(
            "NAME",
            "A row with some values of a view: refuse it, fill the others by the means of their columns "
            "(fill) or the values of similar rows (local).",
        ),
    ] = "refuse",
    consensus: Annotated[
        str,
        option("NAME", "What clusters are: plain (each has a centre), graph (of any shape) or auto."),
    ] = "auto",
    anchors: Annotated[
        str, option("N", "Number of anchors (small clusters that a graph links), or auto.")
    ] = "auto",
    projection: Annotated[
        str,
        option(
            "N",
            "Columns that dense views are mapped to, by a map that keeps what separates the clusters; "
            "auto or none.",
        ),
    ] = "auto",
    view_weights: Annotated[
        str, option("WEIGHTS", "View weights: none (equal), or VIEW=WEIGHT,VIEW=WEIGHT for each view.")
    ] = "none",
    sample: Annotated[
        str, option("ROWS", "Rows of the sample that everything is chosen from, or auto.", "--sample")
    ] = "auto",
    seed: Annotated[int, option("N", "Random seed.", min=0)] = 0,
    stream_labels: Annotated[
        bool,
        flag(
            "--stream-labels",
            "Read every row once, and write the labels that rows got then.",
        ),
    ] = False,
    keep: Keep = None,
    show: Annotated[
        str | None,
        option("COLUMNS", "The same as --keep, for what tables show of rows.", "--show", show_default=False),
    ] = None,
    name_by: Annotated[
        str | None,
        option(
            "COLUMNS",
            "Columns of text, categories or numbers to name clusters by, which are kept, too; or views whose "
            "columns have names (MuData), to name them by the features that differ most.",
            "--name-by",
            show_default=False,
        ),
    ] = None,
    no_report: Annotated[bool, flag("--no-report", "Do not write report.html.")] = False,
    dry_run: Annotated[
        bool, flag("--dry-run", "Draw the sample, and say what would happen; write nothing.")
    ] = False,
    resume: Annotated[
        bool, flag("--resume", "Continue the run in FOLDER, or start it if there is none.")
    ] = False,
    checkpoint_every: Annotated[int, option("N", "Write a checkpoint every N chunks.", min=1)] = 50,
    engine: Annotated[
        str, option("NAME", "Where to run: local (this process) or dask (a cluster).")
    ] = "local",
    scheduler: Annotated[
        str | None,
        option(
            "ADDRESS",
            "Address of a Dask scheduler; by default a cluster is started on this machine.",
            show_default=False,
        ),
    ] = None,
    workers: Annotated[
        int | None,
        option(
            "N",
            "With dask: processes of a cluster on this machine; by default one per processor.",
            min=1,
            show_default=False,
        ),
    ] = None,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Cluster a table of any size and write a run folder.

    FOLDER gets model.viewpass (for predict and update), labels.parquet (id,
    kept columns, cluster, distance, margin, views_seen and confidence of every
    row), run.json (settings and statistics) and report.html (a page of what was
    found). The rows are read for a sample, which is solved, for at most four
    tallies that refine it, and for their labels.

    Checkpoints are written during the run. After Ctrl-C, a crash or a power
    cut, the same command with --resume continues, and the files are identical
    to those of an uninterrupted run.

    With --engine dask the workers of a Dask cluster read the data and write the
    labels to FOLDER/labels; they must see both under the same paths. The result
    is the same for any number of workers, and the same as without them.
    """
    from viewpass.cli.arguments import (
        check_choice,
        open_data,
        parsed_alpha,
        parsed_names,
        parsed_number,
        parsed_scale,
        parsed_weights,
    )
    from viewpass.views.gaps import CHOICES

    check_choice(f"--engine {engine}", engine, "local", "dask")
    check_choice(f"--missing-entries {missing_entries}", missing_entries, *CHOICES)
    check_choice(f"--consensus {consensus}", consensus, "auto", "plain", "graph")
    if engine == "local" and (scheduler is not None or workers is not None):
        raise SettingError("--scheduler and --workers need --engine dask.")
    from viewpass.estimators.viewpass import ViewPass

    estimator = ViewPass(
        parsed_number(n_clusters, "-k") or "auto",
        scale=parsed_scale(scale),
        consensus=consensus,
        n_anchors=parsed_number(anchors, "--anchors") or "auto",
        projection=parsed_number(projection, "--projection"),
        alpha=parsed_alpha(alpha),
        view_weights=parsed_weights(view_weights),
        missing_entries=missing_entries,
        sample_size=parsed_number(sample, "--sample") or "auto",
        random_state=seed,
        n_threads=threads,
    )
    source = open_data(data, views or [], id)
    kept, named = (*parsed_names(show), *parsed_names(keep)), parsed_names(name_by)
    kept = tuple(dict.fromkeys(kept))
    if dry_run:
        from viewpass.cli.dry_run import run as try_run

        try_run(estimator, source, as_json=as_json)
        return
    about = {"stream_labels": stream_labels, "keep": kept, "name_by": named}
    how = {"resume": resume, "every": checkpoint_every, "as_json": as_json, "report": not no_report}
    if engine == "dask":
        try:
            from viewpass.cli.distributed import run as run_on_dask
        except ModuleNotFoundError:
            raise missing_extra("dask", "dask", "--engine dask") from None

        run_on_dask(estimator, source, out, about, how, scheduler, workers)
    else:
        from viewpass.cli.fit import run

        run(estimator, source, out, about, how)


@app.command(
    epilog="Example:  viewpass predict run/model.viewpass new.parquet --id item_id --out labels.parquet"
)
def predict(
    model: ModelFile,
    data: Data,
    out: Annotated[
        Path, option("FILE", "Label file to write: .parquet, .csv, .jsonl, .arrow or .feather.")
    ] = Path("labels.parquet"),
    views: Views = None,
    id: Id = None,
    keep: Keep = None,
    proba: Annotated[bool, flag("--proba", "Write the probability of every cluster, too.")] = False,
    explain: Annotated[
        bool,
        flag(
            "--explain",
            "Write the next cluster, the part of each view in the margin, an outlier score, and whether the "
            "label stays without any one view, too.",
        ),
    ] = False,
    force: Annotated[bool, flag("--force", "Overwrite FILE if it exists.")] = False,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Assign rows to the clusters of a model.

    FILE has id, kept columns, cluster, distance, margin, views_seen and confidence
    of every row, in the format that its name ends in (without an ending: Parquet).
    It appears when all rows are labelled. For the data the model was fitted to,
    these are the labels that fit writes.
    """
    from viewpass.cli.arguments import open_data, parsed_names
    from viewpass.cli.predict import check_out, run
    from viewpass.labels.columns import Wanted

    check_out(out, force=force)
    source = open_data(data, views or [], id)
    wanted = Wanted(parsed_names(keep), (), proba, explain)
    run(model, source, out, n_threads=threads, as_json=as_json, wanted=wanted)


@app.command(epilog="Example:  viewpass inspect items.parquet  (or a model file, or a run folder)")
def inspect(
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL|DATA|RUN", show_default=False, help="A model file, data, or a run folder."
        ),
    ],
    views: Views = None,
    id: Id = None,
    rows: Annotated[int | None, option("N", "Read only the first N rows of data.", min=1)] = None,
    all_clusters: Annotated[
        bool, flag("--all", "Of a run: show all clusters, not only the largest.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Describe a data file, a model file, a label file or a run folder.

    For data: its views, their widths, how many rows lack each view, and which
    views are missing together. For a model or a run: the same, the clusters and
    the settings.
    """
    from viewpass.cli.inspect import run

    run(what, views or [], id, most_rows=rows, all_clusters=all_clusters, as_json=as_json)


@app.command(epilog="Example:  viewpass update run/model.viewpass today.parquet --out today.viewpass")
def update(
    model: ModelFile,
    data: Data,
    out: Annotated[
        Path | None, option("FILE", "New model file; by default MODEL is replaced.", show_default=False)
    ] = None,
    views: Views = None,
    id: Id = None,
    again: Annotated[bool, flag("--again", "Read files that an earlier update has read.")] = False,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Update a model with new rows.

    The rows are read once. The new model file appears when all have been read;
    until then, and if anything fails, MODEL does not change. The model keeps the
    SHA-256 of the files that updates have read: a file with the same content is
    refused, since its rows would count twice.
    """
    from viewpass.cli.update import run

    run(model, data, views or [], id, out, n_threads=threads, again=again, as_json=as_json)


from viewpass.cli import research as research  # noqa: E402 (listed after the commands above)
from viewpass.cli import results as results  # noqa: E402
