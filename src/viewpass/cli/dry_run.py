"""`viewpass fit --dry-run`: what a fit would do, from the sample that it would draw."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import typer

from viewpass.cli.inspect import view_lines
from viewpass.cli.progress import working
from viewpass.engines.local import RowReader
from viewpass.errors import MissingExtraError, printable
from viewpass.estimators.report_methods import places_of_model
from viewpass.estimators.viewpass import ViewPass
from viewpass.labels.columns import Wanted, label_rows
from viewpass.reasons.calibrate import calibration_of
from viewpass.report.page import report_page
from viewpass.report.summary.overview import summarise
from viewpass.report.summary.row_sample import row_sampler
from viewpass.runs.summary import peak_memory, view_figures
from viewpass.sources.source import Source
from viewpass.tally.fitting import Fitting
from viewpass.tally.tally import final, tally_by_label

LABELLED = 8192  # sampled rows, for the time that labels take
TALLIES = 2  # to expect: one to four, by how far the first ones move the centres


class Clock:
    """Seconds since it was looked at last."""

    def __init__(self) -> None:
        self._then = time.perf_counter()

    def lap(self) -> float:
        """The seconds, and begin again."""
        then, self._then = self._then, time.perf_counter()
        return self._then - then


def run(estimator: ViewPass, data: Source, *, report: bool, as_json: bool) -> None:
    """Draw the sample of a fit and solve it, and say what was found and what to expect."""
    with working(as_json=as_json) as (_, show):
        found = tried(estimator, data, lambda n_read: show(n_read, data.n_rows, "sampling"), report=report)
    typer.echo(json.dumps(found) if as_json else "\n".join(map(printable, lines(found))))


def tried(
    estimator: ViewPass,
    data: Source,
    watch: Callable[[int], None] = lambda n_read: None,
    *,
    report: bool = True,
) -> dict[str, Any]:
    """What a fit would find: all rows are read for the sample, which is the one that a fit draws.

    What a fit does with its sample is done, too, so that the time and the memory of that are known.
    """
    fresh, source, _ = estimator._prepare(data, None)
    learning, workspace = fresh._learnt, fresh._workspace(source)
    fitting = Fitting(learning.plan, learning.seed, learning.sample)
    clock = Clock()
    for chunk in RowReader(source, keep_ids=False).chunks():
        fitting.take(chunk, workspace)
        watch(chunk.start + chunk.n_rows)
    reading, n_rows = clock.lap(), fitting.n_rows
    fitting.end_stage(workspace)
    solving, sample = clock.lap(), fitting.sample
    assert fitting.model is not None
    assert sample.chunk is not None
    model = replace(fitting.model, rows=sample.chunk)
    calibration_of(model, workspace)
    solving += clock.lap()
    some = sample.chunk.cut(0, min(LABELLED, sample.n_rows))
    label_rows(some, model, workspace, Wanted(), source.id_name)
    labelling = clock.lap() / some.n_rows * n_rows
    n_tallies = 0 if fitting.labelling else TALLIES
    seconds = solving + reading * (2 + n_tallies) + labelling * (1 + n_tallies)
    tally, _ = tally_by_label(sample.chunk, model, workspace)
    fitting.model = model = final(model, tally)
    fresh._learnt = fitting.learning
    clock.lap()
    if report:
        with suppress(MissingExtraError):
            found_in_all = summarise(fresh, sampler=row_sampler(sample))
            report_page(found_in_all, places_of_model(fresh._fitted_model()))
    seconds += clock.lap()
    return {
        "kind": "dry run",
        "rows": n_rows,
        "sampled": sample.n_rows,
        "views": view_figures(model),
        "n_clusters": model.clusters.n_clusters,
        "consensus": model.consensus,
        "n_anchors": None if model.cut is None else model.total.n_clusters,
        "choices": [str(choice) for choice in model.choices],
        "left_out": list(source.left_out),
        "readings": 2 + n_tallies,
        "seconds": round(seconds, 1),
        "memory": peak_memory(),
    }


def lines(found: dict[str, Any]) -> list[str]:
    """The same as text."""
    n_rows, n_sampled = found["rows"], found["sampled"]
    out = [f"read {n_rows:,} rows, and sampled {n_sampled:,}; nothing is written"]
    out += view_lines(found["views"], n_sampled)
    if found["left_out"]:
        out.append(f"  no views: {', '.join(found['left_out'])}")
    anchors = "" if found["n_anchors"] is None else f", {found['consensus']} of {found['n_anchors']} anchors"
    out.append(f"clusters: {found['n_clusters']}{anchors}")
    out += [f"  {choice}" for choice in found["choices"]]
    out.append(f"time to expect: {found['seconds']:.0f} s, reading the rows {found['readings']} times")
    if found["memory"] is not None:
        out.append(
            f"memory to expect: {found['memory'] / 2**20:,.0f} MiB for any number of rows, and "
            "some tens of MiB for columns that are kept or name clusters"
        )
    return out
