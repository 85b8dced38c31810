"""The methods with their published settings, and two measurements of OPIMC itself."""

from __future__ import annotations

import tracemalloc
from typing import Any, Self

import numpy as np

from viewpass.baselines.multinmf import MultiNMF
from viewpass.baselines.omvc import OMVC
from viewpass.baselines.onmf import ONMF
from viewpass.estimators.imc import IMC
from viewpass.estimators.opimc import OPIMC
from viewpass.kernels.grid import Mask

IMC_AS_PUBLISHED: dict[str, Any] = {"init": "random", "n_init": 1, "scale": "unit"}


def opimc(n_clusters: int, random_state: int = 0, **more: Any) -> OPIMC:
    """OPIMC as published."""
    rng = np.random.default_rng([random_state, 77])  # not the draws that made the mask
    return OPIMC(n_clusters, **{"compute_labels": False, "random_state": rng, **more})


def imc(n_clusters: int, **more: Any) -> IMC:
    """IMC as published, one start; `more` overrides it."""
    return IMC(n_clusters, **{**IMC_AS_PUBLISHED, **more})


def compared(method: str, n_clusters: int, chunk_size: int, **more: Any) -> Any:
    """One of the other methods. `multiple` (of ONMF): components per cluster."""
    if method == "OMVC":
        return OMVC(n_clusters, chunk_size=chunk_size, **more)
    if method.startswith("ONMF"):
        rank = int(more.pop("multiple", 1)) * n_clusters
        hessian = "exact" if method == "ONMF-I" else "diagonal"
        return ONMF(
            n_clusters, n_components=rank, hessian=hessian, fill="mean", chunk_size=chunk_size, **more
        )
    if method == "IMC":
        return imc(n_clusters, **more)
    return MultiNMF(n_clusters, **more)


class Theorem:
    """Counts how often the objective increases inside a chunk as centres and labels alternate."""

    def __init__(self, n_clusters: int, alpha: float, random_state: int, n_threads: int) -> None:
        self.n_clusters, self.alpha = n_clusters, alpha
        self.random_state, self.n_threads = random_state, n_threads

    def fit(self, views: list[Any], observed: Mask) -> Self:
        """One fit for each number of turns; `figures_` has the objectives."""
        start = np.random.default_rng(self.random_state).integers(self.n_clusters, size=len(observed))
        values = []
        for n_turns in range(1, 21):
            model = imc(
                self.n_clusters, alpha=self.alpha, init=start, fill=None, max_iter=n_turns, tol=0,
                n_threads=self.n_threads,
            )  # fmt: skip
            values.append(model.fit(views, observed=observed).statistics_.objective(self.alpha))
        rises = int((np.diff(values) > 1e-9 * abs(values[0])).sum())
        self.figures_, self.labels_ = {"rises": rises, "values": values}, model.labels_
        return self


class Scaled:
    """One pass of OPIMC; its peak memory is measured by another pass, which is not timed."""

    def __init__(self, random_state: int, **settings: Any) -> None:
        self.random_state, self.settings = random_state, settings

    def _model(self) -> OPIMC:
        return opimc(random_state=self.random_state, alpha=0.1, **self.settings)

    def fit(self, views: list[Any], observed: Mask) -> Self:
        """Fit it."""
        self._views, self._observed = views, observed
        model = self._model().fit(views, observed=observed)
        self.n_iter_, self.labels_ = model.n_iter_, model.stream_labels_
        return self

    @property
    def figures_(self) -> dict[str, int]:
        """Bytes that a pass allocates at most."""
        tracemalloc.start()
        self._model().fit(self._views, observed=self._observed)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return {"bytes": peak}
