"""What settings mean for the stream: checked, with "auto" resolved where no row is needed for it."""

from __future__ import annotations

from typing import Any

from viewpass.cluster.base import check_whole
from viewpass.cluster.scales import checked_scale
from viewpass.cluster.starts import checked_consensus, checked_init
from viewpass.cluster.weights import checked_weights
from viewpass.core.model import Plan
from viewpass.core.step import Rules

WARMUP_ROWS = 4000
WARMUP_ROWS_A_CLUSTER = 50


def plan_of(settings: Any, names: tuple[str, ...]) -> Plan:
    """The plan of a stream over views of these names; refuses settings that cannot be."""
    n_clusters = None if settings.n_clusters == "auto" else int(settings.n_clusters)
    init = checked_init(settings.init, n_clusters, names)
    scale = checked_scale(settings.scale, names)
    if isinstance(init, list):  # centres are in a scale their maker knew
        scale = tuple("unit" if name == "auto" else name for name in scale)
    check_whole(settings.reservoir, "reservoir")
    return Plan(
        n_clusters,
        Rules(settings.alpha, settings.max_iter, settings.tol, settings.fill),
        init,
        _warmup_rows(settings.warmup, init, n_clusters),
        scale=scale,
        n_anchors=None if settings.n_anchors in ("auto", None) else int(settings.n_anchors),
        consensus=checked_consensus(settings.consensus, settings.n_anchors, settings.n_clusters, init),
        weights=checked_weights(settings.view_weights, names),
        reservoir=int(settings.reservoir),
    )


def _warmup_rows(warmup: int | str, init: Any, n_clusters: int | None) -> int:
    if not isinstance(init, str) or init == "random":
        return 0
    return warmup_rows(n_clusters) if warmup == "auto" else int(warmup)


def warmup_rows(n_clusters: int | None) -> int:
    """Rows of the warm-up where none are given."""
    return max(WARMUP_ROWS, WARMUP_ROWS_A_CLUSTER * (n_clusters or 0))
