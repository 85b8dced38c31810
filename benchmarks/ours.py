"""viewpass as it is benchmarked: the published procedure, default settings, and these without anchors."""

from __future__ import annotations

from typing import Any

import viewpass as vp

PUBLISHED = "viewpass, published start"
START = "viewpass, default without anchors"
DEFAULT = "viewpass, default settings"
METHODS: dict[str, dict[str, Any]] = {
    PUBLISHED: {"init": "random", "scale": "unit", "n_anchors": None},
    START: {"n_anchors": None},
    DEFAULT: {},
}


def warmup_rows(method: str, n_clusters: int) -> int:
    """Rows the start gathers, by the defaults of OPIMC."""
    return 0 if method == PUBLISHED else max(4000, 50 * n_clusters)


def fit(
    views: list[Any], settings: dict[str, Any], method: str, n_threads: int, *, labels: bool = False
) -> vp.OPIMC:
    """Fit with the number of clusters, chunk size and passes of the workload; anchors are cut, too."""
    sizes = {name: settings[name] for name in ("n_clusters", "chunk_size", "n_passes")}
    more = {"compute_labels": labels, "random_state": 0, "n_threads": n_threads}
    model = vp.OPIMC(**sizes, **METHODS[method], **more).fit(views)
    _ = model.stream_labels_  # with anchors, computed when first used
    return model
