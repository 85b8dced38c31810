"""The report of a run (run.json: rows, views, choices, memory, versions), and its summary and page."""

from __future__ import annotations

import platform
import sys
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from viewpass.errors import FileError
from viewpass.estimators.persistence import load
from viewpass.estimators.report_methods import places_of_model
from viewpass.kernels.grid import Integers
from viewpass.labels.formats import which_labels
from viewpass.model.model import Model
from viewpass.report.page import Page, report_page
from viewpass.report.summary.fields import Summary
from viewpass.report.summary.overview import summarise
from viewpass.report.summary.row_sample import row_sampler
from viewpass.runs.folder import RunFolder
from viewpass.runs.labels import RunLabels
from viewpass.streams.identities import Identities
from viewpass.version import __version__

LIBRARIES = ("numpy", "scipy", "scikit-learn", "safetensors", "pyarrow")


def figures(model: Model, sizes: Integers) -> dict[str, Any]:
    """Rows, gaps, choices, clusters, memory and versions."""
    return {
        "rows": model.n_rows,
        "rows_without_any_view": model.read.n_without_views,
        "views": view_figures(model),
        "choices": [asdict(choice) for choice in model.choices],
        "clusters": sizes.tolist(),
        "peak_memory": peak_memory(),
        "versions": {
            "viewpass": __version__,
            "python": platform.python_version(),
            **{name: version(name) for name in LIBRARIES},
        },
    }


def stream_figures(identities: Identities) -> dict[str, Any]:
    """Ids and events; nothing where clusters are numbered as the first ones were."""
    if identities.plain:
        return {}
    return {
        "cluster_ids": identities.ids.tolist(),
        "events": [event.as_dict() for event in identities.events],
        "timeline": [{"row": row, "rows": rows} for row, rows in identities.timeline],
    }


def view_figures(model: Model) -> dict[str, dict[str, Any]]:
    """What is known of each view: columns, rows and values that are missing, scale, ridge and weight."""
    schema, scaling = model.schema, model.scaling
    known = zip(schema.names, schema.widths, model.n_missing, scaling.names, model.view_weights, strict=True)
    found = dict[str, dict[str, Any]]()
    for name, width, missing, scale, weight in known:
        found[name] = {"columns": width, "missing": missing, "all_zero": model.zero_rows[name]}
        if any(gaps := model.gap_counts[name]):
            found[name]["gaps"] = gaps._asdict()
        found[name] |= {"scale": scale, "alpha": model.ridges[name], "weight": weight}
    return found


def peak_memory() -> int | None:
    """The most memory this process has had, in bytes; None where the system does not say."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak if sys.platform == "darwin" else peak * 1024)


ROWS = 2**18  # of label files, at a time


def summary(run: Any, *, rows: bool = True) -> Summary:
    """The summary of a finished run, from its model and its label file.

    Parameters
    ----------
    run : path of a run folder
    rows : bool, default=True
        Whether it may hold rows (ids, kept columns); False for data that must not leave.

    Returns
    -------
    Summary
        A dict that JSON can hold; `viewpass.report.summary.fields` documents its fields.
    """
    path = Path(run)
    labels, folder = RunLabels(path), RunFolder(path)
    which, model = which_labels(labels.schema), load(folder.model)
    if labels.n_rows != model._learnt.n_rows:
        raise FileError(
            f"{folder.model} has learnt {model._learnt.n_rows:,} rows, and the run has labels of "
            f"{labels.n_rows:,}: it was updated since. `viewpass inspect` describes the model; "
            "`viewpass fit` makes a run of all rows."
        )
    sampler = row_sampler(model._learnt.sample)
    return summarise(model, labels.tables(ROWS), rows=rows, which=which, sampler=sampler)


def run_page(path: Path, found: Summary) -> Page:
    """The report of a finished run, of which this is the summary."""
    return report_page(found, places_of_model(load(RunFolder(path).model)._fitted_model()))


def write_run_page(folder: RunFolder, found: Summary) -> None:
    """Write the report of a finished run into its folder: nothing else is left there, whenever it ends."""
    page = run_page(folder.path, found)
    try:
        folder.reopen()
        page.write(folder.page, folder.growing)
    finally:
        folder.clear()
