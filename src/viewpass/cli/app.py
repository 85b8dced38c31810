"""Commands and their options; what a command does is in its own module, imported when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import rich.console
import typer
from typer.core import TyperGroup

from viewpass import __version__
from viewpass.errors import ViewpassError

EXAMPLE = "Example:  viewpass demo --out digits  (then look at digits/clusters.png)"


class Commands(TyperGroup):
    """Tell an error in one line, and exit with 1; wrong usage exits with 2 as ever."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except (ViewpassError, OSError) as error:
            if ctx.params.get("debug"):
                raise
            typer.echo(f"viewpass: {' '.join(str(error).split())}", err=True)
            raise typer.Exit(1) from None


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    epilog=EXAMPLE,
)


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
    seeds: Annotated[int, typer.Option(min=0, metavar="N", help="Repetitions; 5, or 2 with --quick.")] = 0,
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
