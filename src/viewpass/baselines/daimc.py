"""DAIMC: doubly aligned incomplete multi-view clustering (Hu and Chen, IJCAI 2018).

min over U_v, B_v, V >= 0 of
sum_v |W_v (X_v - V U_v')|^2 + a (|B_v' U_v - I|^2 + b |B_v|_{2,1})

Rows are instances: V (n x K) is shared by the views, U_v (d x K) the bases, B_v (d x K) aligns them
with each other. W is 1 where a row is present and 0 elsewhere: nothing is filled.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.utils._param_validation import Interval

from viewpass.baselines.base import kmeans
from viewpass.baselines.factors import PreparedViews, ridged, unit_views
from viewpass.baselines.offline import OfflineFactorClusterer
from viewpass.baselines.rows import FilledView, unit_rows
from viewpass.kernels.grid import Floats, Integers, Labels, Mask, Matrix
from viewpass.views.rows import MeasuredRows

Bases = list[Floats]
LEAST_LENGTH = 1e-10  # under roots and of column sums, as in the authors' program
MOST_SHARED_STEPS = 30  # updates of V per round; they end by `tol`, too


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
    diagonal = 0.5 * sparsity / np.sqrt(np.square(B).sum(axis=1) + LEAST_LENGTH)
    scaled = U / diagonal[:, None]
    return np.asarray(scaled @ np.linalg.inv(np.eye(U.shape[1]) + U.T @ scaled))


def shared_steps(
    views: list[FilledView], V: Floats, bases: Bases, tol: float, most_steps: int = MOST_SHARED_STEPS
) -> Floats:
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
    for _ in range(most_steps):
        V = V * np.sqrt((toward + minus) / np.maximum(away + plus, 1e-300))
        plus, minus = _gram_products(V, grams)
        before, value = value, squares + float(np.vdot(plus - minus - 2.0 * products, V))
        if abs(before - value) < tol * abs(before):
            break
    return V


def _gram_products(V: Floats, grams: list[tuple[Mask, Floats, Floats]]) -> tuple[Floats, Floats]:
    """The sums over views of W V (U'U)+ and W V (U'U)-."""
    plus, minus = np.zeros_like(V), np.zeros_like(V)
    for present, positive, negative in grams:
        plus += present * (V @ positive)
        minus += present * (V @ negative)
    return plus, minus


def value_of(views: list[FilledView], V: Floats, bases: Bases, aligning: Bases, settings: DAIMC) -> float:
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
    views: list[FilledView], start: Floats, settings: DAIMC, most_steps: int = MOST_SHARED_STEPS
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
        V = shared_steps(views, V, bases, settings.tol, most_steps)
        c = np.maximum(V.sum(axis=0), LEAST_LENGTH)
        V, bases = V / c, [U * c for U in bases]
        aligning = [alignment_step(U, B, settings.sparsity) for U, B in zip(bases, aligning, strict=True)]
        curve.append(value_of(views, V, bases, aligning, settings))
        if len(curve) > 1 and abs(curve[-2] - curve[-1]) < settings.tol * abs(curve[-2]):
            break
    return bases, V, curve


@dataclass(eq=False, repr=False)
class DAIMC(OfflineFactorClusterer):
    """Doubly aligned incomplete multi-view clustering (Hu and Chen, IJCAI 2018).

    One matrix of non-negative coefficients for all views, fitted to the views that each row has, and
    bases that are aligned with each other. Rows are scaled to unit length; they may be negative.

    Parameters
    ----------
    n_clusters : int, default=8
    alignment : float, default=1e-4
        Weight of the alignment of the bases (the paper's alpha).
    sparsity : float, default=1e4
        Weight of column sparsity within the alignment (the paper's beta).
    max_iter : int, default=30
        Maximum number of rounds; in each, the coefficients are updated up to 30 times.
    tol : float, default=1e-4
        Stop when the relative change of the objective is below this; likewise the updates of a round.
    n_init : int, default=20
        Number of k-means starts: of each view at the beginning, of the coefficients at the end.
    views, random_state, n_threads, verbose
        As in `OPIMC`.

    Attributes
    ----------
    labels_, consensus_, components_, cluster_centers_, objective_, n_iter_, n_rows_without_views_,
    view_names_in_, n_features_in_, row_ids_
        As in `OMVC`.
    objective_curve_ : array, one value per round

    Notes
    -----
    It starts from the k-means clusters of each view. These have no common order, so the clusters of
    each view are matched to those of the views before it by the rows they share.

    Examples
    --------
    >>> import numpy as np
    >>> import viewpass as vp
    >>> X = np.repeat(np.eye(3), 20, axis=0) + 0.01
    >>> model = vp.DAIMC(n_clusters=3, random_state=0).fit([X, X @ np.eye(3, 4)])
    >>> np.bincount(model.labels_)
    array([20, 20, 20])
    """

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn's own form)
        **OfflineFactorClusterer._parameter_constraints,
        "alignment": [Interval(Real, 0, None, closed="neither")],
        "sparsity": [Interval(Real, 0, None, closed="neither")],
    }

    _: KW_ONLY
    alignment: float = 1e-4
    sparsity: float = 1e4
    max_iter: int = 30
    tol: float = 1e-4

    def _prepare(self, rows: MeasuredRows, kept: Integers) -> PreparedViews:
        return unit_views(rows, kept)

    def _scaled(self, matrix: Matrix, v: int) -> Matrix:
        return unit_rows(matrix)

    def _factorise(
        self, views: list[FilledView], rng: np.random.Generator, seed: int
    ) -> tuple[list[Floats], Floats, list[float]]:
        return factorise(views, self._start(views, seed), self)

    def _start(self, views: list[FilledView], seed: int) -> Floats:
        """0.1, plus the share of a row's views whose k-means puts it into the cluster."""
        votes = np.zeros((views[0].n_rows, self.n_clusters))
        n_views = np.zeros(len(votes))
        for view in views:
            present = np.flatnonzero(~view.missing)
            if not len(present):
                continue
            labels = kmeans(view.matrix[present], self.n_clusters, self.n_init, seed)[1]
            votes[present, _matched(votes[present], labels)] += 1.0
            n_views[present] += 1.0
        return np.asarray(votes / np.maximum(n_views, 1.0)[:, None] + 0.1)


def _matched(votes: Floats, labels: Labels) -> Integers:
    """Labels renamed so that they agree with the votes as well as they can."""
    n_clusters = votes.shape[1]
    table = np.zeros((n_clusters, n_clusters))
    np.add.at(table, labels, votes)
    _, names = linear_sum_assignment(-table)
    return np.asarray(names[labels])
