"""MIC: multiple incomplete views, weighted factors with row sparsity (Shao, He and Yu, 2015).

min over U_v, V_v, U* >= 0 of
sum_v |W_v (X_v - U_v V_v')|^2 + a |W_v (U_v - U*)|^2 + b |U_v|_{2,1}

Rows are instances; absent ones are filled with the view's mean and weighted by the share of rows that
are present. OMVC is its online form.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from viewpass.baselines import multinmf
from viewpass.baselines.multinmf import FLOOR, Bases
from viewpass.baselines.offline import OfflineFactorClusterer
from viewpass.baselines.rows import FilledView
from viewpass.kernels.grid import Floats
from viewpass.kernels.threads import run_blocks


def coefficient_step(
    view: FilledView, U: Floats, V: Floats, agreed: Floats, weights: Floats, settings: MIC
) -> Floats:
    """Multiplicative update of U; it never increases the objective."""
    a, b, w = settings.agreement, settings.sparsity, weights[:, None]
    up = w * (view.times(V) + a * agreed)
    lengths = np.sqrt(np.square(U).sum(axis=1, keepdims=True))
    down = w * (U @ (V.T @ V) + a * U) + 0.5 * b * U / np.maximum(lengths, FLOOR)
    return np.asarray(U * np.sqrt(up / np.maximum(down, 1e-300)))


def basis_step(view: FilledView, U: Floats, V: Floats, weights: Floats) -> Floats:
    """Multiplicative update of V; it never increases the objective."""
    weighted = U * weights[:, None]
    down = V @ (U.T @ weighted)
    return np.asarray(V * np.sqrt(view.crossed(weighted) / np.maximum(down, 1e-300)))


def value_of(view: FilledView, U: Floats, V: Floats, agreed: Floats, weights: Floats, settings: MIC) -> float:
    """The objective of one view."""
    fit = view.squares() - 2.0 * np.einsum("ij,ij->i", view.times(V), U)
    fit += np.einsum("ij,ij->i", U @ (V.T @ V), U)
    apart = np.square(U - agreed).sum(axis=1)
    lengths = np.sqrt(np.square(U).sum(axis=1))
    return float(weights @ (fit + settings.agreement * apart) + settings.sparsity * lengths.sum())


def agreed_of(U: Bases, weights: list[Floats]) -> Floats:
    """U*: the weighted mean."""
    top = np.sum([w[:, None] * u for w, u in zip(weights, U, strict=True)], axis=0)
    return np.asarray(top / np.maximum(np.sum(weights, axis=0), 1e-300)[:, None])


@dataclass(eq=False, repr=False)
class MIC(OfflineFactorClusterer):
    """Multiple incomplete views clustering (Shao, He and Yu, 2015).

    Weighted non-negative factors of each view, pulled towards a consensus, with few rows of large
    coefficients. Absent rows are filled with the mean of their view and weighted by the share of rows
    that are present.

    Parameters
    ----------
    n_clusters : int, default=8
    agreement : float, default=0.01
    sparsity : float, default=1e-7
        Weight of the sum of the lengths of the coefficients' rows.
    max_iter : int, default=200
        Maximum number of rounds over the views, also of the steps of each view at the start. It usually
        ends the fit before `tol` does; a larger one may find better clusters.
    tol : float, default=1e-12
        Stop when the squared change of the consensus, summed, is below this.
    n_tries : int, default=30
        Short runs from random starts; the best one is continued.
    n_init : int, default=20
        Number of k-means starts.
    views, random_state, n_threads, verbose
        As in `OPIMC`.

    Attributes
    ----------
    labels_, consensus_, components_, cluster_centers_, objective_, n_iter_, n_rows_without_views_,
    view_names_in_, n_features_in_, row_ids_
        As in `OMVC`.
    objective_curve_ : array, one value per round

    Examples
    --------
    >>> import numpy as np
    >>> import viewpass as vp
    >>> X = np.repeat(np.eye(3), 20, axis=0) + 0.01
    >>> model = vp.MIC(n_clusters=3, random_state=0).fit([X, X @ np.eye(3, 4)])
    >>> np.bincount(model.labels_)
    array([20, 20, 20])
    """

    _: KW_ONLY
    agreement: float = 1e-2
    sparsity: float = 1e-7
    tol: float = 1e-12
    n_tries: int = 30

    def _factorise(
        self, views: list[FilledView], rng: np.random.Generator, seed: int
    ) -> tuple[list[Floats], Floats, list[float]]:
        V, U = multinmf.started(views, self.n_clusters, self.max_iter, self.n_tries, rng)
        shares = [1.0 - view.missing.mean() for view in views]
        weights = [np.where(view.missing, share**2, 1.0) for view, share in zip(views, shares, strict=True)]
        agreed = agreed_of(U, weights)
        values = np.zeros(len(views))
        curve: list[float] = []

        def work(v: int, worker: int) -> None:
            U[v] = coefficient_step(views[v], U[v], V[v], agreed, weights[v], self)
            V[v] = basis_step(views[v], U[v], V[v], weights[v])
            V[v], U[v] = multinmf.summing_to_one(V[v], U[v])

        for _ in range(self.max_iter):
            run_blocks(work, len(views), self._threads())
            before, agreed = agreed, agreed_of(U, weights)
            for v, view in enumerate(views):
                values[v] = value_of(view, U[v], V[v], agreed, weights[v], self)
            curve.append(float(values.sum()))
            if float(np.square(agreed - before).sum()) < self.tol:
                break
        return V, agreed, curve
