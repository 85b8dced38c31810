"""What the compared factorisations share: non-negative data in, k-means on their consensus out."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from numbers import Integral, Real
from typing import Any, Protocol, Self

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from viewpass.baselines.algorithms.rows import Filled, clipped, present_rows
from viewpass.cluster.base import ViewReader
from viewpass.cluster.validation import check_whole
from viewpass.engine.run import too_few
from viewpass.errors import DataError, FileError
from viewpass.kernels.grid import Floats, Integers, Labels, Matrix
from viewpass.kernels.threads import available_threads, single_threaded_blas
from viewpass.sources.source import Source
from viewpass.views.chunk import Schema
from viewpass.views.rows import MeasuredRows

PREDICT_BLOCK = 8192
COUNT = [Interval(Integral, 1, None, closed="left")]  # kinds of settings
NOT_NEGATIVE = [Interval(Real, 0, None, closed="left")]


class Factored(Protocol):
    """What a factorisation has learnt, online or not."""

    schema: Schema | None
    n_iter: int
    curve: list[float]
    clipped: set[int]
    groups: tuple[Floats, Labels] | None  # centres and labels, once they were asked for
    seed: int  # of the k-means
    n_last: int  # rows of the last call

    @property
    def n_rows(self) -> int:
        """Rows read."""

    @property
    def n_without_views(self) -> int:
        """Rows without any view."""

    def consensus(self) -> Floats:
        """A row of coefficients for every row that has a view."""

    def where(self) -> Integers:
        """Numbers of the rows with a view."""

    def objective(self) -> float:
        """The objective over all rows read."""

    def components(self) -> list[Floats | None]:
        """The basis of each view, columns x clusters."""


class FactorClusterer(ViewReader):
    """Base of the factorisations; a subclass learns (`_learnt`) and projects new rows (`_project`).

    It has the settings all of them share. scikit-learn reads the settings of an estimator off its own
    `__init__`, so a subclass lists them there again, and adds its own to `_parameter_constraints`.
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's own form)
        "n_clusters": COUNT,
        "max_iter": COUNT,
        "n_init": COUNT,
        "views": "no_validation",  # type: ignore[dict-item]
        "random_state": "no_validation",  # type: ignore[dict-item]
        "n_threads": [*COUNT, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_clusters: int,
        max_iter: int,
        n_init: int,
        views: Any,
        random_state: Any,
        n_threads: int | None,
        verbose: int,
    ) -> None:
        self.n_clusters = n_clusters
        self.max_iter = max_iter
        self.n_init = n_init
        self.views = views
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose

    assign = "k-means"
    _learnt: Factored

    @abstractmethod
    def _project(self, views: list[Filled | None], n_rows: int) -> tuple[Floats, Floats]:
        """Consensus coefficients of new rows, and what the bases leave of the rows (squared)."""

    @abstractmethod
    def _scaled(self, matrix: Any, v: int) -> Any:
        """Rows of view `v`, not negative, in the scale the bases have; None for an unknown view."""

    # ---- what was learnt

    def _state(self) -> Factored:
        if "_learnt" not in self.__dict__:
            raise AttributeError(f"this {type(self).__name__} is not fitted yet.")
        return self._learnt

    def _fitted_schema(self) -> Schema:
        schema = self._state().schema
        assert schema is not None
        return schema

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_learnt")

    def _threads(self) -> int:
        return self.n_threads or available_threads()

    @property
    def _rank(self) -> int:
        """Columns of the bases and of the consensus."""
        return int(self.n_clusters)

    def _groups(self) -> tuple[Floats, Labels]:
        """Centres of the clusters in the consensus, and labels of the rows that have a view."""
        state = self._state()
        if state.groups is None:
            consensus = state.consensus()
            if self.assign == "argmax":
                state.groups = np.eye(self.n_clusters), consensus.argmax(axis=1).astype(np.int32)
            else:
                state.groups = grouped(consensus, self.n_clusters, self.n_init, state.seed)
        return state.groups

    @property
    def labels_(self) -> Labels:  # type: ignore[override]
        """Labels of the rows of `fit`, or of the last chunk; -1: a row without any view."""
        state = self._state()
        labels = np.full(state.n_rows, -1, dtype=np.int32)
        labels[state.where()] = self._groups()[1]
        return labels[state.n_rows - state.n_last :]

    @property
    def cluster_centers_(self) -> Floats:
        """Centres of the clusters among the consensus coefficients."""
        return self._groups()[0].copy()

    @property
    def consensus_(self) -> Floats:
        """Coefficients all views agree on, a row each of all rows read; NaN for rows without a view."""
        state = self._state()
        out = np.full((state.n_rows, self._rank), np.nan)
        out[state.where()] = state.consensus()
        return out

    @property
    def components_(self) -> list[Floats]:
        """The basis of each view, (rank, columns); NaN for a view no row has had yet."""
        widths = self._fitted_schema().widths
        return [
            np.full((self._rank, width or 0), np.nan) if basis is None else basis.T.copy()
            for basis, width in zip(self._state().components(), widths, strict=True)
        ]

    @property
    def objective_(self) -> float:
        """The objective over all rows read."""
        return self._state().objective()

    @property
    def objective_curve_(self) -> Floats:
        """The objective as the fit went on: a value a chunk, or a round."""
        return np.array(self._state().curve)

    @property
    def n_iter_(self) -> int:
        """Rounds in all."""
        return self._state().n_iter

    @property
    def n_rows_without_views_(self) -> int:
        """Rows without any view: label -1, without effect."""
        return self._state().n_without_views

    @property
    def _n_features_out(self) -> int:
        return int(self.n_clusters)

    # ---- answers

    def _blocks(self, X: Any, observed: Any) -> Any:
        """Coefficients and residuals of the rows of X, block by block; NaN for rows without a view."""
        check_is_fitted(self)
        source = self._read(X, observed, reset=False)
        schema = self._fitted_schema()
        for chunk in source.chunks(PREDICT_BLOCK):
            schema.merged(chunk.schema)
            rows = MeasuredRows(chunk).measure()
            kept = np.flatnonzero(rows.n_seen > 0)
            coefficients = np.full((chunk.n_rows, self._rank), np.nan)
            residual = np.zeros(chunk.n_rows)
            with single_threaded_blas():
                coefficients[kept], residual[kept] = self._project(self._prepared(rows, kept), len(kept))
            yield coefficients, residual

    def _prepared(self, rows: MeasuredRows, kept: Integers) -> list[Filled | None]:
        views: list[Filled | None] = []
        for v in range(rows.n_views):
            found = present_rows(rows, v, kept)
            matrix = None if found is None else self._scaled(found[0], v)
            if found is None or matrix is None:
                views.append(None)
                continue
            views.append(Filled(matrix, ~found[1], np.zeros(matrix.shape[1])))
        return views

    def transform(self, X: Any, observed: Any = None) -> Floats:
        """Squared distances to the clusters' centres in the consensus; NaN for a row without any view.

        A new row is projected on the fitted bases with the views it has. With `assign="argmax"`:
        how far each coefficient stays behind the largest.
        """
        parts = [self._remote(coefficients) for coefficients, _ in self._blocks(X, observed)]
        return np.concatenate([np.empty((0, self.n_clusters)), *parts])

    def _remote(self, coefficients: Floats) -> Floats:
        if self.assign == "argmax":
            return np.asarray(coefficients.max(axis=1, keepdims=True) - coefficients)
        centres = self._groups()[0]
        return np.asarray(np.square(coefficients[:, None, :] - centres[None, :, :]).sum(axis=2))

    def predict(self, X: Any, observed: Any = None) -> Labels:
        """Label rows by the nearest centre in the consensus; -1 for rows without any view.

        The rows of `fit` may get other labels than `labels_`, which come from the coefficients the
        fit itself has found.
        """
        remote = self.transform(X, observed=observed)
        seen = ~np.isnan(remote[:, 0])
        labels = np.full(len(remote), -1, dtype=np.int32)
        labels[seen] = remote[seen].argmin(axis=1)
        return labels

    def score(self, X: Any, y: Any = None, observed: Any = None) -> float:
        """Minus what the fitted bases leave of X: squared residuals over the views that are present."""
        return -sum(float(residual.sum()) for _, residual in self._blocks(X, observed))

    # ---- fitting

    def _begin(self, X: Any, observed: Any) -> tuple[Self, Source]:
        self._validate_params()
        check_whole(self.n_clusters, "n_clusters")
        fresh = self._blank()
        source = fresh._read(X, observed, reset=True)
        if source.n_rows is not None and source.n_rows < self.n_clusters:
            raise DataError(too_few(source.n_rows, self.n_clusters))
        return fresh, source

    def _end(self, fresh: Self, source: Source) -> Self:
        fresh._groups()
        if source.row_ids is not None:
            fresh.row_ids_ = source.row_ids
        fresh._tell_clipped(set())
        self._become(fresh)
        return self

    def _tell_clipped(self, known: set[int]) -> None:
        names = [repr(self.view_names_in_[v]) for v in sorted(self._state().clipped - known)]
        if names:
            warnings.warn(
                f"view{'s' if len(names) > 1 else ''} {', '.join(names)}: negative entries were set to 0; "
                f"{type(self).__name__} factorises data that is not negative. Shift or rescale them first "
                "if they matter.",
                UserWarning,
                stacklevel=4,
            )

    def _check_unchanged(self, rank: int) -> None:
        if rank != self._rank:
            raise FileError(
                "the number of clusters or components was changed after the fit, from "
                f"{rank} to {self._rank}: fit again, or change it back, before you save."
            )

    def _check_enough(self, n_seen: int) -> None:
        if n_seen < self.n_clusters:
            raise DataError(too_few(n_seen, self.n_clusters))


def grouped(rows: Matrix, n_clusters: int, n_init: int, seed: int) -> tuple[Floats, Labels]:
    """K-means of the rows, the best of `n_init` starts; the same bits for any number of threads."""
    if not rows.shape[0]:
        return np.zeros((n_clusters, rows.shape[1])), np.zeros(0, dtype=np.int32)
    size = float(np.abs(rows).mean()) or 1.0
    n_found = min(n_clusters, rows.shape[0])
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer different rows than clusters
        means = KMeans(n_found, n_init=n_init, random_state=seed).fit(rows / size)
    centres = means.cluster_centers_ * size
    spare = np.repeat(centres[:1], n_clusters - n_found, axis=0)  # never nearer than the first
    return np.concatenate([centres, spare]), means.labels_.astype(np.int32)


def not_negative(matrix: Any) -> Any:
    """Rows of new data with negative entries set to 0."""
    clipped(matrix)
    return matrix
