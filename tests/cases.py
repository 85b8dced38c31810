"""Random incomplete multi-view data for the laws: small, with ties, gaps and odd shapes on purpose."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import scipy.sparse
from hypothesis import strategies as st

from viewpass.kernels import backend
from viewpass.sums.rules import Workspace
from viewpass.views.chunk import Chunk
from viewpass.views.rows import MeasuredRows


@dataclass(frozen=True)
class Case:
    views: list[np.ndarray]
    observed: np.ndarray
    n_clusters: int
    alpha: float
    seed: int

    @property
    def n_rows(self) -> int:
        return len(self.observed)

    @property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.seed + 1)

    @property
    def present(self) -> np.ndarray:
        """What counts as observed: allowed by the mask and not all zero."""
        return self.observed & np.column_stack([x.any(axis=1) for x in self.views])

    def sparse(self) -> list[scipy.sparse.csr_array]:
        return [scipy.sparse.csr_array(x) for x in self.views]

    def unit(self) -> list[np.ndarray]:
        """Unit rows in float64, absent ones zero."""
        out = []
        for v, x in enumerate(self.views):
            x = np.where(self.present[:, v, None], x, 0.0).astype(np.float64)
            norms = np.sqrt((x * x).sum(axis=1, keepdims=True))
            out.append(np.divide(x, norms, out=np.zeros_like(x), where=norms > 0))
        return out

    def labels(self, rng: np.random.Generator | None = None) -> np.ndarray:
        rng = self.rng if rng is None else rng
        labels = rng.integers(self.n_clusters, size=self.n_rows).astype(np.int32)
        return np.where(self.present.any(axis=1), labels, -1).astype(np.int32)

    def measured(self, *, sparse: bool = False) -> MeasuredRows:
        views = self.sparse() if sparse else self.views
        return MeasuredRows(Chunk.of(views, observed=self.observed)).measure()


@contextmanager
def computing(*, reference: bool = True):
    """Inside, the NumPy reference computes; rows and centres that were used outside cannot be used there."""
    before = backend.native
    backend.native = None if reference else before
    try:
        yield
    finally:
        backend.native = before


@st.composite
def cases(draw: st.DrawFn, *, max_rows: int = 60, min_rows: int = 5, ties: bool | None = None) -> Case:
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    n_rows = draw(st.integers(min_rows, max_rows))
    n_views = draw(st.integers(1, 4))
    n_clusters = draw(st.integers(1, min(6, n_rows)))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    whole = draw(st.booleans()) if ties is None else ties
    views = []
    for _ in range(n_views):
        width = int(rng.choice([1, 2, 3, 7, 64, 65, 130]))
        if whole:  # small whole numbers: many rows and distances coincide
            x = rng.integers(-1, 2, size=(n_rows, width)).astype(dtype)
        else:
            centre = rng.standard_normal((n_clusters, width))
            x = (centre[rng.integers(n_clusters, size=n_rows)]).astype(dtype)
            x += rng.standard_normal(x.shape).astype(dtype) * dtype(rng.choice([0.1, 1.0]))
            x[rng.random(x.shape) < rng.choice([0.0, 0.5])] = 0
        views.append(x)
    observed = rng.random((n_rows, n_views)) >= rng.choice([0.0, 0.3, 0.6])
    alpha = draw(st.sampled_from([1e-4, 0.1, 1.0, 10.0]))
    return Case(views, observed, n_clusters, alpha, seed)


def workspace(n_threads: int = 1) -> Workspace:
    return Workspace(n_threads)
