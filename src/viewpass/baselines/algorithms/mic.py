"""MIC: multiple incomplete views, weighted factors with row sparsity (Shao, He and Yu, 2015).

min over U_v, V_v, U* >= 0 of
sum_v |W_v (X_v - U_v V_v')|^2 + a |W_v (U_v - U*)|^2 + b |U_v|_{2,1}

Rows are instances; absent ones are filled with the view's mean and weighted by the share of rows that
are present. OMVC is its online form.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewpass.baselines.algorithms import multinmf
from viewpass.baselines.algorithms.multinmf import FLOOR, Bases
from viewpass.baselines.algorithms.rows import FilledView
from viewpass.kernels.grid import Floats
from viewpass.kernels.threads import run_blocks


@dataclass(frozen=True)
class MICSettings:
    """Parameters of MIC."""

    agreement: float = 1e-2
    sparsity: float = 1e-7
    max_iter: int = 200
    tol: float = 1e-12
    n_tries: int = 30


def coefficient_step(
    view: FilledView, U: Floats, V: Floats, agreed: Floats, weights: Floats, settings: MICSettings
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


def value_of(
    view: FilledView, U: Floats, V: Floats, agreed: Floats, weights: Floats, settings: MICSettings
) -> float:
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


def factorise(
    views: list[FilledView], n_clusters: int, settings: MICSettings, rng: np.random.Generator, n_threads: int
) -> tuple[Bases, Floats, list[float]]:
    """Bases, consensus, and the objective after every round."""
    start = multinmf.MultiNMFSettings(max_iter=settings.max_iter, n_tries=settings.n_tries)
    V, U = multinmf.started(views, n_clusters, start, rng)
    shares = [1.0 - view.missing.mean() for view in views]
    weights = [np.where(view.missing, share**2, 1.0) for view, share in zip(views, shares, strict=True)]
    agreed = agreed_of(U, weights)
    values = np.zeros(len(views))
    curve: list[float] = []

    def work(v: int, worker: int) -> None:
        U[v] = coefficient_step(views[v], U[v], V[v], agreed, weights[v], settings)
        V[v] = basis_step(views[v], U[v], V[v], weights[v])
        V[v], U[v] = multinmf.summing_to_one(V[v], U[v])

    for _ in range(settings.max_iter):
        run_blocks(work, len(views), n_threads)
        before, agreed = agreed, agreed_of(U, weights)
        for v, view in enumerate(views):
            values[v] = value_of(view, U[v], V[v], agreed, weights[v], settings)
        curve.append(float(values.sum()))
        if float(np.square(agreed - before).sum()) < settings.tol:
            break
    return V, agreed, curve
