"""Commands for research: convert, benchmark, paper."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import rich.console
import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from viewpass.cli.arguments import Force, flag, option
from viewpass.cli.group import app
from viewpass.cli.stopping import signals
from viewpass.errors import SettingError, printable

DataFolder = Annotated[
    Path | None,
    option("FOLDER", "Folder with the data sets; by default VIEWPASS_DATA, then ../shared/data.", "--data"),
]
Jobs = Annotated[
    int, option("N", "Number of processes; by default one per processor.", min=0, show_default=False)
]


@app.command(epilog="Example:  viewpass convert handwritten.mat handwritten.npz")
def convert(
    source: Annotated[Path, typer.Argument(metavar="FILE", show_default=False, help="A .mat or .npz file.")],
    out: Annotated[
        Path, typer.Argument(metavar="OUT", show_default=False, help="The .npz or .mat to write.")
    ],
    turned: Annotated[
        bool | None,
        typer.Option(
            "--turned/--not-turned", help="Rows are stored as columns (d x n), or not.", show_default=False
        ),
    ] = None,
    views: Annotated[
        str, option("NAMES", "Variables that are views, separated by commas.", show_default=False)
    ] = "",
    labels: Annotated[str | None, option("NAME", "Variable with the classes.", show_default=False)] = None,
    mask: Annotated[
        str | None, option("NAME", "Mask to use, of several: 'folds{3}'.", show_default=False)
    ] = None,
    force: Force = False,
) -> None:
    """Convert a multi-view set between MATLAB files and npz bundles.

    Reads the usual shapes of published sets: cells or numbered variables,
    classes under their usual names, ready-made masks. Prints how the file was
    read. A file with two readings is refused; the options say which is right.
    """
    from viewpass.sources.bundle import load_bundle
    from viewpass.sources.mat import load_mat, write_mat

    if out.exists() and not force:
        raise SettingError(f"{out} exists. Pass --force to replace it.")
    for path in (source, out):
        if path.suffix.lower() not in (".mat", ".npz"):
            raise SettingError(f"{path}: expected a name that ends in .mat or .npz.")
    matlab = source.suffix.lower() == ".mat"
    names = [name for name in views.split(",") if name]
    bundle = (
        load_mat(source, views=names, labels=labels, mask=mask, turned=turned)
        if matlab
        else load_bundle(source)
    )
    if out.suffix.lower() == ".npz":
        bundle.write(out)
    else:
        write_mat(out, bundle)
    for note in bundle.notes:
        typer.echo(printable(note))
    shapes = ", ".join(f"{name} {view.shape[1]:,}" for name, view in bundle.views.items())
    n_classes = "no" if bundle.labels is None else str(len(set(bundle.labels.tolist())))
    typer.echo(printable(f"{out}: {bundle.n_rows:,} rows, views {shapes}, {n_classes} classes"))


@app.command(epilog="Example:  viewpass benchmark digit.mat --methods OPIMC,my_module:Mine --out bench")
def benchmark(
    sets: Annotated[
        list[str],
        typer.Argument(
            metavar="SETS", show_default=False, help="Files (.mat, .npz), or names in the data folder."
        ),
    ],
    out: Annotated[Path, option("FOLDER", "Folder for cells, masks, tables and the page.")],
    methods: Annotated[
        list[str],
        option(
            "METHOD",
            "ViewPass, OPIMC, IMC, OMVC, ONMF-I, ONMF-DA, MultiNMF, MIC, DAIMC, k-means, with settings as in "
            "OPIMC(alpha=1); module:Class or file.py:Class; 'cmd:program {in} {out}'; NAME=METHOD. "
            "Separated by commas, or repeated.",
        ),
    ] = ["ViewPass", "OPIMC", "k-means"],  # noqa: B006 (typer's own form)
    protocol: Annotated[
        str,
        option(
            "NAME",
            "How views are removed: paper, P1, P2, P3, P4, partial-rows, windows, unbalanced, by-class.",
        ),
    ] = "paper",
    missing: Annotated[str, option("RATES", "Missing rates, separated by commas.")] = ".1,.3,.5",
    seeds: Annotated[int, option("N", "Masks per set and rate.", min=1)] = 10,
    starts: Annotated[int, option("N", "Seeds of the method per mask.", min=1)] = 1,
    passes: Annotated[int, option("N", "Score methods that have passes after each of N.", min=0)] = 0,
    tuned: Annotated[
        str,
        option("NAMES", "Methods whose settings were chosen with classes: ranked apart.", show_default=False),
    ] = "",
    masks: Annotated[
        Path | None, option("FOLDER", "Masks of another benchmark, to compare on the same cells.")
    ] = None,
    published: Annotated[bool, flag("--published", "Print published figures of these sets beside.")] = False,
    jobs: Jobs = 0,
    data: DataFolder = None,
) -> None:
    """Measure methods on sets with views removed; write tables, figures and a page.

    FOLDER gets index.html and README.md (all tables), acc.tex and nmi.tex,
    cells.csv, summary.csv, paired differences, figures (PDF), and masks with
    their SHA-256. A stopped run continues with the same command: finished cells
    are kept, and measured again only if data, mask or method have changed.

    A program gets {in}, a MATLAB file with X (a cell of views, NaN where a row
    lacks one), observed, n_clusters and seed, or {in.npz}, and writes one label
    per row to {out}. No method is given classes.
    """
    from viewpass.evaluate import benchmark as measure

    try:
        rates = [float(rate) for rate in missing.split(",")]
    except ValueError:
        raise SettingError(f"--missing {missing}: expected numbers such as .1,.3,.5.") from None
    with signals.interrupting(), shown() as report:
        found = measure(
            sets,
            methods,
            out=out,
            protocol=protocol,
            rates=rates,
            n_seeds=seeds,
            n_starts=starts,
            n_passes=passes,
            tuned=[name for name in tuned.split(",") if name],
            masks=masks,
            published=published,
            n_jobs=jobs or None,
            folder=data,
            report=report,
        )
    n_failed = sum("failed" in result for result in found.results)
    failed = f", {n_failed} of them failed" if n_failed else ""
    typer.echo(f"{len(found.cells):,} cells{failed}. The page is {out / 'index.html'}.")
    if n_failed:
        raise typer.Exit(1)


@contextmanager
def shown() -> Iterator[Any]:
    """A progress bar over cells; nothing where the output is not a terminal."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    console = rich.console.Console(stderr=True)
    signals.message = "stopped; finished cells are kept, and the same command continues."
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("cells", total=None)

        def report(done: int, total: int, name: str) -> None:
            bar.update(task, completed=done, total=total, description=name or "cells")

        yield report


@app.command(epilog="Example:  viewpass paper --quick --out paper --only fig1 --only table2")
def paper(
    out: Annotated[Path, option("FOLDER", "Folder for the page and the finished measurements.")] = Path(
        "viewpass-paper"
    ),
    only: Annotated[
        list[str] | None,
        option("PART", "Only table1, table2, fig1 ... fig5, complexity or baselines; repeatable."),
    ] = None,
    quick: Annotated[
        bool, flag("--quick", "Takes minutes, not hours: shorter grids, fewer passes, parts of large sets.")
    ] = False,
    parts: Annotated[
        bool, flag("--parts", "A full run, but on parts of the large sets (figures 1 to 3, table 2).")
    ] = False,
    seeds: Annotated[
        int,
        option("N", "Number of seeds; by default 5, or 2 with --quick.", min=0, max=1000, show_default=False),
    ] = 0,
    jobs: Jobs = 0,
    data: DataFolder = None,
) -> None:
    """Reproduce the tables and figures of the OPIMC paper: a preset of benchmark.

    Writes one page (index.html, README.md) that compares the paper's claims with
    new measurements, with figures (SVG, PDF) and tables (CSV). A stopped run
    continues where it was: finished measurements are kept in FOLDER/cells.
    """
    from viewpass.kernels.threads import available_threads
    from viewpass.paper.plan import PaperRun
    from viewpass.paper.run import run

    plan = PaperRun(
        out,
        quick=quick,
        parts=parts,
        n_seeds=seeds or (2 if quick else 5),
        n_jobs=jobs or available_threads(),
        folder=None if data is None else str(data),
    )
    console = rich.console.Console(highlight=False)
    with signals.interrupting(), shown() as plan.report:
        sections = run(plan, only or (), lambda text: console.print(text, markup=False))
    for section in sections:
        for claim in section.claims:
            console.print(f"[bold]{claim.answer}[/]: ", end="")
            console.print(f"{claim.statement} {claim.found}", markup=False)
    console.print(f"The page is {out / 'index.html'}.", markup=False)
