"""New rows on fitted bases, with the views they have: one shared row of coefficients, or a consensus."""

from __future__ import annotations

import numpy as np

from viewpass.baselines.algorithms.rows import Filled
from viewpass.kernels.grid import Floats
from viewpass.kernels.nnls import nnls

ROUNDS = 10


def shared(
    views: list[Filled | None], bases: list[Floats | None], n_rows: int, n_clusters: int, n_threads: int
) -> tuple[Floats, Floats]:
    """Min over u >= 0 of sum over present views |x_v - u V_v'|^2, row by row; also that residual."""
    out = np.zeros((n_rows, n_clusters))
    residual = np.zeros(n_rows)
    present = np.zeros((n_rows, len(bases)), dtype=bool)
    products, grams = [], []
    for v, (view, basis) in enumerate(zip(views, bases, strict=True)):
        if view is None or basis is None:
            products.append(np.zeros((n_rows, n_clusters)))
            grams.append(np.zeros((n_clusters, n_clusters)))
            continue
        present[:, v] = ~view.missing
        products.append(np.where(present[:, [v]], view.times(basis), 0.0))
        grams.append(basis.T @ basis)
        residual += np.where(present[:, v], view.squares(), 0.0)
    patterns, which = np.unique(present, axis=0, return_inverse=True)
    summed = np.sum(products, axis=0)
    for number, pattern in enumerate(patterns):
        if not pattern.any():
            continue
        rows = np.flatnonzero(which.ravel() == number)
        gram = np.sum([gram for gram, there in zip(grams, pattern, strict=True) if there], axis=0)
        out[rows] = nnls(gram, summed[rows], n_threads=n_threads)
        residual[rows] += np.einsum("ij,ij->i", out[rows] @ gram - 2.0 * summed[rows], out[rows])
    return out, np.maximum(residual, 0.0)


def agreed(
    views: list[Filled | None],
    bases: list[Floats | None],
    agreement: float,
    n_rows: int,
    n_clusters: int,
    n_threads: int,
) -> tuple[Floats, Floats]:
    """Min over u_v, u* >= 0 of sum over present views |x_v - u_v V_v'|^2 + a |u_v - u*|^2, by turns.

    Gives u* and the first term.
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
    consensus = np.zeros((n_rows, n_clusters))
    for turn in range(ROUNDS + 1):
        consensus = np.zeros((n_rows, n_clusters))
        for v, u in found.items():
            consensus[present[:, v]] += u
        consensus /= count
        if turn == ROUNDS or agreement == 0 or len(found) < 2:
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
