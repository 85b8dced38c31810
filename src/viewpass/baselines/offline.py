"""Base class of the offline baselines: MultiNMF, MIC and DAIMC.

New rows are projected on fitted bases by the views they have: shared coefficients, or a consensus.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np

from viewpass.baselines.base import FactorClusterer
from viewpass.baselines.factors import Factors, PreparedViews, divided_views, nnls
from viewpass.baselines.rows import FilledView
from viewpass.estimators.base import logging_progress, whole
from viewpass.kernels.grid import Floats, Integers
from viewpass.kernels.threads import single_threaded_blas
from viewpass.views.rows import MeasuredRows
from viewpass.views.seeds import as_generator

ALTERNATIONS = 10  # between coefficients and consensus; further ones change little


def project_shared(
    views: list[FilledView | None], bases: list[Floats | None], n_rows: int, n_clusters: int, n_threads: int
) -> tuple[Floats, Floats]:
    """Min over u >= 0 of sum over present views |x_v - u V_v'|^2, row by row; also that residual."""
    out = np.zeros((n_rows, n_clusters))
    residual = np.zeros(n_rows)
    present = np.zeros((n_rows, len(bases)), dtype=bool)
    products = np.zeros((n_rows, n_clusters))
    grams = [np.zeros(0) if basis is None else basis.T @ basis for basis in bases]
    for v, (view, basis) in enumerate(zip(views, bases, strict=True)):
        if view is not None and basis is not None:
            present[:, v] = ~view.missing
            products += np.where(present[:, [v]], view.times(basis), 0.0)
            residual += np.where(present[:, v], view.squares(), 0.0)
    patterns, which = np.unique(present, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        if not pattern.any():
            continue
        rows = np.flatnonzero(which.ravel() == number)
        gram = np.sum([grams[v] for v in np.flatnonzero(pattern)], axis=0)
        out[rows] = nnls(gram, products[rows], n_threads=n_threads)
        residual[rows] += np.einsum("ij,ij->i", out[rows] @ gram - 2.0 * products[rows], out[rows])
    return out, np.maximum(residual, 0.0)


def project_consensus(
    views: list[FilledView | None],
    bases: list[Floats | None],
    agreement: float,
    n_rows: int,
    n_clusters: int,
    n_threads: int,
) -> tuple[Floats, Floats]:
    """Min over u_v, u* >= 0 of sum over present views |x_v - u_v V_v'|^2 + a |u_v - u*|^2, alternating.

    Returns u* and the first term.
    """
    present = np.zeros((n_rows, len(bases)), dtype=bool)
    products: dict[int, Floats] = {}
    grams: dict[int, Floats] = {}
    for v, (view, basis) in enumerate(zip(views, bases, strict=True)):
        if view is None or basis is None:
            continue
        present[:, v] = ~view.missing
        products[v] = view.times(basis)[present[:, v]]
        grams[v] = basis.T @ basis
    count = np.maximum(present.sum(axis=1), 1)[:, None]
    found = {v: nnls(grams[v], products[v], n_threads=n_threads) for v in products}
    for turn in range(ALTERNATIONS + 1):
        consensus = np.zeros((n_rows, n_clusters))
        for v, u in found.items():
            consensus[present[:, v]] += u
        consensus /= count
        if turn == ALTERNATIONS or agreement == 0 or len(found) < 2:
            break
        for v, u in found.items():
            gram = grams[v] + agreement * np.eye(n_clusters)
            toward = products[v] + agreement * consensus[present[:, v]]
            found[v] = nnls(gram, toward, u, n_threads=n_threads)
    residual = np.zeros(n_rows)
    for v, u in found.items():
        view = views[v]
        assert view is not None
        there = present[:, v]
        fit = view.squares()[there] + np.einsum("ij,ij->i", u @ grams[v] - 2.0 * products[v], u)
        residual[there] += np.maximum(fit, 0.0)
    return consensus, residual


class OfflineFactorClusterer(FactorClusterer):
    """A factorisation of all rows at once; a subclass says how (`_factorise`)."""

    agreement: float

    @abstractmethod
    def _factorise(
        self, views: list[FilledView], rng: np.random.Generator, seed: int
    ) -> tuple[list[Floats], Floats, list[float]]:
        """Bases, consensus coefficients and objective curve of the prepared views."""

    def _prepare(self, rows: MeasuredRows, kept: Integers) -> PreparedViews:
        return divided_views(rows, kept)

    def _rounds(self, curve: list[float]) -> int:
        return len(curve)

    def fit(self, X: Any, y: Any = None, observed: Any = None) -> Self:
        """Factorise the rows, then cluster the consensus. `X` and `observed` are as in `OPIMC.fit`."""
        fresh, source = self._begin_fit(X, observed)
        rows = MeasuredRows(whole(source)).measure()
        kept = np.flatnonzero(rows.n_seen > 0)
        self._check_enough(len(kept))
        rng = as_generator(self.random_state)
        seed = int(rng.integers(2**31))
        with logging_progress(self.verbose), single_threaded_blas():
            prepared = self._prepare(rows, kept)
            bases, agreed, curve = self._factorise(prepared.there(), rng, seed)
        fresh._learnt = Factors(
            schema=rows.chunk.schema,
            n_rows=rows.n_rows,
            n_without_views=rows.n_rows - len(kept),
            kept=kept,
            agreed=agreed,
            bases=prepared.spread(bases),
            totals=prepared.totals,
            curve=curve,
            value=curve[-1],
            n_iter=self._rounds(curve),
            seed=seed,
            clipped=prepared.clipped,
        )
        return self._end_fit(fresh, source)

    def _project(self, views: list[FilledView | None], n_rows: int) -> tuple[Floats, Floats]:
        bases = self._learnt.components()
        return project_consensus(views, bases, self.agreement, n_rows, self.n_clusters, self._threads())
