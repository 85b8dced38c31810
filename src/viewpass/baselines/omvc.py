"""OMVC: online multi-view clustering with incomplete views, by non-negative factorisation."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from sklearn.utils._param_validation import StrOptions

from viewpass.baselines.omvc_stream import OMVCStream
from viewpass.baselines.online import OnlineFactorClusterer, filled_chunks
from viewpass.baselines.rows import RunningMean
from viewpass.sources.source import Source


@dataclass(eq=False, repr=False)
class OMVC(OnlineFactorClusterer):
    """Online multi-view clustering with incomplete views (Shao, He, Lu and Yu, 2016).

    Each view is factorised, X_v = U_v V_v', with coefficients U_v pulled towards a consensus; k-means
    on the consensus gives the clusters. Absent rows are filled with the mean of earlier rows and get
    a weight below 1.

    Parameters
    ----------
    n_clusters : int, default=8
    agreement : float, default=0.01
        How strongly coefficients are pulled towards the consensus (the paper's alpha).
    sparsity : float, default=1e-7
        Weight of the sum of the coefficients (the paper's beta).
    chunk_size : int, default=2000
    n_passes : int, default=1
        In later passes a chunk's earlier contribution is subtracted from the sums first.
    max_iter : int, default=200
        Maximum number of rounds over the views per chunk.
    tol : float, default=1e-4
        A chunk is done when the relative change of the objective over all rows read is below this.
    weights : {"dynamic", "one"}, default="dynamic"
        Weight of a filled row: the share of rows present in its view so far, or 1 (the effect of the
        released code).
    accept : {"sums", "scanned"}, default="sums"
        How a step of a basis is tested: by the sums over all rows read, or, as published, on all rows
        read in this pass, which keeps a copy of them.
    scale : {"all", "first"}, default="all"
        Each view is divided by the sum of its entries: over all rows, for which `fit` reads the data
        once more, or over the first chunk that has the view. `partial_fit` always does the latter.
    n_init : int, default=20
        Number of k-means starts.
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
    objective_curve_ : array, one value per chunk
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

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn's own form)
        **OnlineFactorClusterer._parameter_constraints,
        "weights": [StrOptions({"dynamic", "one"})],
        "accept": [StrOptions({"sums", "scanned"})],
        "scale": [StrOptions({"all", "first"})],
    }

    _: KW_ONLY
    agreement: float = 1e-2
    sparsity: float = 1e-7
    weights: str = "dynamic"
    accept: str = "sums"
    scale: str = "all"

    def _empty_stream(self, rng: np.random.Generator) -> OMVCStream:
        return OMVCStream(self.n_clusters, self, rng, self._threads())

    def _read_ahead(self, stream: OMVCStream, source: Source) -> None:
        """Sum the entries of each view, filled rows included."""
        if self.scale != "all":
            return
        means = [RunningMean() for _ in source.schema.names]
        sums: list[float | None] = [None] * len(means)
        for views in filled_chunks(source, self.chunk_size, means, self._threads(), unit=False):
            for v, view in enumerate(views):
                if view is not None:
                    sums[v] = (sums[v] or 0.0) + view.total()
        stream.totals = [None if total is None else total or 1.0 for total in sums]
