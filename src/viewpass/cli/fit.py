"""`viewpass fit`: fits a table into a run folder, and resumes where it was interrupted.

With `--engine dask|ray|spark` the same folder is written by the workers of a cluster.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import typer

from viewpass.cli.clusters import SHOWN, cluster_lines
from viewpass.cli.inspect import LABELS, view_lines
from viewpass.cli.progress import Display, Json, display
from viewpass.cli.stopping import how_to_go_on, signals
from viewpass.engines.clusters import connected
from viewpass.engines.progress import Progress
from viewpass.errors import MissingExtraError
from viewpass.estimators.viewpass import ViewPass
from viewpass.report.advice import repeated_view_advice
from viewpass.report.summary.fields import Summary
from viewpass.runs.folder import RunFolder
from viewpass.runs.run import Run, RunOptions, StoppedError
from viewpass.runs.summary import summary, write_run_page
from viewpass.sources.source import Source


class Where(NamedTuple):
    """The cluster that was asked for."""

    name: str
    address: str | None
    n_workers: int | None


def run(
    estimator: ViewPass,
    data: Source,
    folder: RunFolder,
    about: Mapping[str, Any],
    where: Where | None,
    *,
    resume: bool,
    every: int,
    as_json: bool,
    report: bool,
) -> None:
    """Fit, or go on with a fit, here or on a cluster; leave model, labels and report."""
    fitting = Run(estimator, data, folder, distributed=where is not None, **about)
    with signals.asked_to_stop() as stopping:
        new = not folder.path.exists()
        folder.open(resume=resume)
        begun = folder.begun
        signals.message = f"stopped. Go on with: {how_to_go_on()}"
        try:
            with display(as_json=as_json) as shown:
                if folder.finished:
                    fitting.check_settings(folder.figures()["settings"])  # not taken for another run
                    return _finished_before(folder, shown, report=report)
                if folder.begun:
                    fitting.resume()
                    anew = "" if fitting.saved else ", from the first row: it has no checkpoint yet"
                    shown.say(f"going on with {folder.path}{anew}")
                else:
                    fitting.begin()
                try:
                    with _watched(shown, fitting, where) as watch:
                        figures = fitting.go(RunOptions(every, watch, stopping))
                except StoppedError as stop:
                    shown.say(f"{stop} Go on with:\n  {how_to_go_on()}")
                    shown.end("stopped", message=str(stop), resume=how_to_go_on())
                    raise typer.Exit(signals.code) from None
            _tell(figures, folder, shown, report=report)
        finally:
            _tidy(folder, new=new, begun=begun or fitting.saved)


@contextmanager
def _watched(shown: Display, run: Run, where: Where | None) -> Iterator[Callable[[Progress], None]]:
    """What shows the progress of a run, while the cluster that it works on is there.

    The speed counts from the row at which a reading began or resumed.
    """
    shown.begin(run.first_row)

    def watch(progress: Progress) -> None:
        row = progress.n_rows_read
        if not row:  # a reading has ended, the next one begins
            shown.begin(0)
            return
        shown.show(row, progress.n_rows, progress.what, progress.sizes)
        if progress.what == "sampling" and row == progress.n_rows:
            shown.wait("solving the sample")

    if where is None:
        yield watch
        return
    with connected(*where) as cluster:
        if cluster.about:
            shown.say(cluster.about)
        run.use(cluster.engine, watch)
        yield watch


def _finished_before(folder: RunFolder, shown: Display, *, report: bool) -> None:
    folder.clear()
    shown.say(f"{folder.path} is finished already: see {folder.report}.")
    if report and not folder.page.exists():  # stopped after the run was finished and before its page was
        write_page(folder, None, shown)
    shown.end("finished", already=True, run=str(folder.path))


def write_page(folder: RunFolder, found: Summary | None, shown: Display) -> bool:
    """Write the page of a finished run; a library that it needs and is not installed is named."""
    try:
        write_run_page(folder, summary(folder.path) if found is None else found)
    except MissingExtraError as problem:
        shown.say(f"report.html was not written: {problem}")
        return False
    return True


def _tell(figures: dict[str, Any], folder: RunFolder, shown: Display, *, report: bool) -> None:
    began, rows = time.perf_counter(), figures["rows"]
    shown.say(f"{rows:,} rows in {len(figures['clusters'])} clusters.")
    for line in view_lines(figures["views"], rows):
        shown.say(line)
    if figures["rows_without_any_view"]:
        shown.say(f"  {figures['rows_without_any_view']:,} rows have no view at all: their cluster is -1")
    shown.say(f"the labels are {LABELS[figures['which_labels']]}.")
    shown.wait("writing the report")
    found = None if isinstance(shown, Json) and not report else summary(folder.path)
    if found is not None and not isinstance(shown, Json):
        for line in cluster_lines(found, SHOWN):
            shown.say(line)
        for each in repeated_view_advice(found):
            shown.say(f"{each.what} {each.why} ({each.figure}.)")
    labels = folder.labels if folder.labels.exists() else folder.parts
    written = [("model", folder.model), ("labels", labels), ("figures", folder.report)]
    if report and write_page(folder, found, shown):
        written.append(("report", folder.page))
    for what, path in written:
        shown.say(f"{what + ':':<9}{path}")
    seconds = round(figures["seconds"] + time.perf_counter() - began, 3)  # with the page
    shown.say(f"{'time:':<9}{seconds:.1f} s")
    shown.end("finished", already=False, run=str(folder.path), **{**figures, "seconds": seconds})


def _tidy(folder: RunFolder, *, new: bool, begun: bool) -> None:
    """Leave nothing behind but what a run needs to go on."""
    if begun and folder.begun and not folder.finished:
        folder.close()
        return
    folder.clear()
    if new and not folder.finished:
        with suppress(OSError):
            folder.path.rmdir()
