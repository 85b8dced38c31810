"""ONMF: online non-negative matrix factorisation of the concatenated views (ONMF-I and ONMF-DA)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils._param_validation import StrOptions

from viewpass.baselines.algorithms.onmf import ONMFStream, Settings
from viewpass.baselines.algorithms.projection import shared
from viewpass.baselines.algorithms.rows import Filled, Running, unit_rows
from viewpass.baselines.base import COUNT, not_negative
from viewpass.baselines.online import OnlineFactorClusterer
from viewpass.errors import SettingError
from viewpass.kernels.grid import Floats
from viewpass.sources.source import Source
from viewpass.views.rows import MeasuredRows


class ONMF(OnlineFactorClusterer):
    """Online non-negative matrix factorisation (Wang, Tan, König and Li, SDM 2011).

    All views, scaled to unit rows and set side by side, are factorised as one matrix: X = G F'.
    K-means on the coefficients G gives the clusters. Absent rows are filled with a mean.

    Parameters
    ----------
    n_clusters : int, default=8
    n_components : int, optional
        The rank of the factorisation; by default the number of clusters, as in the paper. K-means in
        more dimensions than clusters may find what the paper's rank has lost: twice as many are
        worth a try.
    hessian : {"exact", "diagonal"}, default="exact"
        The second-order step of the basis: with the inverse Hessian (ONMF-I), or with the inverse of
        its diagonal (ONMF-DA).
    chunk_size : int, default=2000
    n_passes : int, default=1
        In later passes a chunk's earlier share of the sums is taken out first.
    max_iter : int, default=200
        Most turns between coefficients and basis a chunk; 1 is the one-pass form of the paper.
    tol : float, default=1e-4
        A chunk is settled when the objective over all rows read changes by less than this share.
    fill : {"running", "mean"}, default="running"
        What an absent row is filled with: the mean of the rows before its chunk, or of all rows,
        which `fit` reads once more for it (the comparison of the OPIMC paper). `partial_fit` always
        does the former.
    assign : {"k-means", "argmax"}, default="k-means"
        How coefficients become clusters; the paper itself takes the largest (with as many
        components as clusters).
    n_init : int, default=20
        Starts of the k-means.
    views, random_state, n_threads, verbose
        As in `OPIMC`.

    Attributes
    ----------
    labels_, consensus_, components_, cluster_centers_, objective_, objective_curve_, n_iter_,
    n_rows_without_views_, view_names_in_, n_features_in_, row_ids_
        As in `OMVC`; the consensus is G, scaled as if the columns of F had length 1.

    Examples
    --------
    >>> import numpy as np
    >>> import viewpass as vp
    >>> X = np.repeat(np.eye(3), 20, axis=0) + 0.01
    >>> image, text = X.copy(), X @ np.eye(3, 4)
    >>> image[5::7] = np.nan                              # rows without an image
    >>> model = vp.ONMF(n_clusters=3, random_state=0).fit([image, text])
    >>> np.bincount(model.labels_)
    array([20, 20, 20])
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's own form)
        **OnlineFactorClusterer._parameter_constraints,
        "n_components": [*COUNT, None],
        "hessian": [StrOptions({"exact", "diagonal"})],
        "fill": [StrOptions({"running", "mean"})],
        "assign": [StrOptions({"k-means", "argmax"})],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_components: int | None = None,
        hessian: str = "exact",
        chunk_size: int = 2000,
        n_passes: int = 1,
        max_iter: int = 200,
        tol: float = 1e-4,
        fill: str = "running",
        assign: str = "k-means",
        n_init: int = 20,
        views: Any = None,
        random_state: Any = None,
        n_threads: int | None = None,
        verbose: int = 0,
    ) -> None:
        shared = (n_clusters, max_iter, n_init, views, random_state, n_threads, verbose)
        super().__init__(chunk_size, n_passes, tol, *shared)
        self.n_components = n_components
        self.hessian = hessian
        self.fill = fill
        self.assign = assign

    _learnt: ONMFStream

    @property
    def _rank(self) -> int:
        return self.n_components or self.n_clusters

    def _new_stream(self, source: Source | None) -> ONMFStream:
        if self.assign == "argmax" and self._rank != self.n_clusters:
            raise SettingError(
                f"assign='argmax' makes a cluster of every component, but n_components={self._rank} and "
                f"n_clusters={self.n_clusters}: leave n_components out, or assign by k-means."
            )
        stream: ONMFStream = self._seeded_stream()
        if source is not None and self.fill == "mean":
            stream.means = unit_means(source, self.chunk_size, self._threads())
        return stream

    def _empty_stream(self, rng: np.random.Generator) -> ONMFStream:
        settings = Settings(diagonal=self.hessian == "diagonal", max_iter=self.max_iter, tol=self.tol)
        return ONMFStream(self._rank, settings, rng, self._threads())

    def _scaled(self, matrix: Any, v: int) -> Any:
        return None if self._learnt.bases[v] is None else unit_rows(not_negative(matrix))

    def _project(self, views: list[Filled | None], n_rows: int) -> tuple[Floats, Floats]:
        bases = self._learnt.bases
        found, residual = shared(views, bases, n_rows, self._rank, self._threads())
        return found * self._learnt.lengths(), residual


def unit_means(source: Source, chunk_size: int, n_threads: int) -> list[Floats | None]:
    """The mean of each view's unit rows, by reading the data once."""
    runnings = [Running() for _ in source.schema.names]
    for chunk in source.chunks(chunk_size):
        rows = MeasuredRows(chunk).measure(n_threads)
        kept = np.flatnonzero(rows.n_seen > 0)
        for v, running in enumerate(runnings):
            running.read(rows, v, kept, unit=True)
    return [None if running.sums is None else running.mean() for running in runnings]
