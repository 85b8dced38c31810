"""OMVC: online multi-view clustering by non-negative factors with a consensus (Shao, He, Lu and Yu, 2016).

min over U_v, V_v, U* >= 0 of  sum_v |W_v (X_v - U_v V_v')|^2 + a |W_v (U_v - U*)|^2 + b |U_v|_1

Rows are instances. Kept per view: A = sum X'W^2U and B = sum U'W^2U over all rows read, which give
the fit of a basis V without reading a row again: |WX|^2 - 2 tr(V'A) + tr(V'V B). Scaling the columns
of V to sum 1 also scales U, A and B of all rows: the `gauge` of a view is the product of these scales.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from viewpass.baselines.factors import newton_step, nnls, quadratic
from viewpass.baselines.rows import FilledView, StoredRows
from viewpass.baselines.stream import ChunkFactors, FactorStream, FilledChunk
from viewpass.kernels.grid import Floats
from viewpass.kernels.threads import run_blocks
from viewpass.views.rows import MeasuredRows

if TYPE_CHECKING:
    from viewpass.baselines.omvc import OMVC

VANISHED = 1e-20  # a column sum of a basis below this has nothing left to scale
EXTREME_GAUGE = 1e-50  # a scale below this, or above its inverse, is applied before it can overflow


class Basis:
    """One view: V, the sums A and B over the rows read, |WX|^2, and the gauge."""

    def __init__(self, width: int, n_clusters: int, rng: np.random.Generator) -> None:
        self.V = rng.random((width, n_clusters))
        self.A = np.zeros((width, n_clusters))
        self.B = np.zeros((n_clusters, n_clusters))
        self.squares = 0.0
        self.gauge = np.ones(n_clusters)
        self.new = True


class OMVCStream(FactorStream):
    """The state of OMVC; coefficients of earlier chunks are kept without the gauge."""

    def __init__(
        self,
        n_clusters: int,
        settings: OMVC,
        rng: np.random.Generator,
        n_threads: int,
    ) -> None:
        super().__init__(n_clusters, rng, n_threads)
        self.settings = settings
        self._scans = settings.accept == "scanned"
        self.bases: list[Basis | None] = []
        self.scanned: list[StoredRows] = []
        self._agreeing = np.zeros((0, 0, n_clusters))
        self._lengths = np.zeros((0, n_clusters))

    def begin_pass(self) -> None:
        """Return to the first chunk."""
        super().begin_pass()
        self.scanned = [StoredRows(self.n_clusters) for _ in self.scanned]

    def batch(self, rows: MeasuredRows) -> FilledChunk:
        """Fill, clip, divide each view by the sum of its entries."""
        batch = super().batch(rows)
        n_views = len(batch.views)
        if not self.totals:
            self.totals = [None] * n_views
        if not self.bases:
            self.bases = [None] * n_views
            self.scanned = [StoredRows(self.n_clusters) for _ in batch.views]
            self._agreeing = np.zeros((n_views, n_views, self.n_clusters))
            self._lengths = np.zeros((n_views, self.n_clusters))
        for v, view in enumerate(batch.views):
            if view is None:
                continue
            if self.totals[v] is None:
                self.totals[v] = view.total() or 1.0
            batch.views[v] = view.divided(self.totals[v] or 1.0)
            if self.bases[v] is None:
                self.bases[v] = Basis(view.width, self.n_clusters, self.rng)
        return batch

    def weights(self, batch: FilledChunk) -> list[Floats]:
        """The squared weights of the rows in each view."""
        out = []
        for view, shares in zip(batch.views, batch.shares, strict=True):
            if view is None:
                out.append(np.zeros(batch.n_kept))
            elif self.settings.weights == "dynamic":
                out.append(np.where(view.missing, shares**2, 1.0))
            else:
                out.append(np.ones(batch.n_kept))
        return out

    # ---- one chunk

    def step(self, batch: FilledChunk, weights: list[Floats], before: ChunkFactors | None) -> list[Floats]:
        """Alternate between the views and their consensus until the objective converges."""
        shape = (batch.n_kept, self.n_clusters)
        if not batch.n_kept:
            return [np.zeros(shape) for _ in batch.views]
        if before is None:
            U = self._fitted(batch, weights)
            self._count_squares(batch, weights)
        else:
            U = [u * self._gauge(v) for v, u in enumerate(before.coefficients)]
            self._subtract(batch, weights, before.coefficients)
        n_views = len(U)
        fits = np.zeros(n_views)
        sums: list[tuple[Floats, Floats] | None] = [None] * n_views
        agreed = self._agreed(U, weights)
        n_threads = batch.threads(self.n_threads, self.n_clusters)

        def work(v: int, worker: int) -> None:
            view, basis = batch.views[v], self.bases[v]
            if view is None or basis is None:
                U[v] = agreed
                return
            U[v], fits[v], sums[v] = self._update(v, basis, view, weights[v], U[v], agreed)

        last = np.inf
        for _ in range(self.settings.max_iter):
            run_blocks(work, n_views, n_threads)
            agreed = self._agreed(U, weights)
            value = float(fits.sum()) + self._squares() + self._penalties(U, weights)
            self.n_iter += 1
            if self.ends(last, value, self.settings.tol):
                break
            last = value
        self._apply_extreme_gauges()
        kept = [u / self._gauge(v) for v, u in enumerate(U)]
        self._add(weights, kept, sums)
        if self._scans:
            for v, view in enumerate(batch.views):
                if view is not None:
                    self.scanned[v].add(view, kept[v], weights[v])
        self.curve.append(value)
        return kept

    def _fitted(self, batch: FilledChunk, weights: list[Floats]) -> list[Floats]:
        """Initial coefficients of new rows: the best fit under the bases; new bases are initialised.

        Uniform random coefficients, as published, are thousands of times larger than the data, whose
        entries sum to 1: the first step of a basis would follow them and lose all earlier rows. But
        they are common to the views, which random bases are not: so only the first view gets a random
        basis, and the bases of other views start from its coefficients.
        """
        U = [np.zeros((batch.n_kept, self.n_clusters)) for _ in batch.views]
        known = [v for v, basis in enumerate(self.bases) if basis is not None and not basis.new]
        fresh = [v for v, basis in enumerate(self.bases) if basis is not None and basis.new]
        done: list[int] = []
        for v in known + fresh:
            view, basis = batch.views[v], self.bases[v]
            assert basis is not None
            if view is None:
                continue
            if basis.new and done:
                found = self._agreed([U[w] for w in done], [weights[w] for w in done])
                weighted = found * weights[v][:, None]
                V = nnls(found.T @ weighted, view.crossed(weighted), n_threads=self.n_threads)
                basis.V = np.where(V.sum(axis=0) > VANISHED, V, basis.V)
            basis.new = False
            U[v] = nnls(basis.V.T @ basis.V, view.times(basis.V), n_threads=self.n_threads)
            done.append(v)
        return U

    def _update(
        self, v: int, basis: Basis, view: FilledView, weights: Floats, U: Floats, agreed: Floats
    ) -> tuple[Floats, float, tuple[Floats, Floats]]:
        """Steps 1 to 3 for one view: U, then V, then the columns of V to sum 1."""
        a, b = self.settings.agreement, self.settings.sparsity
        live = weights > 0
        part = np.where(live, weights, 1.0)
        gram = basis.V.T @ basis.V + a * np.eye(self.n_clusters)
        products = view.times(basis.V) + a * agreed - (b / 2.0) / part[:, None]
        U, _ = newton_step(U, gram, products, weights=weights)
        if not live.all():
            U[~live] = agreed[~live]
        weighted = U * weights[:, None]
        own_A, own_B = view.crossed(weighted), U.T @ weighted
        A, B = basis.A + own_A, basis.B + own_B
        measure = self._scan(v, view, weighted, own_B) if self._scans else None
        basis.V, fit = newton_step(basis.V, B, A, measure=measure)
        c = basis.V.sum(axis=0)
        c = np.where(c > VANISHED, c, 1.0)  # a basis vector that has vanished is left as it is
        basis.V = basis.V / c
        basis.A = basis.A * c
        basis.B = basis.B * np.outer(c, c)
        basis.gauge = basis.gauge * c
        return U * c, fit, (own_A * c, own_B * np.outer(c, c))

    def _scan(self, v: int, view: FilledView, weighted: Floats, own: Floats) -> Callable[[Floats], float]:
        """The published test: the fit of a basis, measured on all rows read in this pass."""
        gauge = self._gauge(v)

        def measure(V: Floats) -> float:
            cross = float(np.vdot(view.times(V), weighted))
            return self.scanned[v].fit(V, gauge) + float(np.vdot(V.T @ V, own)) - 2.0 * cross

        return measure

    def _agreed(self, U: list[Floats], weights: list[Floats]) -> Floats:
        """U*: the weighted mean of the views' coefficients."""
        total = np.sum(weights, axis=0)
        mean = np.sum([w[:, None] * u for w, u in zip(weights, U, strict=True)], axis=0)
        return np.asarray(mean / np.where(total > 0, total, 1.0)[:, None])

    # ---- sums over all rows read

    def _gauge(self, v: int) -> Floats:
        basis = self.bases[v]
        return np.ones(self.n_clusters) if basis is None else basis.gauge

    def _apply_extreme_gauges(self) -> None:
        """Multiply the coefficients of earlier chunks by a gauge that is far from 1, and reset it."""
        for v, basis in enumerate(self.bases):
            if basis is None or (basis.gauge.min() > EXTREME_GAUGE and basis.gauge.max() < 1 / EXTREME_GAUGE):
                continue
            for chunk in self.chunks:
                chunk.coefficients[v] = chunk.coefficients[v] * basis.gauge
            self.scanned[v].scale(basis.gauge)
            self._agreeing[v] *= basis.gauge
            self._agreeing[:, v] *= basis.gauge
            self._lengths[v] *= basis.gauge
            basis.gauge = np.ones(self.n_clusters)

    def _squares(self) -> float:
        return sum(basis.squares for basis in self.bases if basis is not None)

    def _count_squares(self, batch: FilledChunk, weights: list[Floats]) -> None:
        for v, view in enumerate(batch.views):
            basis = self.bases[v]
            if view is not None and basis is not None:
                basis.squares += float(weights[v] @ view.squares())

    def _agreement_sums(self, coefficients: list[Floats], weights: list[Floats]) -> tuple[Floats, Floats]:
        """Sums from which |W(U - U*)|^2 and |U|_1 follow for any gauge.

        With t = sum_v w_v: sum_v w_v (u_v - u*)^2 = sum_v w_v u_v^2 - sum_vw (w_v w_w / t) u_v u_w.
        """
        n_views = len(coefficients)
        total = np.sum(weights, axis=0)
        share = [w / np.where(total > 0, total, 1.0) for w in weights]
        sums = np.zeros((n_views, n_views, self.n_clusters))
        for v in range(n_views):
            for w in range(v, n_views):
                factor = -weights[v] * share[w]
                if v == w:
                    factor = factor + weights[v]
                sums[v, w] = sums[w, v] = factor @ (coefficients[v] * coefficients[w])
        lengths = np.array(
            [(weight > 0) @ u for weight, u in zip(weights, coefficients, strict=True)], dtype=np.float64
        )
        return sums, lengths

    def _kept_penalties(self) -> tuple[float, float]:
        """|W(U - U*)|^2 and |U|_1 over the rows read, from the sums."""
        gauges = np.array([self._gauge(v) for v in range(len(self.bases))])
        apart = np.einsum("vk,wk,vwk->", gauges, gauges, self._agreeing)
        return float(apart), float((gauges * self._lengths).sum())

    def _penalties(self, U: list[Floats], weights: list[Floats]) -> float:
        apart, length = self._kept_penalties()
        sums, lengths = self._agreement_sums(U, weights)
        ones = np.ones_like(lengths)
        new = np.einsum("vk,wk,vwk->", ones, ones, sums)
        a, b = self.settings.agreement, self.settings.sparsity
        return float(a * (apart + new) + b * (length + lengths.sum()))

    def _subtract(self, batch: FilledChunk, weights: list[Floats], coefficients: list[Floats]) -> None:
        for v, (view, basis) in enumerate(zip(batch.views, self.bases, strict=True)):
            if view is None or basis is None:
                continue
            U = coefficients[v] * basis.gauge
            weighted = U * weights[v][:, None]
            basis.A = basis.A - view.crossed(weighted)
            basis.B = basis.B - U.T @ weighted
        sums, lengths = self._agreement_sums(coefficients, weights)
        self._agreeing = self._agreeing - sums
        self._lengths = self._lengths - lengths

    def _add(
        self, weights: list[Floats], coefficients: list[Floats], own: list[tuple[Floats, Floats] | None]
    ) -> None:
        for basis, added in zip(self.bases, own, strict=True):
            if basis is not None and added is not None:
                basis.A = basis.A + added[0]
                basis.B = basis.B + added[1]
        sums, lengths = self._agreement_sums(coefficients, weights)
        self._agreeing = self._agreeing + sums
        self._lengths = self._lengths + lengths

    def objective(self) -> float:
        """The objective over all rows read, from the sums alone."""
        fit = sum(quadratic(basis.V, basis.B, basis.A) for basis in self.bases if basis is not None)
        apart, length = self._kept_penalties()
        return self._squares() + fit + self.settings.agreement * apart + self.settings.sparsity * length

    def consensus(self) -> Floats:
        """U* of every row that has a view, under the current gauge."""
        agreed = [
            self._agreed([u * self._gauge(v) for v, u in enumerate(chunk.coefficients)], chunk.weights)
            for chunk in self.chunks
        ]
        return np.concatenate([np.empty((0, self.n_clusters)), *agreed])

    def components(self) -> list[Floats | None]:
        """V of each view."""
        return [None if basis is None else basis.V for basis in self.bases]
