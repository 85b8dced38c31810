"""Commands and their options; what a command does is in its own module, imported when it runs."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated, Any

import rich.console
import typer
from typer.core import TyperGroup

from viewpass.cli.stopping import STOPPED
from viewpass.errors import SettingError, ViewpassError
from viewpass.version import __version__

EXAMPLE = "Example:  viewpass fit items.parquet -k 10 --out run"
CODES = "Exit codes: 0 done, 1 an error (one line says which), 2 wrong usage, 130 stopped by Ctrl-C."


# typer has click within it, or beside it, by its version.
WrongUsage: type[Exception] = next(
    kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException"
)


class Commands(TyperGroup):
    """Tell an error in one line, and exit with 1; wrong usage exits with 2 as ever."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Let --debug stand anywhere."""
        if "--debug" in args:
            args = ["--debug", *(word for word in args if word != "--debug")]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        if ctx.params.get("debug"):
            return super().invoke(ctx)
        silent = logging.NullHandler()  # notices about compiling are of no use here
        logger = logging.getLogger("viewpass")
        logger.addHandler(silent)
        try:
            return super().invoke(ctx)
        except (BrokenPipeError, WrongUsage, typer.Exit):
            raise
        except (KeyboardInterrupt, typer.Abort):
            typer.echo("viewpass: stopped; nothing was changed.", err=True)
            raise typer.Exit(STOPPED) from None
        except (ViewpassError, OSError) as error:
            typer.echo(f"viewpass: {' '.join(str(error).split())}", err=True)
            raise typer.Exit(1) from None
        except Exception as error:
            told = " ".join(str(error).split())
            typer.echo(f"viewpass: {type(error).__name__}: {told} (--debug shows where)", err=True)
            raise typer.Exit(1) from None
        finally:
            logger.removeHandler(silent)


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    epilog=f"{EXAMPLE}\n\n{CODES}",
)

Data = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA",
        show_default=False,
        help="Files (Parquet, Feather, CSV, npz), patterns, folders, addresses; or NAME=FILE.npy a view.",
    ),
]
Views = Annotated[
    list[str] | None,
    typer.Option(
        "--views",
        metavar="NAME=COLUMNS",
        show_default=False,
        help="The columns of a view: COLUMN, PREFIX*, FIRST:LAST, A,B,C, or COLUMN/WIDTH for a sparse one. "
        "Once a view; without it every column of lists is one.",
    ),
]
Id = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="The column that names the rows; else their numbers do.")
]
Threads = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Threads to use; all by default. Results do not depend on it."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Say everything as JSON, an object a line.")]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", show_default=False, help="A model file.")]


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"viewpass {__version__}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error, not only its message.")
    ] = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Cluster multi-modal rows in one pass, even when modalities are missing.

    A row has up to several views (an image, a text, sensor readings ...), and
    many rows lack some of them. viewpass reads the rows once, in chunks, and
    gives every row a cluster.
    """


@app.command(epilog="Example:  viewpass demo --out digits --seed 7")
def demo(
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the labels and the picture go.")] = Path(
        "viewpass-demo"
    ),
    seed: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="Decides the order of rows, the views removed and the start."),
    ] = 0,
    repeats: Annotated[int, typer.Option(min=1, hidden=True)] = 5,
) -> None:
    """Cluster real handwritten digits, with 30% of each view removed.

    Four views are computed from each of the 1,797 images in scikit-learn. One
    pass finds ten clusters, and a table compares it with other methods. Takes
    less than a minute and downloads nothing.

    Writes labels.csv (the cluster of each image) and clusters.png (what the
    clusters look like, which images are in the wrong one, and which views were
    missing).
    """
    from viewpass.cli.demo import run

    run(out, seed, repeats, rich.console.Console(highlight=False))


@app.command(epilog="Example:  viewpass fit items/*.parquet -k 10 --id item_id --out run")
def fit(
    data: Data,
    n_clusters: Annotated[
        str, typer.Option("-k", "--clusters", metavar="N", help="Clusters to find; auto: how many, too.")
    ],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where model, labels and report go.")],
    views: Views = None,
    id: Id = None,
    passes: Annotated[int, typer.Option(min=1, metavar="N", help="Times the data is read.")] = 1,
    chunk_size: Annotated[int, typer.Option(min=1, metavar="ROWS", help="Rows settled together.")] = 8192,
    alpha: Annotated[float, typer.Option(min=0, metavar="X", help="Ridge on the centres.")] = 0.1,
    init: Annotated[str, typer.Option(metavar="NAME", help="The start: auto, k-means++ or random.")] = "auto",
    scale: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="What is done to views before unit length: unit (nothing), standard (mean and spread of "
            "each column), idf, or auto; VIEW=NAME,VIEW=NAME for each view.",
        ),
    ] = "auto",
    anchors: Annotated[
        str,
        typer.Option(metavar="N", help="Small clusters that form those asked for: N, auto or none."),
    ] = "auto",
    consensus: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="How anchors form clusters: merge, graph, none (no anchors), or auto."
        ),
    ] = "auto",
    view_weights: Annotated[
        str,
        typer.Option(
            metavar="WEIGHTS",
            help="What views count for: none (all the same), auto, or VIEW=WEIGHT,VIEW=WEIGHT for each view.",
        ),
    ] = "none",
    reservoir: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="Rows kept as a sample and labelled again after every chunk."),
    ] = 0,
    max_iter: Annotated[int, typer.Option(min=1, metavar="N", help="Most centre updates a chunk.")] = 20,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Decides what is drawn at the start.")] = 0,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on with the run in FOLDER. Begins it if there is none yet."),
    ] = False,
    checkpoint_every: Annotated[
        int, typer.Option(min=1, metavar="N", help="Save the state every N chunks.")
    ] = 50,
    engine: Annotated[
        str, typer.Option(metavar="NAME", help="Who works: local (this process), or dask (many).")
    ] = "local",
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            show_default=False,
            help="The scheduler of a Dask cluster; without it one is started on this machine.",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            show_default=False,
            help="With dask: chunks of a round, one a worker; as many as there are workers.",
        ),
    ] = None,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Cluster a table, however large, into a run folder.

    FOLDER gets model.viewpass (for predict and update), labels.parquet (id,
    cluster, distance, margin and views_seen of every row, as decided when it
    was read) and run.json (settings and figures).

    The state is saved on the way. After Ctrl-C, a crash or a power cut, the
    same command with --resume goes on, and the files come out the same, byte
    for byte.

    With --engine dask the workers of a Dask cluster read the data and write the
    labels, into FOLDER/labels; they must see both under the same names. The
    result is that of chunks of N times --chunk-size rows.
    """
    if engine not in ("local", "dask"):
        raise SettingError(f"--engine {engine}: local or dask was expected.")
    if engine == "local" and (scheduler is not None or workers is not None):
        raise SettingError("--scheduler and --workers go with --engine dask.")
    from viewpass.cli.fit import run
    from viewpass.cli.given import open_data, parsed_number, parsed_scale, parsed_weights
    from viewpass.cluster.opimc import OPIMC

    estimator = OPIMC(
        parsed_number(n_clusters, "-k") or "auto",
        alpha=alpha,
        chunk_size=chunk_size,
        n_passes=passes,
        max_iter=max_iter,
        init=init,
        scale=parsed_scale(scale),
        n_anchors=parsed_number(anchors, "--anchors"),
        consensus=None if consensus == "none" else consensus,
        view_weights=parsed_weights(view_weights),
        reservoir=reservoir,
        random_state=seed,
        n_threads=threads,
    )
    source = open_data(data, views or [], id)
    if engine == "dask":
        from viewpass.cli.distributed import run as run_on_dask

        run_on_dask(
            *(estimator, source, out),
            resume=resume,
            every=checkpoint_every,
            as_json=as_json,
            scheduler=scheduler,
            n_workers=workers,
        )
        return
    run(estimator, source, out, resume=resume, every=checkpoint_every, as_json=as_json)


@app.command(
    epilog="Example:  viewpass predict run/model.viewpass new.parquet --id item_id --out labels.parquet"
)
def predict(
    model: ModelFile,
    data: Data,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The label file.")] = Path("labels.parquet"),
    views: Views = None,
    id: Id = None,
    chunk_size: Annotated[int, typer.Option(min=1, metavar="ROWS", help="Rows read at a time.")] = 8192,
    force: Annotated[bool, typer.Option("--force", help="Write over FILE if it exists.")] = False,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Label rows with a model.

    FILE is Parquet with id, cluster, distance, margin and views_seen of every
    row. It appears when all rows are labelled. On the data a model was fitted
    to, this gives the labels under the final centres.
    """
    from viewpass.cli.given import open_data
    from viewpass.cli.predict import run

    source = open_data(data, views or [], id)
    run(model, source, out, chunk_size=chunk_size, n_threads=threads, force=force, as_json=as_json)


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
    rows: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Look at about the first N rows of data only.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say what a file or folder is.

    Of data: its views, their widths, how many rows lack each, and which are
    missing together. Of a model or a run: the same, the sizes of its clusters,
    and its settings.
    """
    from viewpass.cli import inspect as inspecting
    from viewpass.cli.given import open_data

    path = Path(what[0])
    kind = inspecting.kind_of(path) if len(what) == 1 else "data"
    if kind == "run":
        told = inspecting.of_run(path)
    elif kind == "model":
        told = inspecting.of_model(path)
    else:
        told = inspecting.of_data(open_data(what, views or [], id), rows)
    inspecting.run(told, as_json=as_json)


@app.command(epilog="Example:  viewpass update run/model.viewpass today.parquet --out today.viewpass")
def update(
    model: ModelFile,
    data: Data,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", show_default=False, help="The new model; in place of MODEL by default."),
    ] = None,
    views: Views = None,
    id: Id = None,
    chunk_size: Annotated[
        int | None,
        typer.Option(min=1, metavar="ROWS", show_default=False, help="Rows settled together; as in the fit."),
    ] = None,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Let a model go on learning from new rows.

    The rows are read once. The new model appears when all have been read;
    until then, and if anything fails, MODEL is as it was. Reading the same rows
    twice counts them twice.
    """
    from viewpass.cli.given import open_data
    from viewpass.cli.update import run

    source = open_data(data, views or [], id)
    run(model, source, out, chunk_size=chunk_size, n_threads=threads, as_json=as_json)


@app.command(epilog="Example:  viewpass paper --quick --out paper --only fig1 --only table2")
def paper(
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where the page goes; finished cells stay there.")
    ] = Path("viewpass-paper"),
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PART", help="table1, table2, fig1 ... fig5, complexity or baselines; may be repeated."
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Minutes, not hours: shorter grids, fewer passes, parts of large sets."),
    ] = False,
    sets: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME",
            help="Only this set in figures 1 to 3 (webkb ...); may be repeated.",
        ),
    ] = None,
    parts: Annotated[
        bool,
        typer.Option("--parts", help="All of it, but figures 1 to 3 read only parts of the two large sets."),
    ] = False,
    seeds: Annotated[
        int, typer.Option(min=0, max=1000, metavar="N", help="Repetitions; 5, or 2 with --quick.")
    ] = 0,
    jobs: Annotated[int, typer.Option(min=0, metavar="N", help="Processes; as many as processors.")] = 0,
    data: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="The data sets; else VIEWPASS_DATA, else ../shared/data."),
    ] = None,
) -> None:
    """Measure the tables and figures of the OPIMC paper again.

    Writes one page (index.html, README.md) that sets the paper's claims beside
    what is measured here, with figures (SVG, PNG) and tables (CSV). A run that
    was stopped goes on where it was: finished cells are kept in FOLDER/cells.
    """
    from viewpass.kernels.threads import available_threads
    from viewpass.paper.cells import Plan
    from viewpass.paper.run import run

    plan = Plan(
        out,
        quick=quick,
        parts=parts,
        sets=tuple(sets or ()),
        n_seeds=seeds or (2 if quick else 5),
        n_jobs=jobs or available_threads(),
        folder=None if data is None else str(data),
    )
    console = rich.console.Console(highlight=False)
    sections = run(plan, only or (), lambda text: console.print(text, markup=False))
    for section in sections:
        for claim in section.claims:
            console.print(f"[bold]{claim.verdict}[/]: ", end="")
            console.print(f"{claim.statement} {claim.found}", markup=False)
    console.print(f"The page is {out / 'index.html'}.", markup=False)
