"""The base class of the estimators with centres: prediction, and what was learnt as fitted attributes."""

from __future__ import annotations

import os
from abc import abstractmethod
from typing import Any, Self, cast

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from viewpass.engines.local import RowReader
from viewpass.engines.passes import check_passes
from viewpass.errors import NoLabelsError
from viewpass.estimators.base import ALL_ROWS, PREDICT_BLOCK, ViewReader
from viewpass.estimators.inputs import index_of, opened, reads_once
from viewpass.estimators.notices import warn_of_absent
from viewpass.estimators.persistence import save
from viewpass.kernels.grid import Array, Floats, Labels
from viewpass.kernels.threads import available_threads
from viewpass.model.choice import Choice, Curve
from viewpass.model.model import Model, cluster_distances, label
from viewpass.sources.source import Source, spans
from viewpass.store.container.fields import Fields
from viewpass.sums.centres import in_columns, objective
from viewpass.sums.row_counts import GapCounts
from viewpass.sums.rules import Workspace
from viewpass.sums.statistics import Statistics
from viewpass.views.chunk import Schema


class ViewClusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ViewReader):
    """Base of the estimators with centres; a subclass fits and gives its model (`_fitted_model`)."""

    alpha: float | str
    scale: Any
    stream_labels_: Labels

    @abstractmethod
    def _fitted_model(self) -> Model:
        """What was learnt, or AttributeError."""

    def _fitted_schema(self) -> Schema:
        return self._fitted_model().schema

    def _workspace(self, source: Source | None = None) -> Workspace:
        spare = 0 if source is None or source.in_memory else 1  # for the thread that reads ahead
        return Workspace(self.n_threads or max(1, available_threads() - spare))

    def __getattr__(self, name: str) -> Any:
        made = getattr(type(self), name, None)
        if isinstance(made, property) and made.fget is not None:  # for the reason it gave
            return made.fget(self)
        if name in ("labels_", "stream_labels_", "stream_ids_") and "_learnt" in self.__dict__:
            raise NoLabelsError(
                f"{name} are not part of a model that was loaded, or fitted to a table of Ray or Spark: its "
                "file does not hold labels of rows. Call `predict` with the rows, `vp.ray.predict` or "
                "`vp.spark.predict` with the table."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def fit_predict(
        self, X: Any, y: Any = None, observed: Any = None, *, sample_weight: Any = None
    ) -> Labels:
        """Fit, then give `labels_`, or `stream_labels_` where rows were read once."""
        self.fit(X, observed=observed, sample_weight=sample_weight)
        return self.labels_ if "labels_" in self.__dict__ else self.stream_labels_

    @abstractmethod
    def fit(self, X: Any, y: Any = None, observed: Any = None, *, sample_weight: Any = None) -> Self:
        """Cluster the rows."""

    # ---- prediction

    def predict(self, X: Any, observed: Any = None) -> Labels:
        """Label rows by the nearest centre over the views they have; -1 for rows without any.

        A view that no row of the fit had does not count: a row with no other view gets -1. Where X lacks
        a whole view of the fit, a `DataWarning` estimates how many labels would be the same with it.

        Parameters
        ----------
        X : as for `fit`
        observed : (n, n_views) array of bool, optional

        Returns
        -------
        labels : (n,) array of int32
        """
        check_is_fitted(self)
        source = self._read(X, observed, reset=False)
        reader = RowReader(source, block=PREDICT_BLOCK, keep_ids=False)
        labels = self._read_labels(reader)
        warn_of_absent(self._fitted_model(), reader.views_there, self._workspace(source))
        return labels

    def _labels_of(self, source: Source, n_rows: int = ALL_ROWS) -> Labels:
        """Labels of the source's first rows under the model."""
        return self._read_labels(RowReader(source, block=PREDICT_BLOCK, keep_ids=False), n_rows)

    def _read_labels(self, reader: RowReader, n_rows: int = ALL_ROWS) -> Labels:
        parts, n_done = [np.empty(0, dtype=np.int32)], 0
        model, workspace = self._fitted_model(), self._workspace(reader.source)
        for chunk in reader.chunks():
            parts.append(label(chunk, model, workspace))
            n_done += chunk.n_rows
            if n_done >= n_rows:
                break
        return np.concatenate(parts)[:n_rows]

    def transform(self, X: Any, observed: Any = None) -> Floats:
        """Squared distances to the clusters over the observed views; NaN where `predict` gives -1.

        The distance to a cluster of anchors is that to the nearest of them; NaN for a cluster without any,
        which `explain` never names and to which label files give no distance.

        Returns
        -------
        distances : (n, n_clusters) array of float64
        """
        return self._indexed(self._distances(X, observed), X)

    def _indexed(self, distances: Floats, X: Any) -> Floats:
        """Distances with the index (or ids) of the rows, for `set_output(transform="pandas")`.

        scikit-learn adds the index of a single frame; it does not look into several views.
        """
        if _get_output_config("transform", self)["dense"] != "pandas":
            return distances
        index = index_of(X)
        if index is None:
            return distances
        import pandas as pd

        framed: Any = pd.DataFrame(distances, index=index)
        return cast(Floats, framed)

    def fit_transform(self, X: Any, y: Any = None, observed: Any = None) -> Floats:
        """Fit, then `transform` the same data, which must be readable twice."""
        given = opened(X, self.views) if reads_once(X) else X
        if isinstance(given, Source):
            check_passes(given, 2)
        return self.fit(X, observed=observed).transform(X, observed=observed)

    def _distances(self, X: Any, observed: Any) -> Floats:
        check_is_fitted(self)
        source = self._read(X, observed, reset=False)
        model, workspace = self._fitted_model(), self._workspace(source)
        parts = [cluster_distances(chunk, model, workspace) for chunk in self._blocks_of(source)]
        return np.concatenate(parts)

    def score(self, X: Any, y: Any = None, observed: Any = None) -> float:
        """Minus the objective on X: squared distances to the nearest centres plus the ridge."""
        nearest = np.nanmin(self._distances(X, observed), axis=1, initial=np.inf, where=True)
        model, centres = self._fitted_model(), self._fitted_model().centres
        ridge = sum(alpha * float(centres.squares(v).sum()) for v, alpha in enumerate(self.alpha_.values()))
        return -float(nearest[np.isfinite(nearest)].sum() + ridge * model.square_unit)

    def _n_found(self) -> int:
        """Clusters that rows were labelled with by the last fit."""
        labels = self.labels_ if "labels_" in self.__dict__ else self.stream_labels_
        found = np.zeros(labels.max(initial=-1) + 2, dtype=bool)
        for first, last in spans(len(labels), PREDICT_BLOCK):  # labels may be most of what memory holds
            found[labels[first:last] + 1] = True
        return int(found[1:].sum())

    # ---- files

    @abstractmethod
    def _packed(self, arrays: dict[str, Array]) -> dict[str, Any]:
        """What was learnt as JSON; its arrays go into `arrays`."""

    @abstractmethod
    def _take_packed(self, stored: Fields) -> None:
        """Take over what `_packed` gave; FileError if it makes no sense."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that `vp.load` reads: whole or not at all, and never executable.

        It holds the centres, the sums, the settings and the state of the random generator, so that `predict`
        gives the same labels and `partial_fit` continues with the same bits. It does not hold the labels of
        the rows it was fitted to, nor `n_threads`.
        """
        save(self, path)

    # ---- what was learnt

    @property
    def cluster_centers_(self) -> Any:
        """Centres of each view, (n_clusters, columns); NaN for a view no row has had yet.

        They are means of rows in the scale that `scales_` names. A list with one array per view; the
        array itself for a model fitted on a single 2-D array.
        """
        model = self._fitted_model()
        means = model.unweighed(in_columns(model.cluster_centres, model.clusters))
        shape = [(model.clusters.n_clusters, width or 0) for width in model.schema.widths]
        centres = [
            np.full(shape[v], np.nan) if model.centres.values[v] is None or values is None else values
            for v, values in enumerate(means)
        ]
        return centres[0] if self._single_array else centres

    @property
    def _single_array(self) -> bool:
        """Whether the model was fitted on one 2-D array as its only view."""
        return self._cut_by_views and self.views is None

    def _single_shape(self, n_first: int | None) -> tuple[int | None, int] | None:
        """Rows of the first chunk and columns, where one 2-D array is the only view."""
        return (n_first, self.n_features_in_) if self._single_array else None

    @property
    def alpha_(self) -> dict[str, float]:
        """The ridge of each view, in rows."""
        return self._fitted_model().ridges

    @property
    def scales_(self) -> dict[str, str]:
        """How each view is scaled: "unit", "standard", "idf", "euclidean", or by its kind of values."""
        model = self._fitted_model()
        return dict(zip(model.schema.names, model.scaling.names, strict=True))

    @property
    def projections_(self) -> dict[str, Floats]:
        """The map of each view that is mapped to fewer columns: (mapped columns, columns)."""
        model = self._fitted_model()
        maps = () if model.scaling.projection is None else model.scaling.projection.views
        pairs = zip(model.schema.names, maps, strict=bool(maps))
        return {name: own.directions.copy() for name, own in pairs if own is not None}

    @property
    def view_weights_(self) -> dict[str, float]:
        """Factor of each view's squared distances; the largest is 1."""
        model = self._fitted_model()
        return dict(zip(model.schema.names, model.view_weights, strict=True))

    @property
    def counts_(self) -> list[Array]:
        """Rows of each cluster that have view v (or the sum of their sample weights), for each view."""
        model = self._fitted_model()
        if model.weight_unit == 1:
            return [counts.copy() for counts in model.clusters.counts]
        return [counts / model.weight_unit for counts in model.clusters.counts]

    @property
    def statistics_(self) -> Statistics:
        """The sums and counts themselves (a copy); of rows of length sqrt(w) where views have weights.

        Multiplied by 1024 where sample weights were not whole numbers.
        """
        return self._fitted_model().clusters.copy().all_in_columns()

    @property
    def objective_(self) -> float:
        """The objective J over all rows read (Eq. 17): `inertia_` plus `alpha_` times the squared centres.

        With anchors: of the clusters they form, with the best centres.
        """
        model = self._fitted_model()
        if model.cut is not None:
            found = model.clusters.objective(model.alpha, model.row_squares)
        else:
            found = objective(model.cluster_centres, model.clusters, model.alpha, model.row_squares)
        return found * model.square_unit / model.weight_unit

    @property
    def inertia_(self) -> float:
        """Squared distances of all rows read to the centres of their clusters, over the observed views.

        Known from the sums, so it is that of `stream_labels_`; without the ridge that `objective_` has.
        """
        model = self._fitted_model()
        total = objective(model.cluster_centres, model.clusters, 0.0, model.row_squares)
        return total * model.square_unit / model.weight_unit

    @property
    def n_samples_seen_(self) -> int:
        """Rows read, those without any view included; further passes count no row again."""
        return self._fitted_model().n_rows

    @property
    def n_rows_without_views_(self) -> int:
        """Rows without any view: label -1, without effect."""
        return self._fitted_model().read.n_without_views

    @property
    def n_all_zero_(self) -> dict[str, int]:
        """Rows that count as missing in each view because all their values there are zero."""
        return self._fitted_model().zero_rows

    @property
    def n_gaps_(self) -> dict[str, GapCounts]:
        """Values missing inside rows of each view (`missing_entries`), and rows that had too few."""
        return self._fitted_model().gap_counts

    @property
    def n_shortened_(self) -> dict[str, int]:
        """Rows that were longer in each view than the scale "euclidean" has room for, and were shortened."""
        return self._fitted_model().n_shortened

    @property
    def choices_(self) -> list[Choice]:
        """What was chosen, with the scores of the candidates and the reason."""
        return list(self._fitted_model().choices)

    @property
    def cluster_curve_(self) -> Curve | None:
        """The score of each number of clusters (how well labels predict hidden views), or None."""
        return self._fitted_model().curve

    @property
    def _n_features_out(self) -> int:
        return self._fitted_model().clusters.n_clusters

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the columns of `transform`: "cluster0", "cluster1" and so on.

        Where anchors form the clusters, a name says how many: "cluster0_of_7_anchors".
        """
        check_is_fitted(self)
        cut, names = self._fitted_model().cut, [f"cluster{k}" for k in range(self._n_features_out)]
        if cut is not None:
            n_anchors = np.bincount(cut.anchors, minlength=len(names))
            names = [f"{name}_of_{n}_anchors" for name, n in zip(names, n_anchors, strict=True)]
        return np.array(names, dtype=object)
