"""OMVC: online multi-view clustering with incomplete views, by non-negative factors that agree."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils._param_validation import StrOptions

from viewpass.baselines.algorithms.omvc import OMVCStream, Settings
from viewpass.baselines.algorithms.projection import agreed
from viewpass.baselines.algorithms.rows import Filled, Running
from viewpass.baselines.base import NOT_NEGATIVE, not_negative
from viewpass.baselines.online import OnlineFactorClusterer
from viewpass.kernels.grid import Floats
from viewpass.sources.source import Source
from viewpass.views.rows import MeasuredRows


class OMVC(OnlineFactorClusterer):
    """Online multi-view clustering with incomplete views (Shao, He, Lu and Yu, 2016).

    Each view is factorised, X_v = U_v V_v', with coefficients U_v drawn towards a consensus; k-means
    on the consensus gives the clusters. Absent rows are filled with the mean of earlier rows and get
    a weight below 1.

    Parameters
    ----------
    n_clusters : int, default=8
    agreement : float, default=0.01
        How strongly coefficients are drawn towards the consensus (the paper's alpha).
    sparsity : float, default=1e-7
        Weight of the sum of the coefficients (the paper's beta).
    chunk_size : int, default=2000
    n_passes : int, default=1
        In later passes a chunk's earlier share of the sums is taken out first.
    max_iter : int, default=200
        Most rounds over the views a chunk.
    tol : float, default=1e-4
        A chunk is settled when the objective over all rows read changes by less than this share.
    weights : {"dynamic", "one"}, default="dynamic"
        Weight of a filled row: the share of rows present in its view so far, or 1 (what the released
        code comes to).
    accept : {"sums", "scanned"}, default="sums"
        How a step of a basis is tested: by the sums over all rows read, or as published by looking at
        all rows read in this pass again, which keeps a copy of them.
    scale : {"all", "first"}, default="all"
        Each view is divided by the sum of its entries: of all rows, which `fit` reads once more for
        it, or of the first chunk that has the view. `partial_fit` always does the latter.
    n_init : int, default=20
        Starts of the k-means.
    views, random_state, n_threads, verbose
        As in `OPIMC`.

    Attributes
    ----------
    labels_ : (n,) array of int32
        K-means of the consensus; -1: a row without any view.
    consensus_ : (n, n_clusters) array
    components_ : list of (n_clusters, columns) arrays
    cluster_centers_ : (n_clusters, n_clusters) array
        Centres in the consensus.
    objective_ : float
    objective_curve_ : array, a value a chunk
    n_iter_, n_rows_without_views_, view_names_in_, n_features_in_, row_ids_
        As in `OPIMC`.

    Examples
    --------
    >>> import numpy as np
    >>> import viewpass as vp
    >>> X = np.repeat(np.eye(3), 20, axis=0) + 0.01
    >>> image, text = X.copy(), X @ np.arange(12.0).reshape(3, 4)
    >>> image[5::7] = np.nan                              # rows without an image
    >>> model = vp.OMVC(n_clusters=3, random_state=0).fit([image, text])
    >>> np.bincount(model.labels_)
    array([20, 20, 20])
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's own form)
        **OnlineFactorClusterer._parameter_constraints,
        "agreement": NOT_NEGATIVE,
        "sparsity": NOT_NEGATIVE,
        "weights": [StrOptions({"dynamic", "one"})],
        "accept": [StrOptions({"sums", "scanned"})],
        "scale": [StrOptions({"all", "first"})],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        agreement: float = 1e-2,
        sparsity: float = 1e-7,
        chunk_size: int = 2000,
        n_passes: int = 1,
        max_iter: int = 200,
        tol: float = 1e-4,
        weights: str = "dynamic",
        accept: str = "sums",
        scale: str = "all",
        n_init: int = 20,
        views: Any = None,
        random_state: Any = None,
        n_threads: int | None = None,
        verbose: int = 0,
    ) -> None:
        shared = (n_clusters, max_iter, n_init, views, random_state, n_threads, verbose)
        super().__init__(chunk_size, n_passes, tol, *shared)
        self.agreement = agreement
        self.sparsity = sparsity
        self.weights = weights
        self.accept = accept
        self.scale = scale

    _learnt: OMVCStream

    def _new_stream(self, source: Source | None) -> OMVCStream:
        stream: OMVCStream = self._seeded_stream()
        if source is not None and self.scale == "all":
            stream.totals = entry_sums(source, self.chunk_size, self._threads())
        return stream

    def _empty_stream(self, rng: np.random.Generator) -> OMVCStream:
        settings = Settings(
            agreement=self.agreement,
            sparsity=self.sparsity,
            max_iter=self.max_iter,
            tol=self.tol,
            dynamic=self.weights == "dynamic",
            scanned=self.accept == "scanned",
        )
        return OMVCStream(self.n_clusters, settings, rng, self._threads())

    def _scaled(self, matrix: Any, v: int) -> Any:
        totals = self._learnt.totals
        total = None if totals is None else totals[v]
        return None if total is None else not_negative(matrix) * matrix.dtype.type(1.0 / total)

    def _project(self, views: list[Filled | None], n_rows: int) -> tuple[Floats, Floats]:
        bases = self._learnt.components()
        return agreed(views, bases, self.agreement, n_rows, self.n_clusters, self._threads())


def entry_sums(source: Source, chunk_size: int, n_threads: int) -> list[float | None]:
    """The sum of each view's entries, filled rows included, by reading the data once."""
    runnings = [Running() for _ in source.schema.names]
    sums = np.zeros(len(runnings))
    seen = np.zeros(len(runnings), dtype=bool)
    for chunk in source.chunks(chunk_size):
        rows = MeasuredRows(chunk).measure(n_threads)
        kept = np.flatnonzero(rows.n_seen > 0)
        for v, running in enumerate(runnings):
            filled, _, _ = running.read(rows, v, kept)
            if filled is not None:
                sums[v] += filled.total()
                seen[v] = True
    return [float(total) or 1.0 if there else None for total, there in zip(sums, seen, strict=True)]
