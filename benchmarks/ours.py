"""viewpass itself."""

from __future__ import annotations

from typing import Any

import viewpass as vp

WITHOUT_ANCHORS = {"scale": "unit", "n_anchors": None}
STARTS: dict[str, dict[str, Any]] = {
    "viewpass, published start": {"init": "random", **WITHOUT_ANCHORS},
    "viewpass, default start": {"init": "auto", **WITHOUT_ANCHORS},
    "viewpass, default settings": {},  # what a user gets who sets nothing
}
PUBLISHED, DEFAULT, NOTHING_SET = STARTS


def warmup_rows(method: str, n_clusters: int) -> int:
    """Rows the start gathers, by the defaults of OPIMC."""
    return 0 if method == PUBLISHED else max(4000, 50 * n_clusters)


def fit(
    views: list[Any], settings: dict[str, Any], method: str, n_threads: int, *, labels: bool = False
) -> vp.OPIMC:
    """Fit as anyone would; the settings are those of the workload."""
    model = vp.OPIMC(
        n_clusters=settings["n_clusters"],
        chunk_size=settings["chunk_size"],
        n_passes=settings["n_passes"],
        **STARTS[method],
        compute_labels=labels,
        random_state=0,
        n_threads=n_threads,
    )
    return model.fit(views)
