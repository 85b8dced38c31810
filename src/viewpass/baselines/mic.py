"""MIC: multiple incomplete views clustering, the offline method that OMVC is based on."""

from __future__ import annotations

from typing import Any

import numpy as np

from viewpass.baselines.algorithms.mic import MICSettings, factorise
from viewpass.baselines.algorithms.rows import FilledView
from viewpass.baselines.offline import OfflineFactorClusterer
from viewpass.kernels.grid import Floats


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

    def _factorise(
        self, views: list[FilledView], rng: np.random.Generator, seed: int
    ) -> tuple[list[Floats], Floats, list[float]]:
        settings = MICSettings(self.agreement, self.sparsity, self.max_iter, self.tol, self.n_tries)
        return factorise(views, self.n_clusters, settings, rng, self._threads())
