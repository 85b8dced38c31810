"""The methods of the quality benchmarks: their settings, and which of their labels count.

One fixed set of settings for all sets; none was chosen with the classes of the reported half.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import viewpass as vp
from benchmarks.data import Data
from benchmarks.quality import peers
from benchmarks.quality.sets import RealSet
from viewpass.cluster.validation import warmup_rows

CHUNK_SIZE = 2000
SMALL_ROWS, SMALL_CHUNK = 5000, 50  # the paper's s: 50 below so many rows

WITHOUT_ANCHORS: dict[str, Any] = {"scale": "unit", "n_anchors": None}
VIEWPASS: dict[str, tuple[str, dict[str, Any]]] = {
    "viewpass-start": ("viewpass, default start without anchors", WITHOUT_ANCHORS),
    "viewpass-plain": ("viewpass, automatic scaling without anchors", {"n_anchors": None}),
    "viewpass-merge": ("viewpass, merged anchors", {"consensus": "merge"}),
    "viewpass-graph": ("viewpass, anchor graph", {"consensus": "graph"}),
    "viewpass-auto": ("viewpass, default settings", {}),
}
QUARTER = "-quarter"


@dataclass(frozen=True)
class Method:
    """`labels` names the attribute that counts: the stream's own labels, or those under the final centres."""

    name: str
    title: str
    kind: str  # opimc, imc, or the name of a peer
    labels: str = "labels_"
    settings: dict[str, Any] = field(default_factory=dict)
    quarter: bool = False

    def refuses(self, real: RealSet) -> str | None:
        """Why it cannot run on this set; None if it can."""
        return peers.refuses(self.kind, real) if self.kind in peers.PEERS else None

    def fit(self, data: Data, n_clusters: int, seed: int, n_threads: int) -> Labels:
        """The labels of each attribute that has some."""
        if self.kind in peers.PEERS:
            return {"labels_": peers.PEERS[self.kind](data, n_clusters, seed)}
        common = {"n_clusters": n_clusters, "random_state": seed, "n_threads": n_threads}
        if self.kind == "imc":
            return {"labels_": vp.IMC(**common, **self.settings).fit(data.views).labels_}
        sizes = self._sizes(data.n_rows, n_clusters)
        model = vp.OPIMC(**common, **sizes, **self.settings).fit(data.views)
        return {"labels_": model.labels_, "stream_labels_": model.stream_labels_}

    def _sizes(self, n_rows: int, n_clusters: int) -> dict[str, int]:
        if self.settings.get("init") == "random":
            return {"chunk_size": SMALL_CHUNK if n_rows < SMALL_ROWS else CHUNK_SIZE}
        if not self.quarter or same_as_whole(n_rows, n_clusters):
            return {}
        # The warm-up reads whole chunks: larger ones would read more than the quarter.
        rows = max(n_rows // 4, n_clusters)
        return {"warmup": rows, "chunk_size": min(CHUNK_SIZE, rows)}


Labels = dict[str, np.ndarray]


def same_as_whole(n_rows: int, n_clusters: int) -> bool:
    """Whether the default warm-up is no more than a quarter of the rows anyway."""
    return warmup_rows(n_clusters) <= n_rows // 4


def _published(n_passes: int) -> Method:
    title = f"published OPIMC, {n_passes} pass{'es' if n_passes > 1 else ''}"
    settings = {"init": "random", "alpha": 0.1, **WITHOUT_ANCHORS, "n_passes": n_passes}
    return Method(f"opimc{n_passes}", title, "opimc", "stream_labels_", settings)


METHODS = {
    method.name: method
    for method in (
        Method("kmeans", "MiniBatchKMeans", "kmeans"),
        _published(1),
        _published(10),
        Method("imc5", "IMC, best of 5", "imc", settings={"n_init": 5}),
        Method("nemo", "NEMO", "nemo"),
        Method("pimvc", "PIMVC", "pimvc"),
        Method("nemo-standard", "NEMO, standardised", "nemo-standard"),
        Method("pimvc-standard", "PIMVC, standardised", "pimvc-standard"),
        *(Method(name, title, "opimc", settings=given) for name, (title, given) in VIEWPASS.items()),
        *(
            Method(name + QUARTER, f"{title}, 1/4", "opimc", settings=given, quarter=True)
            for name, (title, given) in VIEWPASS.items()
        ),
    )
}


def chosen(patterns: list[str]) -> list[str]:
    """Methods by name or prefix."""
    found = {
        name
        for each in patterns
        for name in METHODS
        if name == each or (each not in METHODS and name.startswith(each))
    }
    return [name for name in METHODS if name in found]
