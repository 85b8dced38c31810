"""What the baselines are compared with: k-means on reduced input, and OMVC filled beforehand."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.decomposition import NMF

from viewpass.baselines.filled import FilledKMeans
from viewpass.baselines.omvc import OMVC
from viewpass.kernels.grid import Floats, Mask


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
