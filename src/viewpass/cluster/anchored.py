"""Base of estimators whose clusters may be formed by anchors: anchors, labels, `cut`."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from viewpass.cluster.drawn import DrawnClusterer
from viewpass.cluster.validation import check_whole
from viewpass.core.model import Model, label
from viewpass.core.state.centres import in_columns
from viewpass.core.stream import Stream
from viewpass.errors import NoLabelsError, SettingError
from viewpass.kernels.grid import Labels

LABELS = ("labels_", "stream_labels_", "anchor_labels_")


class AnchoredClusterer(DrawnClusterer):
    """A clusterer whose centres are clusters, or anchors that form clusters."""

    compute_labels: bool  # set by subclasses' __init__
    stream_labels_: Labels
    anchor_labels_: Labels
    _by_chunk: bool  # whether the labels are those of partial_fit
    _n_last: int  # rows of its last call
    _learnt: Stream

    def cut(self, n_clusters: int | str) -> Self:
        """The same model cut into another number of clusters; no data is needed.

        "auto": as many as `cluster_curve_` says, where the model has one.

        Anchors are cut again (`consensus_` says how); without anchors the clusters themselves are
        merged, by what that costs the objective. `stream_labels_` of the rows it was fitted to are
        there as well; for `labels_` use `predict`.

        Returns
        -------
        OPIMC
            A new estimator; this one stays as it is.
        """
        check_is_fitted(self)
        model = self._fitted_model()
        if n_clusters != "auto":
            check_whole(n_clusters, "n_clusters")
            if not isinstance(n_clusters, Integral) or not 1 <= n_clusters <= model.total.n_clusters:
                raise SettingError(
                    f"n_clusters={n_clusters!r}: a number from 1 to {model.total.n_clusters} was expected: "
                    "a model cannot be cut into more clusters than it has centres."
                )
        other = self._blank()
        kept = {name: value for name, value in self.__dict__.items() if name not in (*LABELS, "_learnt")}
        other.__dict__.update(kept)
        other.n_clusters = n_clusters
        other._learnt = self._learnt.recut(None if n_clusters == "auto" else int(n_clusters))
        centres = self.__dict__.get("anchor_labels_", self.__dict__.get("stream_labels_"))
        if centres is not None:
            other._take_centres_of_rows(centres, by_chunk=self._by_chunk)
        return other

    @property
    def n_samples_seen_(self) -> int:
        """Rows read, those without any view included; further passes count no row again."""
        stream = self._learnt
        return stream.n_rows + sum(chunk.n_rows for chunk in stream.gathered)

    @property
    def consensus_(self) -> str:
        """What the clusters are: "plain" (centres of their own), "merge" or "graph" (of anchors)."""
        return self._fitted_model().consensus

    @property
    def anchors_(self) -> Labels | None:
        """The cluster of each anchor; None without anchors."""
        cut = self._fitted_model().cut
        return None if cut is None else cut.anchors.copy()

    @property
    def anchor_centers_(self) -> Any:
        """The anchors themselves, (n_anchors, columns) for each view; None without anchors."""
        model = self._fitted_model()
        if model.cut is None:
            return None
        values = model.unweighed(in_columns(model.centres, model.total))
        centres = [np.empty((0, 0)) if u is None else u for u in values]
        return centres[0] if self._single_array else centres

    # ---- labels

    def _take_centres_of_rows(self, centres: Labels, *, by_chunk: bool = False) -> None:
        """Set labels from the centres that rows were assigned to; those of anchors are computed on access.

        `by_chunk`: rows are not read again, so these are their `labels_` as well.
        """
        self._by_chunk = by_chunk
        if self._fitted_model().consensus != "plain":
            self.anchor_labels_ = centres
            return
        self.stream_labels_ = centres
        if by_chunk:
            self.labels_ = centres

    def _take_recorded(self, recorded: Labels) -> None:
        """Set the labels of a chunk from what its rows were recorded under.

        Where clusters are solved on a sample, this waits until somebody asks for the labels.
        """
        model = self._learnt.learning
        self.__dict__.pop("_recorded", None)
        if model.growth is not None and model.growth.sample is not None:
            self._recorded = recorded
            self._by_chunk = True
        else:
            self._take_centres_of_rows(self._learnt.model.centres_of(recorded), by_chunk=True)

    def __getattr__(self, name: str) -> Any:
        # Labels computed when asked for: those of anchors, and those of the last call while rows are
        # collected for the warm-up (from a provisional start).
        if name in LABELS and "_recorded" in self.__dict__:
            recorded = self.__dict__.pop("_recorded")
            self._take_centres_of_rows(self._learnt.model.centres_of(recorded), by_chunk=True)
            return getattr(self, name)
        if name in ("labels_", "stream_labels_") and "_learnt" in self.__dict__:
            stream = self._learnt
            if stream.gathered:
                parts = [label(chunk, stream.model, self._workspace()) for chunk in stream.gathered]
                n_last = self.__dict__.get("_n_last", len(parts[-1]))
                labels = np.full(n_last, -1, dtype=np.int32)  # rows without views before all others
                found = np.concatenate(parts)[-n_last:]
                labels[n_last - len(found) :] = found
                return labels
            if "anchor_labels_" in self.__dict__ and (name == "stream_labels_" or self._by_chunk):
                return stream.model.labels_of(self.anchor_labels_)
            if "stream_labels_" in self.__dict__ or "anchor_labels_" in self.__dict__:
                raise NoLabelsError(_not_read_again(self.compute_labels))
        return super().__getattr__(name)

    def _fitted_model(self) -> Model:
        if "_learnt" not in self.__dict__:
            raise AttributeError(f"this {type(self).__name__} is not fitted yet.")
        return self._learnt.model


def _not_read_again(compute_labels: bool) -> str:
    why = (
        "the rows were not read again after the fit, as they came from a stream that can be read only once "
        "(or this model was made by `cut`)"
        if compute_labels
        else "compute_labels=False"
    )
    return (
        f"labels_, the labels under the final centres, were not computed: {why}. `stream_labels_` are the "
        "labels as the stream decided them; `predict` gives those under the final centres."
    )
