"""The first call: import, and a fit of 1,000 rows with nothing compiled, then with a warm cache."""

from __future__ import annotations

import logging
import time
from typing import Any

# viewpass is imported inside `first`, which times that.

ROWS = 1000
KINDS = ("dense", "sparse")


def first(job: dict[str, Any]) -> dict[str, Any]:
    """Run in a process of its own: what it compiles goes to the folder NUMBA_CACHE_DIR."""
    notices: list[str] = []
    listener = logging.Handler()
    listener.emit = lambda record: notices.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("viewpass").addHandler(listener)
    began = time.perf_counter()
    from viewpass import OPIMC

    importing = time.perf_counter() - began
    views, settings = _case(job["data"])
    fits = []
    for _ in range(1 + job["runs"]):
        model = OPIMC(init="random", scale="unit", n_anchors=None, random_state=0, n_threads=job["threads"])
        began = time.perf_counter()
        model.set_params(compute_labels=False, **settings).fit(views)
        fits.append(time.perf_counter() - began)
    return {"import": importing, "first_fit": fits[0], "later_fits": fits[1:], "notices": notices}


def _case(kind: str) -> tuple[list[Any], dict[str, Any]]:
    from benchmarks import made

    if kind == "dense":
        data = made.dense(ROWS, widths=(512, 2000, 1000), n_classes=31, noise=3.0, missing=0.4, seed=1)
        return data.views, {"n_clusters": 31, "chunk_size": 2000}
    data = made.sparse(ROWS, widths=(21531, 24893), n_classes=6, nonzeros=80, missing=0.4, seed=3)
    return data.views, {"n_clusters": 6, "chunk_size": 2000}
