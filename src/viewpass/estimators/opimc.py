"""OPIMC: Algorithm 1 of the paper (Hu and Chen, AAAI 2019), as published."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from viewpass.algorithm1.algorithm1 import Algorithm1
from viewpass.engines.local import RowReader
from viewpass.engines.passes import run_passes
from viewpass.engines.progress import Callback
from viewpass.errors import DataError, NoLabelsError
from viewpass.estimators.base import logging_progress
from viewpass.estimators.clusterer import ViewClusterer
from viewpass.estimators.notices import warn_of_fit, warn_of_shortened, warn_of_zero_rows
from viewpass.estimators.validation import published_settings, row_copies
from viewpass.kernels.grid import Array, Integers
from viewpass.model.model import Model
from viewpass.solve.solve import too_few
from viewpass.sources.source import Source
from viewpass.store.container.fields import Fields
from viewpass.store.state.algorithm1 import pack_algorithm, unpack_algorithm
from viewpass.views.seeds import as_generator


@dataclass(eq=False, repr=False)
class OPIMC(ViewClusterer):
    """One-pass incomplete multi-view clustering, as published.

    Rows are read once, in chunks, and brought to unit length in every view they have. Each chunk is assigned
    to the nearest centres over those views; only two sums per view are kept. For a default that needs
    no tuning, use `ViewPass`.

    Parameters
    ----------
    n_clusters : int, default=8
    alpha : float, default=0.1
        Ridge on the centres: it pulls them towards the origin with the weight of `alpha` rows.
    chunk_size : int, default=2000
        Rows per chunk (s in the paper: 50 on small data, 2000 on large). It affects the result.
    n_passes : int, default=1
        How often the data is read. From the second pass on, a chunk starts from its last labels.
    max_iter : int, default=20
        Most centre updates per chunk.
    tol : float, default=1e-6
        A chunk has converged when its loss changes by less than this share; 0: when no label changes.
    init : "random", array or list of arrays, default="random"
        "random": a soft random V of the first chunk. An array of (rows of the first chunk, n_clusters) is
        that V, a 1-D array the labels of those rows. A list (or dict) of (n_clusters, columns) arrays are
        centres in the scale of the data; for a single 2-D array they may be one array.
    fill : {"mean", "zero-filled-mean"} or None, default="mean"
        Centre of an empty cluster in a view. In the first chunk it is the mean of the observed rows
        (or, as in the released code, of all rows with missing ones as zeros), later its last centre.
        None: zero, the paper's OPIMC-NF.
    scale : str, list or dict, default="unit"
        What is done to a view before its rows are brought to unit length, as in `ViewPass` but never chosen:
        it is learnt from the first chunk. "unit": nothing, as in the paper.
    views : int, list of int, or names of columns, optional
        How a single 2-D array is cut into views, as in `ViewPass`.
    compute_labels : bool, default=True
        Also compute `labels_`, the labels under the final centres: the data is read once more.
    random_state : None, int, RandomState or Generator
    n_threads : int, optional
        Results do not depend on it.
    verbose : int, default=0

    Attributes
    ----------
    stream_labels_ : (n,) array of int32
        The labels as the stream decided them: the paper's result. -1: a row without any view.
    labels_ : (n,) array of int32
        The labels under the final centres, equal to `predict`.
    cluster_centers_, counts_, statistics_, inertia_, objective_, alpha_, scales_, view_names_in_,
    n_features_in_, row_ids_, n_samples_seen_, n_rows_without_views_, n_all_zero_, n_shortened_
        As in `ViewPass`; sums and counts are those of `stream_labels_`.
    loss_curve_ : array
        The average loss after every chunk (Eq. 18-20).
    n_iter_ : int
        Centre updates in all.

    Examples
    --------
    >>> import numpy as np
    >>> import viewpass as vp
    >>> X = np.repeat(np.eye(3), 5, axis=0)
    >>> labels = vp.OPIMC(n_clusters=3, random_state=2).fit_predict([X, 2 * X])
    >>> np.bincount(labels)
    array([5, 5, 5])
    """

    n_clusters: int = 8
    _: KW_ONLY
    alpha: float = 0.1
    chunk_size: int = 2000
    n_passes: int = 1
    max_iter: int = 20
    tol: float = 1e-6
    init: Any = "random"
    fill: str | None = "mean"
    scale: Any = "unit"
    views: Any = None
    compute_labels: bool = True
    random_state: Any = None
    n_threads: int | None = None
    verbose: int = 0

    def fit(
        self,
        X: Any,
        y: Any = None,
        observed: Any = None,
        *,
        sample_weight: Any = None,
        callback: Callback | None = None,
    ) -> Self:
        """Cluster the rows, forgetting what was learnt before; arguments as in `ViewPass.fit`.

        If `callback` returns True, reading ends there: the model and its labels are those of the rows so far.
        """
        fresh, source, copies = self._prepare(X, observed, sample_weight)
        reader = RowReader(source, copies)
        with logging_progress(self.verbose):
            given = fresh._learnt, reader, self.chunk_size, self.n_passes
            fresh.stream_labels_ = run_passes(*given, callback=callback)
            if self.compute_labels and source.rereadable:
                fresh.labels_ = fresh._labels_of(source, fresh._learnt.n_rows)
        model = fresh._fitted_model()
        fresh._count_features(model.schema)
        if reader.row_ids is not None:
            fresh.row_ids_ = reader.row_ids[: fresh._learnt.n_rows]
        warn_of_fit(model, fresh._n_found())
        self._become(fresh)
        return self

    def partial_fit(self, X: Any, y: Any = None, observed: Any = None, *, sample_weight: Any = None) -> Self:
        """Learn from one more chunk: all rows of X, in one step.

        Calling it with the chunks of a data set one by one is `fit` with `n_passes=1`, to the bit.
        `stream_labels_` are the labels of this chunk. A table or stream is read in chunks of `chunk_size`;
        if one of them is refused, nothing has been learnt.
        """
        if hasattr(self, "_learnt"):
            self._validate()
            fresh, source = self._continued(), self._read(X, observed, reset=False)
            copies, _ = row_copies(sample_weight, source, self._learnt.settings.weight_unit)
            fresh._learnt.workspace = fresh._workspace(source)
        else:
            fresh, source, copies = self._prepare(X, observed, sample_weight, whole=False)
        before, start = fresh._learnt.model, fresh._learnt.n_rows
        size = source.n_rows if source.in_memory and source.n_rows else self.chunk_size
        reader = RowReader(source, copies)
        fresh.stream_labels_ = run_passes(fresh._learnt, reader, size, 1, whole=False)
        if fresh._learnt.n_rows == start:
            raise DataError("the data has no rows (0 samples): at least one is needed.")
        model = fresh._fitted_model()
        warn_of_zero_rows(model, before)
        warn_of_shortened(model, before)
        fresh._count_features(model.schema)
        if reader.row_ids is not None:
            fresh.row_ids_ = reader.row_ids
        self._become(fresh)
        return self

    def _prepare(
        self, X: Any, observed: Any, sample_weight: Any = None, *, whole: bool = True
    ) -> tuple[Self, Source, Integers | None]:
        """Validate settings and data, and give a copy that has learnt nothing yet."""
        self._validate()
        fresh = self._blank()
        source = fresh._read(X, observed, reset=True)
        n_first = source.n_rows
        if n_first is not None and whole:
            n_first = min(int(self.chunk_size), n_first)
        copies, unit = row_copies(sample_weight, source, None)
        settings = published_settings(fresh, fresh.view_names_in_, fresh._single_shape(n_first))
        rng = as_generator(self.random_state)
        fresh._learnt = Algorithm1(settings.weighted(unit), rng, fresh._workspace(source))
        if whole and source.n_rows is not None and source.n_rows < self.n_clusters:
            raise DataError(too_few(source.n_rows, self.n_clusters))
        return fresh, source, copies

    def _fitted_model(self) -> Model:
        model: Model = self._checked_learnt().shown()
        return model

    def _packed(self, arrays: dict[str, Array]) -> dict[str, Any]:
        own = self._learnt.rng is self.random_state  # the user's generator: both draw from it
        return {"algorithm1": pack_algorithm(self._learnt, arrays), "own_generator": own}

    def _take_packed(self, stored: Fields) -> None:
        self._learnt = unpack_algorithm(stored.part("algorithm1"), self._workspace())
        if stored.truth("own_generator"):
            self.random_state = self._learnt.rng

    def __getattr__(self, name: str) -> Any:
        if name == "labels_" and "stream_labels_" in self.__dict__:
            raise NoLabelsError(
                "labels_, the labels under the final centres, were not computed: the rows were not read "
                "again (compute_labels=False, partial_fit, or data that can be read only once). "
                "`stream_labels_` are the labels as the stream decided them; `predict` gives those under "
                "the final centres."
            )
        return super().__getattr__(name)

    @property
    def loss_curve_(self) -> np.ndarray[Any, Any]:
        """The average loss per row (per unit of sample weight) after every chunk (Eq. 18-20)."""
        return np.array(self._fitted_model().loss_curve)

    @property
    def n_iter_(self) -> int:
        """Centre updates in all."""
        return self._fitted_model().n_iter
