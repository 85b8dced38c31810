"""`viewpass inspect`: what a model, a run or a table is."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import typer

from viewpass.cluster.persistence import load
from viewpass.errors import FileError
from viewpass.sources.source import Source
from viewpass.store.checkpoint import read_checkpoint
from viewpass.store.container.frame import is_ours
from viewpass.store.folder import RunFolder
from viewpass.views.rows import MeasuredRows

CHUNK = 8192
SHOWN = 12  # patterns and clusters told to people; --json tells all


def kind_of(path: Path) -> str:
    """What a path leads to: a run, a model, or else data."""
    folder = RunFolder(path)
    if path.is_dir() and (folder.finished or folder.staging.is_dir()):
        return "run"
    return "model" if path.is_file() and is_ours(path) else "data"


def run(told: dict[str, Any], *, as_json: bool) -> None:
    """Say it."""
    if as_json:
        typer.echo(json.dumps(told))
        return
    for line in lines(told):
        typer.echo(line)


def of_model(path: Path) -> dict[str, Any]:
    """What a model file holds."""
    estimator = load(path)
    model = estimator._fitted_model()
    views = {
        name: {"columns": width, "missing": model.n_rows - observed, "scale": scale, "weight": weight}
        for name, width, observed, scale, weight in zip(
            *(model.schema.names, model.schema.widths, model.total.squares),
            *(model.scaling.names, model.view_weights),
            strict=True,
        )
    }
    settings = {key: repr(value) for key, value in estimator.get_params().items() if key != "n_threads"}
    return {
        "kind": "model",
        "path": str(path),
        "estimator": type(estimator).__name__,
        "rows": model.n_rows,
        "rows_without_any_view": model.n_without_views,
        "views": views,
        "n_clusters": model.clusters.n_clusters,
        "consensus": model.consensus,
        "n_anchors": None if model.cut is None else model.total.n_clusters,
        "cluster_rows_by_view": dict(
            zip(model.schema.names, [counts.tolist() for counts in model.clusters.counts], strict=True)
        ),
        "loss": model.loss_curve[-1] if model.loss_curve else None,
        "settings": settings,
    }


def of_run(path: Path) -> dict[str, Any]:
    """A finished run's report, or how far an unfinished one is."""
    folder = RunFolder(path)
    if folder.finished:
        try:
            report = json.loads(folder.report.read_text())
        except ValueError as problem:
            raise FileError(f"{folder.report} is damaged ({problem}).") from problem
        return {"kind": "run", "path": str(path), "finished": True, **report}
    if not folder.begun:
        return {"kind": "run", "path": str(path), "finished": False, "pass": 1, "row": 0}
    at = read_checkpoint(folder).part("run")
    return {
        "kind": "run",
        "path": str(path),
        "finished": False,
        "pass": at.number("pass") + 1,
        "row": at.number("row"),
        "settings": at.get("settings"),
        "source": at.get("source"),
    }


def of_data(source: Source, most_rows: int | None) -> dict[str, Any]:
    """Views, their gaps and which of them are missing together; reads the data once."""
    names = source.schema.names
    patterns: Counter[int] = Counter()
    schema, n_rows = source.schema, 0
    weights = 2 ** np.arange(len(names))
    for chunk in source.chunks(CHUNK):
        schema = schema.merged(chunk.schema)
        rows = MeasuredRows(chunk).measure()
        found, numbers = np.unique(weights @ (rows.inverse > 0), return_counts=True)
        patterns.update(dict(zip(found.tolist(), numbers.tolist(), strict=True)))
        n_rows += chunk.n_rows
        if most_rows is not None and n_rows >= most_rows:
            break
    present = [sum(n for bits, n in patterns.items() if bits >> v & 1) for v in range(len(names))]
    return {
        "kind": "data",
        "rows": n_rows,
        "rows_in_all": source.n_rows,
        "rows_without_any_view": patterns[0],
        "views": {
            name: {"columns": width, "missing": n_rows - n}
            for name, width, n in zip(names, schema.widths, present, strict=True)
        },
        "patterns": [
            {"views": [name for v, name in enumerate(names) if bits >> v & 1], "rows": n}
            for bits, n in sorted(patterns.items(), key=lambda item: (-item[1], item[0]))
        ],
    }


def lines(told: dict[str, Any]) -> list[str]:
    """The same for people."""
    if told["kind"] == "run" and not told["finished"]:
        where = f"pass {told['pass']}, after row {told['row']:,}"
        return [f"an unfinished run, {where}: go on with `viewpass fit ... --out {told['path']} --resume`"]
    n_rows = told["rows"]
    titles = {"model": f"{told.get('estimator')} model of", "run": "a finished run over", "data": "data:"}
    out = [f"{titles[told['kind']]} {n_rows:,} rows"]
    width = max(len(name) for name in told["views"])
    for name, view in told["views"].items():
        columns = "not seen yet" if view["columns"] is None else f"{view['columns']:,} columns"
        missing = f"missing in {_share(view['missing'], n_rows)} of rows"
        scale = f", scale {view['scale']}" if "scale" in view else ""
        weight = f", weight {view['weight']:.3g}" if view.get("weight", 1.0) != 1.0 else ""
        out.append(f"  view {name:<{width}}  {columns}, {missing}{scale}{weight}")
    if told["rows_without_any_view"]:
        out.append(f"  rows without any view: {told['rows_without_any_view']:,}")
    if told.get("patterns"):
        out.append("views that rows have:")
        for pattern in told["patterns"][:SHOWN]:
            which = " + ".join(pattern["views"]) or "none"
            out.append(f"  {_share(pattern['rows'], n_rows):>6}  {pattern['rows']:>12,}  {which}")
        out += _more(told["patterns"], "patterns")
    if told["kind"] == "run":
        out += _clusters(told["clusters"])
        out.append(f"seconds: {told['seconds']:.1f}")
    if told["kind"] == "model":
        made = "" if told["n_anchors"] is None else f" ({told['consensus']} of {told['n_anchors']} anchors)"
        out.append(f"clusters: {told['n_clusters']}{made}, rows of each by view:")
        for name, counts in told["cluster_rows_by_view"].items():
            few = " ".join(f"{n:,}" for n in counts[:SHOWN])
            out.append(f"  {name:<{width}}  {few}{' ...' if len(counts) > SHOWN else ''}")
        out.append("settings: " + ", ".join(f"{key}={value}" for key, value in told["settings"].items()))
    return out


def _clusters(sizes: list[int]) -> list[str]:
    few = " ".join(f"{n:,}" for n in sizes[:SHOWN])
    return [f"clusters: {len(sizes)}, rows of each: {few}{' ...' if len(sizes) > SHOWN else ''}"]


def _more(items: list[Any], what: str) -> list[str]:
    return [f"  and {len(items) - SHOWN} more {what}"] if len(items) > SHOWN else []


def _share(part: int, whole: int) -> str:
    return f"{part / max(whole, 1):.1%}"
