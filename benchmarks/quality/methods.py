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
from viewpass.sample.sample import ROWS

CHUNK_SIZE = 2000
SMALL_ROWS, SMALL_CHUNK = 5000, 50  # the paper's s: 50 below so many rows
LEAST_PER_CLUSTER = 50  # rows of a sample that is held to a quarter

Labels = dict[str, np.ndarray]


@dataclass(frozen=True)
class Method:
    """`labels` names the attribute that counts: the stream's own labels, or those under the final centres."""

    name: str
    title: str
    kind: str  # viewpass, opimc, imc, or the name of a peer
    labels: str = "labels_"
    settings: dict[str, Any] = field(default_factory=dict)
    quarter: bool = False  # of the rows are in the sample

    def refuses(self, real: RealSet) -> str | None:
        """Why it cannot run on this set; None if it can."""
        return peers.refuses(self.kind, real) if self.kind in peers.PEERS else None

    def fit(self, data: Data, n_clusters: int, seed: int, n_threads: int) -> Labels:
        """The labels of each attribute that has some."""
        if self.kind in peers.PEERS:
            return {"labels_": peers.PEERS[self.kind](data, n_clusters, seed)}
        common = {"n_clusters": n_clusters, "random_state": seed, "n_threads": n_threads}
        more = {**self.settings, **self.sizes(data.n_rows, n_clusters)}
        model = MODELS[self.kind](**common, **more).fit(data.views)
        return {name: getattr(model, name) for name in ("labels_", "stream_labels_") if hasattr(model, name)}

    def sizes(self, n_rows: int, n_clusters: int) -> dict[str, int]:
        """Settings that depend on the size of the data."""
        if self.kind == "opimc":
            return {"chunk_size": SMALL_CHUNK if n_rows < SMALL_ROWS else CHUNK_SIZE}
        if not self.quarter:
            return {}
        return {"sample_size": min(max(n_rows // 4, LEAST_PER_CLUSTER * n_clusters), ROWS)}


def _published(n_passes: int) -> Method:
    title = f"published OPIMC, {n_passes} pass{'es' if n_passes > 1 else ''}"
    return Method(f"opimc{n_passes}", title, "opimc", "stream_labels_", {"n_passes": n_passes})


MODELS: dict[str, Any] = {"viewpass": vp.ViewPass, "opimc": vp.OPIMC, "imc": vp.IMC}
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
        Method("viewpass", "viewpass, default settings", "viewpass"),
        Method("viewpass-quarter", "viewpass, sample of a quarter", "viewpass", quarter=True),
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
