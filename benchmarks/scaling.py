"""How the time grows with ten times the rows, twice the clusters or twice the columns; in one process."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks import made, ours
from benchmarks.data import Data
from benchmarks.distance_pass import DistancePass
from benchmarks.measure import Job, Numbers, timed

FULL_ROWS, QUICK_ROWS = 100_000, 20_000
N_CLUSTERS, CHUNK = 50, 2000
WIDTHS = (256, 128)


def scaling(job: Job) -> Numbers:
    """Seconds of viewpass and of one distance pass, for the base case and each larger one, in turn."""
    n_rows, n_threads = job["rows"], job["threads"]
    cases = _cases(n_rows)
    passes = {name: DistancePass(views, n_clusters, CHUNK, 1) for name, (views, n_clusters) in cases.items()}
    spent: dict[str, dict[str, list[float]]] = {name: {"ours": [], "pass": []} for name in cases}
    for views, n_clusters in cases.values():
        few = [view[: 3 * CHUNK] for view in views]
        ours.fit(few, _settings(n_clusters), ours.DEFAULT, n_threads)
    for _ in range(job["runs"]):
        for name, (views, n_clusters) in cases.items():
            settings = _settings(n_clusters)
            seconds, _ = timed(partial(ours.fit, views, settings, ours.DEFAULT, n_threads))
            spent[name]["ours"].append(seconds)
            spent[name]["pass"].append(timed(passes[name])[0])
    least = {name: {what: min(taken) for what, taken in each.items()} for name, each in spent.items()}
    growth = {
        name: {what: least[name][what] / least["base"][what] for what in ("ours", "pass")}
        for name in cases
        if name != "base"
    }
    return {"base_rows": n_rows, "seconds": spent, "growth": growth}


def _cases(n_rows: int) -> dict[str, tuple[list[Any], int]]:
    tall = _cloud(10 * n_rows, WIDTHS).views
    wide = _cloud(n_rows, tuple(2 * width for width in WIDTHS)).views
    base = [np.array(view[:n_rows]) for view in tall]
    return {
        "base": (base, N_CLUSTERS),
        "10 x the rows": (tall, N_CLUSTERS),
        "2 x the clusters": (base, 2 * N_CLUSTERS),
        "2 x the columns": (wide, N_CLUSTERS),
    }


def _cloud(n_rows: int, widths: tuple[int, ...]) -> Data:
    return made.dense(n_rows, widths=widths, n_classes=100, noise=3.0, missing=0.3, seed=9)


def _settings(n_clusters: int) -> dict[str, Any]:
    return {"n_clusters": n_clusters, "chunk_size": CHUNK, "n_passes": 1}
