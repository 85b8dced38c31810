"""`viewpass fit --dry-run`: what a fit would do, from a sample of the rows."""

from __future__ import annotations

import json
import time
from typing import Any

import typer

from viewpass.cli.inspect import all_zero, in_gaps
from viewpass.errors import DataError, printable
from viewpass.estimators.viewpass import ViewPass
from viewpass.runs.report import gaps_of, peak_memory
from viewpass.sources.source import Source
from viewpass.tally.tally import tally_by_label
from viewpass.views.chunk import join

READINGS = 3  # of all rows: for the sample, a tally and the labels


def run(estimator: ViewPass, data: Source, *, as_json: bool) -> None:
    """Read the first rows, fit them, and say what was found and what to expect."""
    found = tried(estimator, data)
    typer.echo(json.dumps(found) if as_json else "\n".join(map(printable, lines(found))))


def tried(estimator: ViewPass, data: Source) -> dict[str, Any]:
    """What a fit of the first rows shows."""
    fresh, source, _ = estimator._prepare(data, None)
    learning, workspace = fresh._learnt, fresh._workspace(source)
    began = time.perf_counter()
    chunks, n_rows = [], 0
    for chunk in source.chunks(8192):
        chunks.append(chunk.copy())
        n_rows += chunk.n_rows
        if n_rows >= learning.sample.most:
            break
    if not chunks:
        raise DataError("the data has no rows (0 samples): at least one is needed.")
    reading, rows = time.perf_counter() - began, join(chunks)
    for _ in learning.learn(rows, workspace):
        pass
    model = learning.model(workspace)
    solving = time.perf_counter() - began - reading
    tally_by_label(rows, model, workspace)
    labelling = time.perf_counter() - began - reading - solving
    in_all, seconds = source.n_rows, None
    if in_all is not None:
        seconds = solving + in_all / n_rows * (READINGS * reading + (READINGS - 1) * labelling)
    missing = dict(zip(model.schema.names, model.n_missing, strict=True))
    return {
        "kind": "dry run",
        "rows_read": rows.n_rows,
        "rows": in_all,
        "views": {
            name: {
                "columns": width,
                "missing": missing[name],
                "all_zero": model.zero_rows[name],
                **gaps_of(model, name),
                "scale": scale,
                "alpha": model.ridges[name],
            }
            for name, width, scale in zip(
                model.schema.names, model.schema.widths, model.scaling.names, strict=True
            )
        },
        "n_clusters": model.clusters.n_clusters,
        "consensus": model.consensus,
        "n_anchors": None if model.cut is None else model.total.n_clusters,
        "choices": [str(choice) for choice in model.choices],
        "left_out": list(source.left_out),
        "seconds": None if seconds is None else round(seconds, 1),
        "memory": peak_memory(),
    }


def lines(found: dict[str, Any]) -> list[str]:
    """The same as text."""
    n_read, in_all = found["rows_read"], found["rows"]
    out = [f"read {n_read:,} rows{'' if in_all is None else f' of {in_all:,}'}; nothing is written"]
    for name, view in found["views"].items():
        columns = "not seen yet" if view["columns"] is None else f"{view['columns']:,} columns"
        share = f"missing in {view['missing'] / n_read:.1%} of them{all_zero(view, n_read)}{in_gaps(view)}"
        out.append(f"  view {name}: {columns}, {share}; scale {view['scale']}, ridge {view['alpha']:.3g}")
    if found["left_out"]:
        out.append(f"  no views: {', '.join(found['left_out'])}")
    anchors = "" if found["n_anchors"] is None else f", {found['consensus']} of {found['n_anchors']} anchors"
    out.append(f"clusters: {found['n_clusters']}{anchors}")
    out += [f"  {choice}" for choice in found["choices"]]
    if found["seconds"] is not None:
        out.append(
            f"time to expect: {found['seconds']:.0f} s, reading the rows {READINGS} times, as on these"
        )
    if found["memory"] is not None:
        out.append(
            f"memory to expect: {found['memory'] / 2**20:,.0f} MiB, about the same for any number of rows"
        )
    return out
