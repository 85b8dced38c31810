"""The methods as published, two measurements of OPIMC itself, and what the baselines are compared with.

A cell of the paper names one of them with its settings; every method gets `n_clusters` and a seed.
"""

from __future__ import annotations

import tracemalloc
from typing import Any, Self

import numpy as np
from sklearn.decomposition import NMF

from viewpass.baselines.filled import FilledKMeans
from viewpass.baselines.multinmf import MultiNMF
from viewpass.baselines.omvc import OMVC
from viewpass.baselines.onmf import ONMF
from viewpass.estimators.imc import IMC
from viewpass.estimators.opimc import OPIMC
from viewpass.kernels.grid import Floats, Mask

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
        inside = {"alpha": self.alpha, "init": start, "fill": None, "tol": 0, "n_threads": self.n_threads}
        values = []
        for n_turns in range(1, 21):
            model = imc(self.n_clusters, max_iter=n_turns, **inside)
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


class ReducedKMeans(FilledKMeans):
    """k-means on the rows' non-negative factors ("nmf") or in their best subspace ("svd")."""

    def __init__(self, n_clusters: int, way: str, rank: int, scale: str, random_state: int) -> None:
        super().__init__(n_clusters, scale, random_state=random_state)
        self.way, self.rank = way, rank

    def _reduced(self, rows: Floats) -> Floats:
        if self.way == "nmf":
            factors = NMF(self.rank, init="random", random_state=self.random_state, max_iter=500, tol=1e-5)
            return np.asarray(factors.fit_transform(rows) * np.linalg.norm(factors.components_, axis=1))
        left, lengths, _ = np.linalg.svd(rows, full_matrices=False)
        return np.asarray(left[:, : self.rank] * lengths[: self.rank])


class FilledBeforehand:
    """OMVC with absent rows filled by the mean of all rows of the view, which a stream does not know."""

    def __init__(self, n_clusters: int, **settings: Any) -> None:
        self.model = OMVC(n_clusters, **settings)

    def fit(self, views: list[Any], observed: Mask) -> Self:
        """Fill, and fit; labels are `labels_`."""
        filled = []
        for view, present in zip(views, observed.T, strict=True):
            rows = np.array(view.toarray() if hasattr(view, "toarray") else view, dtype=np.float64)
            rows[~present] = rows[present].mean(axis=0)
            filled.append(rows)
        self.labels_ = self.model.fit(filled).labels_
        return self
