"""Commands and their options; each command is implemented in its own module, imported when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import rich.console
import typer

from viewpass.cli.arguments import (
    CLUSTERS,
    DATA,
    OUTPUT,
    RUN,
    AsJson,
    Data,
    Id,
    Keep,
    ModelFile,
    NoRows,
    Threads,
    Views,
    flag,
    option,
)
from viewpass.cli.group import app as app
from viewpass.cli.stopping import signals
from viewpass.errors import SettingError
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
    many rows lack some of them. viewpass draws a sample of all rows, finds the clusters in it, and
    assigns every row to one. Memory stays small.
    """


@app.command(epilog="Example:  viewpass demo --out digits --seed 7")
def demo(
    out: Annotated[Path, option("FOLDER", "Folder for the labels and the picture.")] = Path("viewpass-demo"),
    seed: Annotated[int, option("N", "Random seed: row order, removed views, initial centres.", min=0)] = 0,
    cohort: Annotated[
        bool, flag("--cohort", "Only write made tables of patients, for the guide to cohorts.")
    ] = False,
    repeats: Annotated[int | None, typer.Option(min=1, hidden=True)] = None,
) -> None:
    """Cluster real handwritten digits, with 30% of each view removed.

    Computes four views of each of the 1,797 images in scikit-learn, finds ten
    clusters, and compares the result with other methods. Takes less
    than a minute and downloads nothing.

    Writes labels.csv (the cluster of each image) and clusters.png (the images of
    each cluster, which of them are wrong, and which views were missing).
    """
    if cohort:
        from viewpass.cli.cohort import write

        paths = write(out, seed)
        typer.echo(f"{len(paths)} tables: {paths[0].parent}. Follow the guide with VIEWPASS_DATA={out}")
        return
    from viewpass.cli.demo import run

    with signals.interrupting():
        run(out, seed, repeats, rich.console.Console(highlight=False))


@app.command(epilog="Example:  viewpass fit items/*.parquet -k 10 --id item_id --out run")
def fit(
    data: Data,
    *,
    views: Views = None,
    id: Id = None,
    scale: Annotated[
        str,
        option(
            "NAME",
            "What is done to values first: unit (nothing), standard, idf, euclidean (lengths count), counts, "
            "composition, binary; auto chooses. VIEW=NAME,VIEW=NAME for each view.",
            panel=DATA,
        ),
    ] = "auto",
    view_weights: Annotated[
        str | None, option("VIEW=W,...", "Weights of views, by default 1; 0 leaves a view out.", panel=DATA)
    ] = None,
    missing_entries: Annotated[
        str,
        option(
            "NAME",
            "Where a row has some values of a view: refuse it, or fill the others by the means of columns "
            "(fill) or of similar rows (local).",
            panel=DATA,
        ),
    ] = "refuse",
    n_clusters: Annotated[
        str,
        option(
            "N", "Their number; auto estimates it, grow adds some as rows need them.", "-k", panel=CLUSTERS
        ),
    ],
    consensus: Annotated[
        str,
        option(
            "NAME",
            "plain (centres), neighbours (of linked rows), graph (any shape); auto chooses.",
            panel=CLUSTERS,
        ),
    ] = "auto",
    sample: Annotated[
        str, option("ROWS", "Rows of the sample; auto chooses.", "--sample", panel=CLUSTERS)
    ] = "auto",
    window: Annotated[
        str | None,
        option("ROWS", "Only the last ROWS rows count, as they are read; or those of 7D.", panel=CLUSTERS),
    ] = None,
    time: Annotated[
        str | None, option("COLUMN", "Dates or times of rows, in whose order they come.", panel=CLUSTERS)
    ] = None,
    half_life: Annotated[
        int | None, option("ROWS", "Rows after which a row counts half.", min=1, panel=CLUSTERS)
    ] = None,
    max_clusters: Annotated[
        int | None, option("N", "The most clusters of -k grow.", min=1, panel=CLUSTERS)
    ] = None,
    robust: Annotated[bool, flag("--robust", "Keep outliers out of the centres.", panel=CLUSTERS)] = False,
    seed: Annotated[int, option("N", "Random seed, by default 0.", min=0, panel=CLUSTERS)] = 0,
    out: Annotated[
        Path | None, option("FOLDER", "Folder for model, labels and report.", panel=OUTPUT)
    ] = None,
    keep: Annotated[
        str | None,
        option("COLUMNS", "Columns (title,year) to show with labels.", "--keep", panel=OUTPUT),
    ] = None,
    name_by: Annotated[
        str | None,
        option(
            "COLUMNS",
            "Columns (text, categories, numbers) to name clusters by; they are kept, too. Or views whose "
            "columns have names (MuData).",
            "--name-by",
            panel=OUTPUT,
        ),
    ] = None,
    no_report: Annotated[bool, flag("--no-report", "Do not write report.html.", panel=OUTPUT)] = False,
    stream_labels: Annotated[
        bool,
        flag("--stream-labels", "Read rows once, and keep the labels they got then.", panel=OUTPUT),
    ] = False,
    as_json: Annotated[bool, flag("--json", "Print JSON, one object per line.", panel=OUTPUT)] = False,
    dry_run: Annotated[
        bool, flag("--dry-run", "Only say settings, time and memory to expect.", panel=RUN)
    ] = False,
    resume: Annotated[bool, flag("--resume", "Continue the run in FOLDER, or start it.", panel=RUN)] = False,
    checkpoint_every: Annotated[int, typer.Option(min=1, hidden=True)] = 50,  # chunks; tests need more
    engine: Annotated[
        str, option("NAME", "local (this process, the default), dask, ray, spark.", panel=RUN)
    ] = "local",
    scheduler: Annotated[
        str | None,
        option(
            "ADDRESS",
            "Address of a cluster; by default one is made here.",
            panel=RUN,
        ),
    ] = None,
    workers: Annotated[
        int | None,
        option("N", "Workers made here; by default one per processor.", min=1, panel=RUN),
    ] = None,
    threads: Annotated[
        int | None, option("N", "Threads; by default one per processor.", min=1, panel=RUN)
    ] = None,
) -> None:
    """Cluster a table of any size and write a run folder.

    FOLDER gets model.viewpass (for predict and update), labels.parquet, run.json
    and report.html, a page of what was found. After Ctrl-C or a crash, the same
    command with --resume gives the same files.
    """
    from viewpass.cli.arguments import (
        check_choice,
        open_data,
        parsed_names,
        parsed_number,
        parsed_scale,
        parsed_weights,
        parsed_window,
    )
    from viewpass.engines.clusters import LIBRARIES
    from viewpass.solve.plan import SHAPES
    from viewpass.views.gaps import GAP_RULES

    if out is None and not dry_run:
        raise typer.BadParameter("name the folder to write.", param_hint="--out")
    check_choice(f"--engine {engine}", engine, "local", *LIBRARIES)
    check_choice(f"--missing-entries {missing_entries}", missing_entries, *GAP_RULES)
    check_choice(f"--consensus {consensus}", consensus, *SHAPES)
    if engine == "local" and (scheduler is not None or workers is not None):
        raise SettingError("--scheduler and --workers need --engine dask, ray or spark.")
    from viewpass.estimators.viewpass import ViewPass

    estimator = ViewPass(
        parsed_number(n_clusters, "-k", "auto", "grow"),
        scale=parsed_scale(scale),
        consensus=consensus,
        view_weights=parsed_weights(view_weights),
        missing_entries=missing_entries,
        sample_size=parsed_number(sample, "--sample", "auto"),
        window=parsed_window(window),
        time=time,
        half_life=half_life,
        max_clusters=max_clusters,
        robust=robust,
        random_state=seed,
        n_threads=threads,
    )
    source = open_data(data, views or [], id)
    if dry_run:
        from viewpass.cli.dry_run import run as try_run

        try_run(estimator, source, report=not no_report, as_json=as_json)
        return
    assert out is not None
    about = {"stream_labels": stream_labels, "keep": parsed_names(keep), "name_by": parsed_names(name_by)}
    from viewpass.cli.fit import Where, run
    from viewpass.runs.folder import RunFolder

    where = None if engine == "local" else Where(engine, scheduler, workers)
    run(
        estimator,
        source,
        RunFolder(out),
        about,
        where,
        resume=resume,
        every=checkpoint_every,
        as_json=as_json,
        report=not no_report,
    )


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
    from viewpass.cli.arguments import check_out, open_data, parsed_names
    from viewpass.cli.progress import working
    from viewpass.estimators.notices import warn_of_absent
    from viewpass.estimators.persistence import load
    from viewpass.labels.columns import Wanted
    from viewpass.labels.writing import write_labels

    check_out(out, force=force)
    source = open_data(data, views or [], id)
    wanted = Wanted(parsed_names(keep), (), proba, explain)
    estimator = load(model).set_params(n_threads=threads)
    with working(as_json=as_json) as (shown, show):
        made = write_labels(
            estimator,
            source,
            out,
            lambda done, sizes: show(done, source.n_rows, "labelling", sizes),
            wanted=wanted,
        )
    warn_of_absent(estimator._fitted_model(), made.views_there, estimator._workspace())
    shown.say(f"{made.n_rows:,} rows labelled: {out}")
    shown.end("finished", rows=made.n_rows, clusters=made.sizes.tolist(), labels=str(out))


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
    no_rows: NoRows = False,
    as_json: Annotated[bool, flag("--json", "Print JSON: of a run, all that is known of it.")] = False,
) -> None:
    """Describe a data file, a model file, a label file or a run folder.

    For data: its views, their widths, how many rows lack each view, and which
    views are missing together. For a model or a run: the same, the clusters and
    the settings.
    """
    from viewpass.cli.inspect import run

    run(what, views or [], id, most_rows=rows, all_clusters=all_clusters, rows=not no_rows, as_json=as_json)


@app.command(epilog="Example:  viewpass update run/model.viewpass today.parquet --out today.viewpass")
def update(
    model: ModelFile,
    data: Data,
    out: Annotated[
        Path | None, option("FILE", "New model file; by default MODEL is replaced.", show_default=False)
    ] = None,
    views: Views = None,
    id: Id = None,
    again: Annotated[bool, flag("--again", "Count rows again that were read before.")] = False,
    report: Annotated[
        Path | None,
        option("FILE", "HTML page to write of these rows under the new model.", show_default=False),
    ] = None,
    keep: Annotated[
        str | None,
        option("COLUMNS", "Columns of the data to show on that page.", "--keep", show_default=False),
    ] = None,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Update a model with new rows.

    The rows are read once. The new model file appears when all have been read;
    until then, and if anything fails, MODEL does not change. The model keeps the
    SHA-256 of the files that updates have read: a file with the same content is
    refused, since its rows would count twice, and so are rows whose ids the
    sample holds.
    """
    from viewpass.cli.arguments import parsed_names
    from viewpass.cli.update import run

    page = report, parsed_names(keep)
    run(model, data, views or [], id, out, page, n_threads=threads, again=again, as_json=as_json)


from viewpass.cli import research as research  # noqa: E402 (listed after the commands above)
from viewpass.cli import results as results  # noqa: E402
