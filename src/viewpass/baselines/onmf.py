"""ONMF: online non-negative matrix factorisation of the concatenated views (ONMF-I and ONMF-DA)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils._param_validation import StrOptions

from viewpass.baselines.algorithms.onmf import ONMFSettings, ONMFStream
from viewpass.baselines.algorithms.projection import project_shared
from viewpass.baselines.algorithms.rows import FilledView, RunningMean, unit_rows, without_negatives
from viewpass.baselines.algorithms.stream import FactorStream
from viewpass.baselines.base import COUNT
from viewpass.baselines.online import OnlineFactorClusterer, filled_chunks
from viewpass.errors import SettingError
from viewpass.kernels.grid import Floats
from viewpass.sources.source import Source


class ONMF(OnlineFactorClusterer):
    """Online non-negative matrix factorisation (Wang, Tan, König and Li, SDM 2011).

    All views, scaled to unit rows and concatenated, are factorised as one matrix: X = G F'.
    K-means on the coefficients G gives the clusters. Absent rows are filled with a mean.

    Parameters
    ----------
    n_clusters : int, default=8
    n_components : int, optional
        The rank of the factorisation; by default the number of clusters, as in the paper. A higher
        rank, such as twice that number, keeps more structure for k-means and may be better.
    hessian : {"exact", "diagonal"}, default="exact"
        The second-order step of the basis: with the inverse Hessian (ONMF-I), or with the inverse of
        its diagonal (ONMF-DA).
    chunk_size : int, default=2000
    n_passes : int, default=1
        In later passes a chunk's earlier contribution is subtracted from the sums first.
    max_iter : int, default=200
        Maximum alternations between coefficients and basis per chunk; 1 is the one-pass form of the
        paper.
    tol : float, default=1e-4
        A chunk is done when the relative change of the objective over all rows read is below this.
    fill : {"running", "mean"}, default="running"
        What an absent row is filled with: the mean of the rows before its chunk, or of all rows, for
        which `fit` reads the data once more (as in the OPIMC paper). `partial_fit` always does the
        former.
    assign : {"k-means", "argmax"}, default="k-means"
        How coefficients become clusters; the paper itself takes the largest (with as many
        components as clusters).
    n_init : int, default=20
        Number of k-means starts.
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

    def _new_stream(self, source: Source | None) -> FactorStream:
        if self.assign == "argmax" and self._rank != self.n_clusters:
            raise SettingError(
                f"assign='argmax' makes every component a cluster, but n_components={self._rank} and "
                f"n_clusters={self.n_clusters}: leave n_components out, or assign by k-means."
            )
        return super()._new_stream(source)

    def _read_ahead(self, stream: ONMFStream, source: Source) -> None:
        """Take the mean of each view's unit rows."""
        if self.fill != "mean":
            return
        means = [RunningMean() for _ in source.schema.names]
        for _ in filled_chunks(source, self.chunk_size, means, self._threads(), unit=True):
            pass
        stream.means = [None if mean.sums is None else mean.mean() for mean in means]

    def _empty_stream(self, rng: np.random.Generator) -> ONMFStream:
        settings = ONMFSettings(diagonal=self.hessian == "diagonal", max_iter=self.max_iter, tol=self.tol)
        return ONMFStream(self._rank, settings, rng, self._threads())

    def _scaled(self, matrix: Any, v: int) -> Any:
        return unit_rows(without_negatives(matrix))

    def _project(self, views: list[FilledView | None], n_rows: int) -> tuple[Floats, Floats]:
        bases = self._learnt.bases
        found, residual = project_shared(views, bases, n_rows, self._rank, self._threads())
        return found * self._learnt.lengths(), residual
