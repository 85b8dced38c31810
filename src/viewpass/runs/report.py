"""The report of a run (run.json): rows, views, choices, clusters, memory and versions."""

from __future__ import annotations

import platform
import sys
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from viewpass.estimators.clusterer import ViewClusterer
from viewpass.kernels.grid import Integers
from viewpass.model.model import Model
from viewpass.streams.identities import Identities
from viewpass.version import __version__

LIBRARIES = ("numpy", "scipy", "scikit-learn", "safetensors", "pyarrow")


def figures(model: Model, sizes: Integers) -> dict[str, Any]:
    """Rows, gaps, choices, clusters, memory and versions."""
    missing = dict(zip(model.schema.names, model.n_missing, strict=True))
    return {
        "rows": model.n_rows,
        "rows_without_any_view": model.read.n_without_views,
        "views": {
            name: {
                "columns": width,
                "missing": missing[name],
                "all_zero": model.zero_rows[name],
                **gaps_of(model, name),
                "scale": scale,
                "alpha": model.ridges[name],
                "weight": weight,
            }
            for name, width, scale, weight in zip(
                *(model.schema.names, model.schema.widths, model.scaling.names, model.view_weights),
                strict=True,
            )
        },
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


def gaps_of(model: Model, name: str) -> dict[str, dict[str, int]]:
    """Values missing inside rows of a view, by what is counted; nothing if there are none."""
    counts = model.gap_counts[name]
    return {"gaps": counts._asdict()} if any(counts) else {}


def missing_rows(estimator: ViewClusterer) -> list[int]:
    """Rows without each view that a fitted estimator has read."""
    return estimator._fitted_model().n_missing


def peak_memory() -> int | None:
    """The most memory this process has had, in bytes; None where the system does not say."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak if sys.platform == "darwin" else peak * 1024)
