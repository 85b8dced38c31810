"""MultiNMF: non-negative factors of every view with a common consensus (Liu, Wang, Gao and Han, SDM 2013).

min over U_v, V_v, V* >= 0 of  sum_v |X_v - V_v U_v'|^2 + l |V_v Q_v - V*|^2, Q_v = diag(column sums of U_v)

Rows are instances here: V_v (n x K) are the coefficients, U_v (d x K) the basis, whose columns sum
to 1 after every step, so that Q_v = I wherever the objective is evaluated.
"""

from __future__ import annotations

import logging
from dataclasses import KW_ONLY, dataclass

import numpy as np

from viewpass.baselines.offline import OfflineFactorClusterer
from viewpass.baselines.rows import FilledView
from viewpass.estimators.base import COUNT
from viewpass.kernels.grid import Floats
from viewpass.kernels.threads import run_blocks

FLOOR = 1e-10  # of denominators
SHORT_RUN = 50  # steps of a short run
N_SWEEPS = 3  # over the views, at the start
MOST_REDOS = 5  # times that a round which increases the objective is tried again

logger = logging.getLogger("viewpass")


Bases = list[Floats]


def fit_of(view: FilledView, coefficients: Floats, basis: Floats, squares: float) -> float:
    """|X - VU'|^2."""
    cross = float(np.vdot(view.times(basis), coefficients))
    return squares - 2.0 * cross + float(np.vdot(coefficients.T @ coefficients, basis.T @ basis))


def summing_to_one(basis: Floats, coefficients: Floats) -> tuple[Floats, Floats]:
    """Scale the columns of the basis to sum 1, and the coefficients by the inverse."""
    c = np.maximum(basis.sum(axis=0), FLOOR)
    return basis / c, coefficients * c


def without_zero_rows(coefficients: Floats) -> Floats:
    """Coefficients with rows of zeros, which no multiplicative update can leave, replaced by the mean row.

    A row is zero where a view had no positive entry in it; the next view may have some.
    """
    zero = np.flatnonzero(coefficients.max(axis=1) == 0)
    if not len(zero):
        return coefficients
    lifted = coefficients.copy()
    lifted[zero] = coefficients.mean(axis=0)
    return lifted


def plain(view: FilledView, basis: Floats, coefficients: Floats, n_steps: int) -> tuple[Floats, Floats]:
    """Lee and Seung's updates for |X - VU'|^2."""
    for _ in range(n_steps):
        gram = basis.T @ basis
        coefficients = coefficients * (view.times(basis) / np.maximum(coefficients @ gram, FLOOR))
        gram = coefficients.T @ coefficients
        basis = basis * (view.crossed(coefficients) / np.maximum(basis @ gram, FLOOR))
    return basis, coefficients


def started(
    views: list[FilledView], n_clusters: int, max_iter: int, n_tries: int, rng: np.random.Generator
) -> tuple[Bases, Bases]:
    """Plain factors of each view in turn, each started from the coefficients of the view before.

    The first one has no coefficients to start from: the best of several short runs is continued.
    """
    n_rows = views[0].n_rows
    bases: Bases = [np.zeros((view.width, n_clusters)) for view in views]
    coefficients: Bases = [np.zeros((n_rows, n_clusters)) for _ in views]
    last: Floats | None = None
    for _ in range(N_SWEEPS):
        for v, view in enumerate(views):
            best = np.inf
            squares = float(view.squares().sum())
            for _ in range(n_tries if last is None else 1):
                basis = rng.random((view.width, n_clusters))
                basis /= np.sqrt(np.square(basis).sum(axis=0))
                start = rng.random((n_rows, n_clusters)) if last is None else without_zero_rows(last)
                start = start / start.sum()
                tried = plain(view, basis, start, SHORT_RUN)
                reached = fit_of(view, tried[1], tried[0], squares)
                if reached < best:
                    best, found = reached, tried
            found = plain(view, *found, max(max_iter - SHORT_RUN, 0))
            bases[v], coefficients[v] = summing_to_one(*found)
            last = coefficients[v]
    return bases, coefficients


def pulled(
    view: FilledView, basis: Floats, coefficients: Floats, agreed: Floats, agreement: float, n_steps: int
) -> tuple[Floats, Floats]:
    """Updates of one view towards the data and the consensus."""
    for _ in range(n_steps):
        gram = basis.T @ basis
        up = view.times(basis) + agreement * agreed
        down = coefficients @ gram + agreement * coefficients
        coefficients = coefficients * (up / np.maximum(down, FLOOR))
        gram = coefficients.T @ coefficients
        pull = agreement * np.einsum("ij,ij->j", coefficients, agreed)
        push = agreement * np.square(coefficients).sum(axis=0) * basis.sum(axis=0)
        basis = basis * ((view.crossed(coefficients) + pull) / np.maximum(basis @ gram + push, FLOOR))
        basis, coefficients = summing_to_one(basis, coefficients)
    return basis, coefficients


def factorise(
    views: list[FilledView], settings: MultiNMF, rng: np.random.Generator
) -> tuple[Bases, Bases, Floats, list[float]]:
    """Bases, coefficients, consensus, and the objective of every round kept.

    A round that increases the objective is undone and repeated towards the consensus it reached, at
    most a few times; then the method stops.
    """
    bases, coefficients = started(views, settings.n_clusters, settings.max_iter, settings.n_tries, rng)
    squares = [float(view.squares().sum()) for view in views]
    agreed = coefficients[0]
    new_bases, new_coefficients = bases, coefficients

    def value(bases: Bases, coefficients: Bases, agreed: Floats) -> float:
        return sum(
            fit_of(view, V, U, square) + settings.agreement * float(np.square(V - agreed).sum())
            for view, U, V, square in zip(views, bases, coefficients, squares, strict=True)
        )

    def update(v: int, worker: int) -> None:
        start = new_bases[v], new_coefficients[v]
        new_bases[v], new_coefficients[v] = pulled(
            views[v], *start, agreed, settings.agreement, settings.max_iter
        )

    curve = [value(bases, coefficients, agreed)]
    kept = bases, coefficients, agreed
    n_redone = 0
    for number in range(settings.n_rounds):
        new_bases, new_coefficients = list(kept[0]), list(kept[1])
        run_blocks(update, len(views), settings._threads())
        agreed = np.mean(new_coefficients, axis=0)
        reached = value(new_bases, new_coefficients, agreed)
        if reached <= curve[-1]:
            kept = new_bases, new_coefficients, agreed
            curve.append(reached)
            n_redone = 0
            logger.info("round %d: objective %.6g", number + 1, reached)
        else:
            n_redone += 1
            if n_redone > MOST_REDOS:
                break
    return *kept, curve


@dataclass(eq=False, repr=False)
class MultiNMF(OfflineFactorClusterer):
    """Multi-view clustering by joint non-negative matrix factorisation (Liu and others, SDM 2013).

    Offline: it needs all rows at once and takes several thousand steps over them. The method is for
    complete data; absent rows are filled with the mean of their view, as in the OPIMC paper.

    Parameters
    ----------
    n_clusters : int, default=8
    agreement : float, default=0.01
        How strongly coefficients are pulled towards the consensus (the paper's lambda).
    n_rounds : int, default=30
        Rounds over the views. One that raises the objective is undone and tried again, at most 5
        times.
    max_iter : int, default=200
        Steps per view and round.
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
    objective_curve_ : array
        The objective of the start and of every round that was kept; it never rises.

    Examples
    --------
    >>> import numpy as np
    >>> import viewpass as vp
    >>> X = np.repeat(np.eye(3), 20, axis=0) + 0.01
    >>> model = vp.MultiNMF(n_clusters=3, n_rounds=3, random_state=0).fit([X, X @ np.eye(3, 4)])
    >>> np.bincount(model.labels_)
    array([20, 20, 20])
    """

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn's own form)
        **OfflineFactorClusterer._parameter_constraints,
        "n_rounds": COUNT,
    }

    _: KW_ONLY
    agreement: float = 1e-2
    n_rounds: int = 30
    n_tries: int = 30

    def _factorise(
        self, views: list[FilledView], rng: np.random.Generator, seed: int
    ) -> tuple[list[Floats], Floats, list[float]]:
        bases, _, agreed, curve = factorise(views, self, rng)
        return bases, agreed, curve

    def _rounds(self, curve: list[float]) -> int:
        return max(len(curve) - 1, 1)  # its first value is that of the start
