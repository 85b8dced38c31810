"""What anchors cost: a pass with M anchors and their graph, compared with a distance pass to M centres."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import real
from benchmarks.distance_pass import DistancePass
from benchmarks.measure import timed

ROWS, CLUSTERS, CHUNK = 70_000, 10, 2000
NUMBERS = (200, 1000)  # of anchors: 20 per cluster, and the default's maximum
GRAPH, DEFAULT = "anchors and graph", "default settings"
SETTINGS: dict[str, dict[str, Any]] = {GRAPH: {"scale": "unit", "consensus": "graph"}, DEFAULT: {}}


def anchors(job: dict[str, Any]) -> dict[str, Any]:
    """Run in a process of its own; the cut into clusters (`stream_labels_`) is timed separately."""
    from viewpass import OPIMC
    from viewpass.evaluate import nmi, remove_per_view

    data = real.shuffled("mnist70k_3v", job["rows"], seed=1)
    there = remove_per_view(data.n_rows, len(data.views), 0.3, 1)
    for v, view in enumerate(data.views):
        view[~there[:, v]] = np.nan
    distances = DistancePass(data.views, job["anchors"], CHUNK, 1)
    found: dict[str, Any] = {name: {"fits": [], "cuts": []} for name in SETTINGS}
    passes = []
    for number in range(1 + job["runs"]):  # the first one loads what a fit calls
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
            passes += [timed(distances)[0] for _ in range(3)]
            fit, _ = timed(lambda m=model: m.fit(data.views))
            passes += [timed(distances)[0] for _ in range(3)]
            cut, _ = timed(lambda m=model: m.stream_labels_)
            if number > 0:
                found[name]["fits"].append(fit)
                found[name]["cuts"].append(cut)
            found[name]["nmi"] = nmi(data.classes, model.stream_labels_)
            found[name]["consensus"] = model.consensus_
    return {"pass": min(passes), "found": found}
