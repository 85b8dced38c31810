"""MultiNMF: joint non-negative matrix factorisation of all views, offline."""

from __future__ import annotations

from typing import Any

import numpy as np

from viewpass.baselines.algorithms.multinmf import MultiNMFSettings, factorise
from viewpass.baselines.algorithms.rows import FilledView
from viewpass.baselines.base import COUNT
from viewpass.baselines.offline import OfflineFactorClusterer
from viewpass.kernels.grid import Floats


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

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's own form)
        **OfflineFactorClusterer._parameter_constraints,
        "n_rounds": COUNT,
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        agreement: float = 1e-2,
        n_rounds: int = 30,
        max_iter: int = 200,
        n_tries: int = 30,
        n_init: int = 20,
        views: Any = None,
        random_state: Any = None,
        n_threads: int | None = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(n_clusters, max_iter, n_init, views, random_state, n_threads, verbose)
        self.agreement = agreement
        self.n_rounds = n_rounds
        self.n_tries = n_tries

    def _factorise(
        self, views: list[FilledView], rng: np.random.Generator, seed: int
    ) -> tuple[list[Floats], Floats, list[float]]:
        settings = MultiNMFSettings(self.agreement, self.n_rounds, self.max_iter, self.n_tries)
        bases, _, agreed, curve = factorise(views, self.n_clusters, settings, rng, self._threads())
        return bases, agreed, curve

    def _rounds(self, curve: list[float]) -> int:
        return max(len(curve) - 1, 1)  # its first value is that of the start
