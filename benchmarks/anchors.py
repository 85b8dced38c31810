"""What anchors cost: a pass with M of them and their graph, beside one distance pass with M centres."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import real
from benchmarks.look import Look

ROWS, CLUSTERS, CHUNK = 70_000, 10, 2000
NUMBERS = (200, 1000)  # of anchors: 20 a cluster, and as many as there are by default at most
GRAPH, DEFAULT = "anchors and graph", "default settings"
SETTINGS: dict[str, dict[str, Any]] = {GRAPH: {"scale": "unit", "consensus": "graph"}, DEFAULT: {}}


def anchors(job: dict[str, Any]) -> dict[str, Any]:
    """Run in a process of its own; the cut into clusters (`stream_labels_`) is timed apart."""
    from viewpass import OPIMC
    from viewpass.evaluate import nmi, remove_per_view

    data = real.shuffled("mnist70k_3v", job["rows"], seed=1)
    there = remove_per_view(data.n_rows, len(data.views), 0.3, 1)
    for v, view in enumerate(data.views):
        view[~there[:, v]] = np.nan
    look = Look(data.views, job["anchors"], CHUNK, 1)
    found: dict[str, Any] = {name: {"fits": [], "cuts": []} for name in SETTINGS}
    looks = []
    for number in range(1 + job["runs"]):  # the first compiles, or loads what was compiled
        for name, settings in SETTINGS.items():
            model = OPIMC(
                CLUSTERS,
                chunk_size=CHUNK,
                n_anchors=job["anchors"],
                compute_labels=False,
                random_state=0,
                n_threads=job["threads"],
                **settings,
            )
            looks += [_seconds(look) for _ in range(3)]
            fit = _seconds(lambda m=model: m.fit(data.views))
            looks += [_seconds(look) for _ in range(3)]
            cut = _seconds(lambda m=model: m.stream_labels_)
            if number > 0:
                found[name]["fits"].append(fit)
                found[name]["cuts"].append(cut)
            found[name]["nmi"] = nmi(data.classes, model.stream_labels_)
            found[name]["consensus"] = model.consensus_
    return {"look": min(looks), "found": found}


def _seconds(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
