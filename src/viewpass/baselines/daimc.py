"""DAIMC: doubly aligned incomplete multi-view clustering, offline."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.utils._param_validation import Interval

from viewpass.baselines.algorithms.daimc import DAIMCSettings, factorise
from viewpass.baselines.algorithms.offline import PreparedViews, unit_views
from viewpass.baselines.algorithms.projection import project_shared
from viewpass.baselines.algorithms.rows import FilledView, unit_rows
from viewpass.baselines.base import kmeans
from viewpass.baselines.offline import OfflineFactorClusterer
from viewpass.kernels.grid import Floats, Integers, Labels
from viewpass.views.rows import MeasuredRows


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

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's own form)
        **OfflineFactorClusterer._parameter_constraints,
        "alignment": [Interval(Real, 0, None, closed="neither")],
        "sparsity": [Interval(Real, 0, None, closed="neither")],
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

    def _prepare(self, rows: MeasuredRows, kept: Integers) -> PreparedViews:
        return unit_views(rows, kept)

    def _factorise(
        self, views: list[FilledView], rng: np.random.Generator, seed: int
    ) -> tuple[list[Floats], Floats, list[float]]:
        settings = DAIMCSettings(self.alignment, self.sparsity, self.max_iter, self.tol)
        return factorise(views, self._start(views, seed), settings)

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

    def _scaled(self, matrix: Any, v: int) -> Any:
        return unit_rows(matrix)

    def _project(self, views: list[FilledView | None], n_rows: int) -> tuple[Floats, Floats]:
        return project_shared(views, self._learnt.bases, n_rows, self.n_clusters, self._threads())


def _matched(votes: Floats, labels: Labels) -> Integers:
    """Labels renamed so that they agree with the votes as well as they can."""
    n_clusters = votes.shape[1]
    table = np.zeros((n_clusters, n_clusters))
    np.add.at(table, labels, votes)
    _, names = linear_sum_assignment(-table)
    return np.asarray(names[labels])
