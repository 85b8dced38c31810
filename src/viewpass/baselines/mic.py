"""MIC: multiple incomplete views clustering, the offline parent of OMVC."""

from __future__ import annotations

from typing import Any

import numpy as np

from viewpass.baselines.algorithms.mic import Settings, factorise
from viewpass.baselines.algorithms.offline import Whole, read_whole, spread
from viewpass.baselines.algorithms.rows import Filled
from viewpass.baselines.base import COUNT, NOT_NEGATIVE
from viewpass.baselines.offline import OfflineFactorClusterer
from viewpass.views.rows import MeasuredRows


class MIC(OfflineFactorClusterer):
    """Multiple incomplete views clustering (Shao, He and Yu, 2015).

    Weighted non-negative factors of each view, drawn towards a consensus, with few rows of large
    coefficients. Absent rows are filled with the mean of their view and weigh the share of rows that
    are present.

    Parameters
    ----------
    n_clusters : int, default=8
    agreement : float, default=0.01
    sparsity : float, default=1e-7
        Weight of the sum of the lengths of the coefficients' rows.
    max_iter : int, default=200
        Most rounds over the views.
    tol : float, default=1e-12
        Settled when the consensus moves by less than this, squared and summed.
    n_tries : int, default=30
        Short tries from which the very first factorisation goes on.
    n_init : int, default=20
        Starts of the k-means.
    views, random_state, n_threads, verbose
        As in `OPIMC`.

    Attributes
    ----------
    labels_, consensus_, components_, cluster_centers_, objective_, n_iter_, n_rows_without_views_,
    view_names_in_, n_features_in_, row_ids_
        As in `OMVC`.
    objective_curve_ : array, a value a round

    Examples
    --------
    >>> import numpy as np
    >>> import viewpass as vp
    >>> X = np.repeat(np.eye(3), 20, axis=0) + 0.01
    >>> model = vp.MIC(n_clusters=3, random_state=0).fit([X, X @ np.eye(3, 4)])
    >>> np.bincount(model.labels_)
    array([20, 20, 20])
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's own form)
        **OfflineFactorClusterer._parameter_constraints,
        "agreement": NOT_NEGATIVE,
        "sparsity": NOT_NEGATIVE,
        "tol": NOT_NEGATIVE,
        "n_tries": COUNT,
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        agreement: float = 1e-2,
        sparsity: float = 1e-7,
        max_iter: int = 200,
        tol: float = 1e-12,
        n_tries: int = 30,
        n_init: int = 20,
        views: Any = None,
        random_state: Any = None,
        n_threads: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(n_clusters, max_iter, n_init, views, random_state, n_threads, verbose)
        self.agreement = agreement
        self.sparsity = sparsity
        self.tol = tol
        self.n_tries = n_tries

    def _learn(self, rows: MeasuredRows, kept: Any, rng: np.random.Generator, seed: int) -> Whole:
        views, totals, negative = read_whole(rows, kept)
        here: list[Filled] = [view for view in views if view is not None]
        settings = Settings(self.agreement, self.sparsity, self.max_iter, self.tol, self.n_tries)
        bases, agreed, curve = factorise(here, self.n_clusters, settings, rng, self._threads())
        return Whole.of(rows, kept, seed, spread(bases, views), totals, agreed, curve, negative)
