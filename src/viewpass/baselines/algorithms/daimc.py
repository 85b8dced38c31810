"""DAIMC: doubly aligned incomplete multi-view clustering (Hu and Chen, IJCAI 2018).

min over U_v, B_v, V >= 0 of
sum_v |W_v (X_v - V U_v')|^2 + a (|B_v' U_v - I|^2 + b |B_v|_{2,1})

Rows are instances: V (n x K) is shared by the views, U_v (d x K) the bases, B_v (d x K) aligns them
with each other. W is 1 where a row is present and 0 elsewhere: nothing is filled.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viewpass.baselines.algorithms.least_squares import ridged
from viewpass.baselines.algorithms.rows import FilledView
from viewpass.kernels.grid import Floats, Mask

Bases = list[Floats]
SMALL = 1e-10


@dataclass(frozen=True)
class DAIMCSettings:
    """Parameters of DAIMC."""

    alignment: float = 1e-4
    sparsity: float = 1e4
    max_iter: int = 30
    tol: float = 1e-4
    max_steps: int = 30  # updates of V per round, at most; they end by the same `tol`


def basis_step(view: FilledView, V: Floats, B: Floats, alignment: float) -> Floats:
    """The U that solves a BB'U + U V'WV = X'WV + a B, without a d x d matrix.

    BB' has rank K: inside the span of B the equation is solved entry by entry in the eigenvectors of
    both sides, outside it the first term vanishes.
    """
    own = V * (~view.missing)[:, None]
    right = view.crossed(own) + alignment * B
    gram = ridged(own.T @ own)
    levels, turn = np.linalg.eigh(gram)
    directions, sizes, _ = np.linalg.svd(B, full_matrices=False)
    inside = directions.T @ right
    outside = (right - directions @ inside) @ turn / levels
    return np.asarray(
        (outside + directions @ (inside @ turn / (alignment * np.square(sizes)[:, None] + levels))) @ turn.T
    )


def alignment_step(U: Floats, B: Floats, sparsity: float) -> Floats:
    """B = (b/2 D + UU')^-1 U by Woodbury, D_kk = 1 / |b_k| of the current rows of B."""
    diagonal = 0.5 * sparsity / np.sqrt(np.square(B).sum(axis=1) + SMALL)
    scaled = U / diagonal[:, None]
    return np.asarray(scaled @ np.linalg.inv(np.eye(U.shape[1]) + U.T @ scaled))


def shared_steps(views: list[FilledView], V: Floats, bases: Bases, settings: DAIMCSettings) -> Floats:
    """Multiplicative updates of V (semi-NMF), none of which increases sum_v |W_v (X_v - V U_v')|^2.

    The products with the data are the same for all of them.
    """
    squares = 0.0
    products = np.zeros_like(V)
    toward, away = np.zeros_like(V), np.zeros_like(V)
    grams: list[tuple[Mask, Floats, Floats]] = []
    for view, U in zip(views, bases, strict=True):
        present = (~view.missing)[:, None]
        own, gram = np.where(present, view.times(U), 0.0), U.T @ U
        grams.append((present, np.maximum(gram, 0), np.maximum(-gram, 0)))
        squares += float(view.squares()[~view.missing].sum())
        products += own
        toward += np.maximum(own, 0)
        away += np.maximum(-own, 0)
    value = np.inf
    plus, minus = _gram_products(V, grams)
    for _ in range(settings.max_steps):
        V = V * np.sqrt((toward + minus) / np.maximum(away + plus, 1e-300))
        plus, minus = _gram_products(V, grams)
        before, value = value, squares + float(np.vdot(plus - minus - 2.0 * products, V))
        if abs(before - value) < settings.tol * abs(before):
            break
    return V


def _gram_products(V: Floats, grams: list[tuple[Mask, Floats, Floats]]) -> tuple[Floats, Floats]:
    """The sums over views of W V (U'U)+ and W V (U'U)-."""
    plus, minus = np.zeros_like(V), np.zeros_like(V)
    for present, positive, negative in grams:
        plus += present * (V @ positive)
        minus += present * (V @ negative)
    return plus, minus


def value_of(
    views: list[FilledView], V: Floats, bases: Bases, aligning: Bases, settings: DAIMCSettings
) -> float:
    """The objective."""
    total = 0.0
    for view, U, B in zip(views, bases, aligning, strict=True):
        present = ~view.missing
        fit = view.squares() - 2.0 * np.einsum("ij,ij->i", view.times(U), V)
        fit += np.einsum("ij,ij->i", V @ (U.T @ U), V)
        total += float(fit[present].sum())
        lengths = np.sqrt(np.square(B).sum(axis=1)).sum()
        apart = np.square(B.T @ U - np.eye(U.shape[1])).sum()
        total += settings.alignment * float(apart + settings.sparsity * lengths)
    return total


def factorise(
    views: list[FilledView], start: Floats, settings: DAIMCSettings
) -> tuple[Bases, Floats, list[float]]:
    """Bases, shared coefficients, and the objective after every round."""
    V = start
    n_clusters = V.shape[1]
    bases: Bases = []
    for view in views:
        own = V * (~view.missing)[:, None]
        bases.append(view.crossed(own) @ np.linalg.inv(ridged(own.T @ own)))
    aligning = [alignment_step(U, np.ones_like(U) / n_clusters, settings.sparsity) for U in bases]
    curve: list[float] = []
    for _ in range(settings.max_iter):
        bases = [basis_step(view, V, B, settings.alignment) for view, B in zip(views, aligning, strict=True)]
        V = shared_steps(views, V, bases, settings)
        c = np.maximum(V.sum(axis=0), SMALL)
        V, bases = V / c, [U * c for U in bases]
        aligning = [alignment_step(U, B, settings.sparsity) for U, B in zip(bases, aligning, strict=True)]
        curve.append(value_of(views, V, bases, aligning, settings))
        if len(curve) > 1 and abs(curve[-2] - curve[-1]) < settings.tol * abs(curve[-2]):
            break
    return bases, V, curve
