"""The first call in a new process: import, a first fit of 1,000 rows, and later ones."""

from __future__ import annotations

import time
from typing import Any

# viewpass is imported inside `first`, which times that.

ROWS = 1000
KINDS = ("dense", "sparse")


def first(job: dict[str, Any]) -> dict[str, Any]:
    """Run in a process of its own."""
    began = time.perf_counter()
    from viewpass import ViewPass

    importing = time.perf_counter() - began
    views, n_clusters = _case(job["data"])
    fits = []
    for _ in range(1 + job["runs"]):
        model = ViewPass(n_clusters, random_state=0, n_threads=job["threads"])
        began = time.perf_counter()
        model.fit(views)
        fits.append(time.perf_counter() - began)
    return {"import": importing, "first_fit": fits[0], "later_fits": fits[1:]}


def _case(kind: str) -> tuple[list[Any], int]:
    from benchmarks import made

    if kind == "dense":
        data = made.dense(ROWS, widths=(512, 2000, 1000), n_classes=31, noise=3.0, missing=0.4, seed=1)
        return data.views, 31
    data = made.sparse(ROWS, widths=(21531, 24893), n_classes=6, nonzeros=80, missing=0.4, seed=3)
    return data.views, 6
