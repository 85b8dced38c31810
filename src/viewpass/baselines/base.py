"""Base class of the baselines: non-negative factorisation, then k-means on the consensus coefficients."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from viewpass.baselines.factors import Factors, projected
from viewpass.baselines.rows import FilledView, present_rows, without_negatives
from viewpass.baselines.stream import FactorStream
from viewpass.errors import DataError
from viewpass.estimators.base import COUNT, NOT_NEGATIVE, ViewReader
from viewpass.kernels.grid import Floats, Integers, Labels, Matrix
from viewpass.kernels.threads import available_threads, single_threaded_blas
from viewpass.solve.solve import too_few
from viewpass.sources.source import Source
from viewpass.views.chunk import Schema
from viewpass.views.rows import MeasuredRows, without_unknown


@dataclass(eq=False, repr=False)
class FactorClusterer(ViewReader):
    """Base of the factorisations; a subclass fits (`_learnt`).

    Parameters are the fields of a dataclass, so that subclasses have the shared ones. The constraints of
    parameters that several of them have are all here.
    """

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn's own form)
        **ViewReader._parameter_constraints,
        "agreement": NOT_NEGATIVE,
        "sparsity": NOT_NEGATIVE,
        "n_tries": COUNT,
    }

    n_clusters: int = 8
    _: KW_ONLY
    max_iter: int = 200
    n_init: int = 20
    views: Any = None
    random_state: Any = None
    n_threads: int | None = None
    verbose: int = 0

    # ---- fitted attributes

    def _state(self) -> Factors | FactorStream:
        state: Factors | FactorStream = self._checked_learnt()
        return state

    def _fitted_schema(self) -> Schema:
        schema = self._state().schema
        assert schema is not None
        return schema

    def _threads(self) -> int:
        return self.n_threads or available_threads()

    @property
    def _rank(self) -> int:
        """Columns of the bases and of the consensus."""
        return int(self.n_clusters)

    def _clusters(self) -> tuple[Floats, Labels]:
        """Centres of the clusters in the consensus, and labels of the rows that have a view."""
        state = self._state()
        if state.clusters is None:
            state.clusters = kmeans(state.consensus(), self.n_clusters, self.n_init, state.seed)
        return state.clusters

    @property
    def labels_(self) -> Labels:  # type: ignore[override]
        """Labels of all rows read; -1: a row without any view."""
        state = self._state()
        labels = np.full(state.n_rows, -1, dtype=np.int32)
        labels[state.where()] = self._clusters()[1]
        return labels

    @property
    def cluster_centers_(self) -> Floats:
        """Centres of the clusters among the consensus coefficients."""
        return self._clusters()[0].copy()

    @property
    def consensus_(self) -> Floats:
        """Consensus coefficients of all rows read; NaN for rows without a view."""
        state = self._state()
        out = np.full((state.n_rows, self._rank), np.nan)
        out[state.where()] = state.consensus()
        return out

    @property
    def components_(self) -> list[Floats]:
        """The basis of each view, (rank, columns); NaN for a view that no row has had yet."""
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
        """The objective during the fit: one value per chunk, or per round."""
        return np.array(self._state().curve)

    @property
    def n_iter_(self) -> int:
        """Total number of rounds."""
        return self._state().n_iter

    @property
    def n_rows_without_views_(self) -> int:
        """Rows without any view: they get label -1 and do not affect the fit."""
        return self._state().n_without_views

    # ---- prediction

    def predict(self, X: Any, observed: Any = None) -> Labels:
        """Label rows by the nearest centre in the consensus; -1 for rows without any view of the fit.

        A row is projected on the fitted bases by the views it has. The rows of `fit` may get other labels
        than `labels_`, which come from the coefficients that the fit itself found.
        """
        check_is_fitted(self)
        source = self._read(X, observed, reset=False)
        bases, centres, schema = self._bases(), self._clusters()[0], self._fitted_schema()
        known = [basis is not None for basis in bases]
        parts = []
        for chunk in self._blocks_of(source):
            schema.merged(chunk.schema)
            rows = MeasuredRows(without_unknown(chunk, known)).measure()
            kept = np.flatnonzero(rows.n_seen > 0)
            with single_threaded_blas():
                found = projected(self._scaled_views(rows, kept), bases, len(kept), self._threads())
            labels = np.full(chunk.n_rows, -1, dtype=np.int32)
            labels[kept] = np.square(found[:, None, :] - centres).sum(axis=2).argmin(axis=1)
            parts.append(labels)
        return np.concatenate(parts)

    def _bases(self) -> list[Floats | None]:
        """Bases on which a row's coefficients are those of the consensus."""
        return self._state().components()

    def _scaled_views(self, rows: MeasuredRows, kept: Integers) -> list[FilledView | None]:
        views: list[FilledView | None] = []
        for v in range(rows.n_views):
            found = present_rows(rows, v, kept)
            views.append(None if found is None else FilledView.unfilled(self._scaled(found[0], v), found[1]))
        return views

    def _scaled(self, matrix: Matrix, v: int) -> Matrix:
        """New rows of view `v`, which has a basis, in the scale of the bases."""
        totals = self._state().totals
        total = totals[v] if totals else None
        assert total is not None
        return without_negatives(matrix) * matrix.dtype.type(1.0 / total)

    # ---- fitting

    def _begin_fit(self, X: Any, observed: Any) -> tuple[Self, Source]:
        self._validate()
        fresh = self._blank()
        source = fresh._read(X, observed, reset=True)
        if source.n_rows is not None:
            self._check_enough(source.n_rows)
        return fresh, source

    def _end_fit(self, fresh: Self, source: Source) -> Self:
        fresh._clusters()
        fresh._count_features(fresh._fitted_schema())
        if source.row_ids is not None:
            fresh.row_ids_ = source.row_ids
        fresh._warn_clipped(set(), stacklevel=4)
        self._become(fresh)
        return self

    def _warn_clipped(self, known: set[int], stacklevel: int) -> None:
        names = [repr(self.view_names_in_[v]) for v in sorted(self._state().clipped - known)]
        if names:
            warnings.warn(
                f"view{'s' if len(names) > 1 else ''} {', '.join(names)}: negative entries were set to 0; "
                f"{type(self).__name__} factorises non-negative data. Shift or rescale them first "
                "if they matter.",
                UserWarning,
                stacklevel=stacklevel,
            )

    def _check_enough(self, n_seen: int) -> None:
        if n_seen < self.n_clusters:
            raise DataError(too_few(n_seen, self.n_clusters))


def kmeans(rows: Matrix, n_clusters: int, n_init: int, seed: int) -> tuple[Floats, Labels]:
    """Centres and labels, the best of `n_init` starts; the same bits for any number of threads."""
    if not rows.shape[0]:
        return np.zeros((n_clusters, rows.shape[1])), np.zeros(0, dtype=np.int32)
    size = float(np.abs(rows).mean()) or 1.0
    n_found = min(n_clusters, rows.shape[0])
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than clusters
        means = KMeans(n_found, n_init=n_init, random_state=seed).fit(rows / size)
    centres = means.cluster_centers_ * size
    spare = np.repeat(centres[:1], n_clusters - n_found, axis=0)  # never nearer than the first
    return np.concatenate([centres, spare]), means.labels_.astype(np.int32)
