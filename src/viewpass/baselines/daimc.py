"""DAIMC: doubly aligned incomplete multi-view clustering, offline."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.utils._param_validation import Interval

from viewpass.baselines.algorithms.daimc import Settings, factorise
from viewpass.baselines.algorithms.offline import Whole, spread
from viewpass.baselines.algorithms.projection import shared
from viewpass.baselines.algorithms.rows import Filled, present_rows, unit_rows
from viewpass.baselines.base import NOT_NEGATIVE, grouped
from viewpass.baselines.offline import OfflineFactorClusterer
from viewpass.kernels.grid import Floats, Integers, Labels
from viewpass.views.rows import MeasuredRows


class DAIMC(OfflineFactorClusterer):
    """Doubly aligned incomplete multi-view clustering (Hu and Chen, IJCAI 2018).

    One matrix of non-negative coefficients for all views, which sees only the views a row has, and
    bases that are aligned to each other. Rows are scaled to unit length; they may be negative.

    Parameters
    ----------
    n_clusters : int, default=8
    alignment : float, default=1e-4
        Weight of the alignment of the bases (the paper's alpha).
    sparsity : float, default=1e4
        Within it, the weight of few columns taking part (the paper's beta).
    max_iter : int, default=30
    tol : float, default=1e-4
        Settled when the objective changes by less than this share.
    n_init : int, default=20
        Starts of the k-means, of each view for the start and of the coefficients at the end.
    views, random_state, n_threads, verbose
        As in `OPIMC`.

    Attributes
    ----------
    labels_, consensus_, components_, cluster_centers_, objective_, n_iter_, n_rows_without_views_,
    view_names_in_, n_features_in_, row_ids_
        As in `OMVC`.
    objective_curve_ : array, a value a round

    Notes
    -----
    It starts from the k-means clusters of each view. They have no common order, so those of later
    views are matched to those before, by the rows they share.

    Examples
    --------
    >>> import numpy as np
    >>> import viewpass as vp
    >>> X = np.repeat(np.eye(3), 20, axis=0) + 0.01
    >>> model = vp.DAIMC(n_clusters=3, random_state=0).fit([X, X @ np.eye(3, 4)])
    >>> np.bincount(model.labels_)
    array([20, 20, 20])
    """

    agreement = 0.0

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's own form)
        **OfflineFactorClusterer._parameter_constraints,
        "alignment": [Interval(Real, 0, None, closed="neither")],
        "sparsity": [Interval(Real, 0, None, closed="neither")],
        "tol": NOT_NEGATIVE,
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        alignment: float = 1e-4,
        sparsity: float = 1e4,
        max_iter: int = 30,
        tol: float = 1e-4,
        n_init: int = 20,
        views: Any = None,
        random_state: Any = None,
        n_threads: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(n_clusters, max_iter, n_init, views, random_state, n_threads, verbose)
        self.alignment = alignment
        self.sparsity = sparsity
        self.tol = tol

    def _learn(self, rows: MeasuredRows, kept: Any, rng: np.random.Generator, seed: int) -> Whole:
        views = unit_views(rows, kept)
        here = [view for view in views if view is not None]
        start = self._start(here, len(kept), seed)
        settings = Settings(self.alignment, self.sparsity, self.max_iter, self.tol)
        bases, _, agreed, curve = factorise(here, start, settings)
        totals = [None if view is None else 1.0 for view in views]
        return Whole.of(rows, kept, seed, spread(bases, views), totals, agreed, curve, set())

    def _start(self, views: list[Filled], n_rows: int, seed: int) -> Floats:
        """0.1 and more where the views a row has put it into a cluster."""
        votes = np.zeros((n_rows, self.n_clusters))
        n_views = np.zeros(n_rows)
        for view in views:
            present = np.flatnonzero(~view.missing)
            if not len(present):
                continue
            labels = grouped(view.matrix[present], self.n_clusters, self.n_init, seed)[1]
            votes[present, _matched(votes[present], labels)] += 1.0
            n_views[present] += 1.0
        return np.asarray(votes / np.maximum(n_views, 1.0)[:, None] + 0.1)

    def _scaled(self, matrix: Any, v: int) -> Any:
        return None if self._learnt.totals[v] is None else unit_rows(matrix)

    def _project(self, views: list[Filled | None], n_rows: int) -> tuple[Floats, Floats]:
        return shared(views, self._learnt.bases, n_rows, self.n_clusters, self._threads())


def _matched(votes: Floats, labels: Labels) -> Integers:
    """Labels renamed so that they agree with the votes as well as they can."""
    n_clusters = votes.shape[1]
    table = np.zeros((n_clusters, n_clusters))
    np.add.at(table, labels, votes)
    _, names = linear_sum_assignment(-table)
    return np.asarray(names[labels])


def unit_views(rows: MeasuredRows, kept: Integers) -> list[Filled | None]:
    """Unit rows of every view; absent ones are zero and marked."""
    views: list[Filled | None] = []
    for v in range(rows.n_views):
        found = present_rows(rows, v, kept)
        if found is None:
            views.append(None)
            continue
        matrix = unit_rows(found[0])
        views.append(Filled(matrix, ~found[1], np.zeros(matrix.shape[1])))
    return views
