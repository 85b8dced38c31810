"""viewpass as it is benchmarked: default settings, and the published procedure."""

from __future__ import annotations

from typing import Any

import numpy as np

import viewpass as vp

DEFAULT = "viewpass, default settings"
PUBLISHED = "viewpass, published OPIMC"
METHODS = (PUBLISHED, DEFAULT)


def fit(views: list[Any], settings: dict[str, Any], method: str, n_threads: int) -> np.ndarray:
    """The labels of a fit with the number of clusters of the workload, final ones where there are any.

    The published procedure also takes chunk size and passes of the workload; its labels are the stream's own.
    """
    common = {"n_clusters": settings["n_clusters"], "random_state": 0, "n_threads": n_threads}
    if method == DEFAULT:
        return vp.ViewPass(**common).fit(views).labels_
    sizes = {name: settings[name] for name in ("chunk_size", "n_passes")}
    return vp.OPIMC(**common, **sizes, compute_labels=False).fit(views).stream_labels_
