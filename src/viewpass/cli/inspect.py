"""`viewpass inspect`: describes a model file, a run folder or a table."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import typer

from viewpass.cli.arguments import open_data
from viewpass.cli.clusters import SHOWN, cluster_lines
from viewpass.errors import FileError, printable
from viewpass.estimators.persistence import load
from viewpass.labels.formats import which_labels
from viewpass.model.choice import Choice
from viewpass.runs.folder import RunFolder, read_checkpoint
from viewpass.runs.labels import ROWS, RunLabels, is_label_file
from viewpass.runs.summary import summary, view_figures
from viewpass.sources.bundle import Bundle, load_bundle
from viewpass.sources.mat import load_mat
from viewpass.sources.source import Source
from viewpass.store.container.frame import is_ours
from viewpass.views.rows import MeasuredRows

MOST_CLUSTERS = 2**24  # that a label file may have
CHUNK = 8192
OF_RUN = "kind", "path", "finished", "seconds", "peak_memory", "sessions"  # beside its summary
LABELS = {
    "final": "those under the final centres",
    "stream": "those of the stream, as assigned when rows were read",
}
READERS: dict[str, Callable[[Path], Bundle]] = {".npz": load_bundle, ".mat": load_mat}
SHOWN_PATTERNS, SHOWN_CLUSTERS = 12, 200  # in the text, which says how many it leaves out; --json has all


def kind_of(path: Path) -> str:
    """Whether a path is a "run", a "model", "labels", or "data"."""
    folder = RunFolder(path)
    if path.is_dir() and (folder.finished or folder.staging.is_dir()):
        return "run"
    if path.is_file() and is_ours(path):
        return "model"
    return "labels" if path.is_file() and is_label_file(path) else "data"


def of_labels(path: Path) -> dict[str, Any]:
    """Which labels a file holds, and the rows of each cluster."""
    labels, sizes, n_none = RunLabels(path), np.zeros(0, dtype=np.int64), 0
    for table in labels.tables(ROWS, ["cluster"]):
        clusters = np.asarray(table["cluster"])
        if clusters.dtype != np.int32 or clusters.max(initial=-1) > MOST_CLUSTERS:
            raise FileError(f"{path} is damaged (its clusters are no labels).")
        counts = np.bincount(clusters[clusters >= 0], minlength=len(sizes))
        counts[: len(sizes)] += sizes
        sizes, n_none = counts, n_none + int((clusters < 0).sum())
    return {
        "kind": "labels",
        "path": str(path),
        "which_labels": which_labels(labels.schema),
        "rows": labels.n_rows,
        "rows_without_any_view": n_none,
        "clusters": sizes.tolist(),
    }


def run(
    what: Sequence[str],
    views: Sequence[str],
    id: str | None,
    *,
    most_rows: int | None,
    all_clusters: bool,
    rows: bool,
    as_json: bool,
) -> None:
    """Print the description, as text or as JSON."""
    path = Path(what[0])
    kind = kind_of(path) if len(what) == 1 else "data"
    if kind == "run":
        found = of_run(path)
    elif kind == "model":
        found = of_model(path)
    elif kind == "labels":
        found = of_labels(path)
    else:
        found = of_data(open_data(what, views, id), most_rows)
        if len(what) == 1 and path.suffix.lower() in READERS:
            found |= of_classes(READERS[path.suffix.lower()](path))
    if as_json:
        if kind == "run" and found["finished"]:
            found = {name: found[name] for name in OF_RUN} | summary(path, rows=rows)
        typer.echo(json.dumps(found, ensure_ascii=False))
        return
    text = lines(found)
    if kind == "run" and found["finished"]:
        text += cluster_lines(summary(path), None if all_clusters else SHOWN)
    typer.echo("\n".join(map(printable, text)))


def of_model(path: Path) -> dict[str, Any]:
    """Contents of a model file."""
    estimator = load(path)
    n_rows = estimator.n_samples_seen_
    statistics, anchors = estimator.statistics_, getattr(estimator, "anchors_", None)
    losses: Any = getattr(estimator, "loss_curve_", ())
    settings = {key: repr(value) for key, value in estimator.get_params().items() if key != "n_threads"}
    return {
        "kind": "model",
        "path": str(path),
        "estimator": type(estimator).__name__,
        "rows": n_rows,
        "rows_without_any_view": estimator.n_rows_without_views_,
        "views": view_figures(estimator._fitted_model()),
        "n_clusters": statistics.n_clusters,
        "consensus": getattr(estimator, "consensus_", "plain"),
        "n_anchors": None if anchors is None else len(anchors),
        "cluster_rows_by_view": {
            name: own.tolist() for name, own in zip(estimator.view_names_in_, estimator.counts_, strict=True)
        },
        "choices": [asdict(choice) for choice in getattr(estimator, "choices_", ())],
        "loss": float(losses[-1]) if len(losses) else None,
        "settings": settings,
    }


def of_run(path: Path) -> dict[str, Any]:
    """The report of a finished run, or the progress of an unfinished one."""
    folder = RunFolder(path)
    if folder.finished:
        found = {**folder.figures(), "kind": "run", "path": str(path), "finished": True}
        try:
            lines(found)  # which takes what a report has
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as problem:
            raise FileError(f"{folder.report} is damaged ({type(problem).__name__}: {problem}).") from problem
        return found
    if not folder.begun:
        return {"kind": "run", "path": str(path), "finished": False, "what": "sampling", "row": 0}
    at = read_checkpoint(folder)
    work = at.part("work")
    if "fitting" in work.values:
        fitting = work.part("fitting")
        stage, row = fitting.number("stage"), fitting.number("row")
        what = f"tally {stage}" if stage else "sampling"
    else:
        what, row = "reading", work.part("learning").number("n_rows")
    return {
        "kind": "run",
        "path": str(path),
        "finished": False,
        "what": what,
        "row": row,
        "settings": at.get("settings"),
        "source": at.get("source"),
    }


def of_data(source: Source, most_rows: int | None) -> dict[str, Any]:
    """Views, how many rows lack them, and which are missing together; of the first rows, or of all."""
    names = source.schema.names
    patterns: Counter[int] = Counter()
    schema, n_rows = source.schema, 0
    weights, n_all_zero = 2 ** np.arange(len(names)), np.zeros(len(names), dtype=np.int64)
    left = most_rows or sys.maxsize
    for chunk in source.chunks(min(CHUNK, left)):
        schema = schema.merged(chunk.schema)
        rows = MeasuredRows(chunk).measure()
        seen = rows.inverse[:, :left] > 0
        n_all_zero += rows.n_all_zero(seen.shape[1])
        found, numbers = np.unique(weights @ seen, return_counts=True)
        patterns.update(dict(zip(found.tolist(), numbers.tolist(), strict=True)))
        n_rows += seen.shape[1]
        left -= seen.shape[1]
        if not left:
            break
    present = [sum(n for bits, n in patterns.items() if bits >> v & 1) for v in range(len(names))]
    return {
        "kind": "data",
        "rows": n_rows,
        "rows_in_all": source.n_rows,
        "rows_without_any_view": patterns[0],
        "views": {
            name: {"columns": width, "missing": n_rows - n, "all_zero": n_zero}
            for name, width, n, n_zero in zip(names, schema.widths, present, n_all_zero.tolist(), strict=True)
        },
        "patterns": [
            {"views": [name for v, name in enumerate(names) if bits >> v & 1], "rows": n}
            for bits, n in sorted(patterns.items(), key=lambda item: (-item[1], item[0]))
        ],
    }


def of_classes(bundle: Bundle) -> dict[str, Any]:
    """The rows of each class, and how a MATLAB file was read."""
    sizes = [] if bundle.labels is None else np.unique(bundle.labels, return_counts=True)[1].tolist()
    return {"classes": sizes, "read_as": list(bundle.notes)}


def lines(found: dict[str, Any]) -> list[str]:
    """The description as text."""
    if found["kind"] == "run" and not found["finished"]:
        where = f"{found['what']}, after row {found['row']:,}"
        return [
            f"an unfinished run, {where}: continue with `viewpass fit ... --out {found['path']} --resume`"
        ]
    n_rows = found["rows"]
    if found["kind"] == "labels":
        which = LABELS.get(found["which_labels"], found["which_labels"])
        return [
            f"labels of {n_rows:,} rows: {which}",
            f"clusters: {len(found['clusters'])}, rows of each: {_few(found['clusters'])}",
        ]
    titles = {"model": f"{found.get('estimator')} model of", "run": "a finished run over", "data": "data:"}
    out = [f"{titles[found['kind']]} {n_rows:,} rows"]
    out += view_lines(found["views"], n_rows)
    if found["rows_without_any_view"]:
        out.append(f"  rows without any view: {found['rows_without_any_view']:,}")
    if found.get("patterns"):
        out.append("views that rows have:")
        for pattern in found["patterns"][:SHOWN_PATTERNS]:
            which = " + ".join(pattern["views"]) or "none"
            out.append(f"  {_share(pattern['rows'], n_rows):>6}  {pattern['rows']:>12,}  {which}")
        if len(found["patterns"]) > SHOWN_PATTERNS:
            out.append(f"  and {len(found['patterns']) - SHOWN_PATTERNS} more patterns (--json shows all)")
    if found.get("classes"):
        out.append(f"classes: {len(found['classes'])}, rows of each: {_few(found['classes'])}")
    out += [f"read as: {note}" for note in found.get("read_as", ())]
    for choice in found.get("choices", ()):
        out.append(f"chosen: {Choice(**choice)}")
    if found["kind"] == "run":
        out.append(f"clusters: {len(found['clusters'])}, rows of each: {_few(found['clusters'])}")
        out.append(f"labels: {LABELS[found.get('which_labels', 'stream')]}")
        out.append(f"seconds: {found['seconds']:.1f}")
    if found["kind"] == "model":
        consensus, n_anchors = found["consensus"], found["n_anchors"]
        anchors = "" if n_anchors is None else f" ({consensus} of {n_anchors} anchors)"
        out.append(f"clusters: {found['n_clusters']}{anchors}, rows of each by view:")
        for name, counts in found["cluster_rows_by_view"].items():
            out.append(f"  {printable(name)}: {_few(counts)}")
        out.append("settings: " + ", ".join(f"{key}={value}" for key, value in found["settings"].items()))
    return out


def view_lines(views: dict[str, dict[str, Any]], n_rows: int) -> list[str]:
    """A line for each view: its columns, what is missing, and its scale, ridge and weight where known."""
    width = max(len(printable(name)) for name in views)
    lines = []
    for name, view in views.items():
        said = ["not seen yet" if view["columns"] is None else f"{view['columns']:,} columns"]
        if view.get("weight") == 0:
            said.append("left out (weight 0)")
        else:
            zeros = f" ({_share(view['all_zero'], n_rows)} all zero)" if view.get("all_zero") else ""
            said.append(f"missing in {_share(view['missing'], n_rows)} of rows{zeros}")
            if gaps := view.get("gaps"):
                few = f"; {gaps['too_few']:,} rows lack it with too few values" if gaps["too_few"] else ""
                said.append(f"{gaps['values']:,} values missing inside {gaps['rows']:,} rows{few}")
            said += [f"scale {view['scale']}, ridge {view['alpha']:.3g}"] if "scale" in view else []
            said += [f"weight {view['weight']:.3g}"] if view.get("weight", 1.0) != 1.0 else []
        lines.append(f"  view {printable(name):<{width}}  {', '.join(said)}")
    return lines


def _few(counts: list[int]) -> str:
    more = len(counts) - SHOWN_CLUSTERS
    shown = " ".join(f"{n:,}" for n in counts[:SHOWN_CLUSTERS])
    return f"{shown} and {more:,} more (--json shows all)" if more > 0 else shown


def _share(part: int, whole: int) -> str:
    return f"{part / max(whole, 1):.1%}"
