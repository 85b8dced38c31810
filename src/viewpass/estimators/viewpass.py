"""ViewPass: clusters multi-view rows, many of whose views are missing: sample, solve, tally."""

from __future__ import annotations

import os
from collections.abc import Mapping
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from viewpass.engines.local import RowReader, fit_again, fit_once
from viewpass.engines.progress import Callback
from viewpass.errors import DataError, NoLabelsError, SettingError
from viewpass.estimators import reason_methods, report_methods
from viewpass.estimators.base import COUNT, NOT_NEGATIVE, PREDICT_BLOCK, logging_progress
from viewpass.estimators.clusterer import ViewClusterer
from viewpass.estimators.notices import (
    warn_of_absent,
    warn_of_fit,
    warn_of_repeated_ids,
    warn_of_shortened,
    warn_of_zero_rows,
)
from viewpass.estimators.persistence import save
from viewpass.estimators.validation import check_whole, row_copies, solving_plan, stream_horizon
from viewpass.kernels.grid import MOST_ROWS, Array, Integers, Labels
from viewpass.model.model import Model, label
from viewpass.sample.sample import Sample, Size
from viewpass.solve.plan import SHAPES
from viewpass.sources.source import Source
from viewpass.store.container.fields import Fields
from viewpass.store.state.learning import MOST_SEED, pack_learning, unpack_learning
from viewpass.streams.events import NO_CLUSTER, Event, Receipt
from viewpass.streams.horizon import BUCKETS
from viewpass.streams.identities import Sizes
from viewpass.sums.centres import in_columns
from viewpass.sums.rules import left_out
from viewpass.tally.forgetting import check_left, keys_of, without
from viewpass.tally.learning import Learning
from viewpass.tally.merging import continuing
from viewpass.views.chunk import Schema
from viewpass.views.gaps import GAP_RULES
from viewpass.views.projection import LEAST_COLUMNS, MOST_COLUMNS
from viewpass.views.seeds import as_generator


class ViewPass(ViewClusterer):
    """Clusters rows that have several views, many of them missing.

    Scale, shape and centres are chosen from a uniform sample of all rows. Then sums over all rows refine
    the centres, and every row gets the label of its nearest cluster over the views that it has. Memory holds
    the sample and one chunk.

    Missing views are rows of NaN, `None` for a whole view, or False in `observed`. So are rows of zeros where
    rows are brought to unit length (`n_all_zero_` counts them), unless `observed`, a table's nulls or ids say
    what is missing.

    Parameters
    ----------
    n_clusters : int, "auto" or "grow", default=8
        Number of clusters, or "auto" to estimate it (`cluster_curve_`), with a `DataWarning` where the sample
        does not determine it. "grow": estimated from the first rows of a stream; clusters are added when
        later rows form some that no cluster explains, at most `max_clusters` in all.
    scale : {"auto", "unit", "standard", "idf", "euclidean", "counts", "composition", "binary"}, list or dict
        What is done to a view before its rows are brought to unit length; a list or a dict (by view name)
        gives one per view. "unit": nothing. "standard": every column minus its mean, divided by its standard
        deviation; sparse views keep their zeros and are only divided. "idf": every column times
        log((1 + n) / (1 + rows that have it)) + 1. "euclidean", for dense views: columns centred, and rows
        keep their lengths. "counts": log(1 + x s / t) with the total t of the row and the median total s,
        then "standard". "composition", for dense views: centred log-ratio. "binary", for dense views of 0
        and 1: columns centred and weighted by their rarity. "auto": chosen (`choices_`).
    consensus : {"auto", "plain", "neighbours", "graph"}, default="auto"
        What clusters are. "plain": each has a centre, found by the objective. "neighbours": sampled rows are
        linked with their nearest in each view, the graph is cut, and each part gets a centre. "graph": small
        clusters (anchors) that share rows are linked, and the graph is cut; clusters may have any shape.
        "auto": chosen (`choices_`).
    n_anchors : int or "auto", default="auto"
        Anchors of a graph. "auto": one per five rows of the sample, at most 3200.
    projection : int, "auto" or None, default="auto"
        Columns that each dense view is mapped to after it is scaled: a linear map that keeps what separates
        the clusters. "auto": two columns per cluster where there is a graph. None: no map.
    alpha : float or "auto", default="auto"
        Ridge on the centres, in rows. "auto": one for each view (`alpha_`), estimated from the sample.
    view_weights : None, or list or dict of float, default=None
        Factors of the views' squared distances; 0 leaves a view out. A dict may name some views: those of the
        others are 1.
    missing_entries : {"refuse", "fill", "local"}, default="refuse"
        What becomes of a row that has only some of the values of a dense view. "refuse": an error. "fill":
        the others take the means of their columns. "local": the means of similar rows. A row with less than
        a tenth of the values counts as lacking the view (`n_gaps_`).
    sample_size : int or "auto", default="auto"
        Rows of the sample. "auto": 16,384, or 50 per cluster (100 for up to 300 clusters) if that is more,
        within 256 MiB. Data with no more rows than this is solved whole.
    window : int or str, optional
        Only the last `window` rows of a stream count, or those of a duration: "7D" (s, min, h, D or W). Rows
        leave in buckets of an eighth of it. At the end of each bucket the stream is checked for change, and
        solved again if it has changed (`events_`).
    time : str, optional
        The column of dates or timestamps that rows of a table come in the order of; `events_` say when.
    half_life : int, optional
        Rows of a stream after which a row counts half; changes are found as with `window`.
    max_clusters : int, optional
        The most clusters of "grow".
    robust : bool, default=False
        Whether outliers are kept out of the centres: the sample is solved again without the rows that are far
        from all clusters, for their presence pattern (`is_outlier`). They get labels and are counted.
        Where rows are too few to judge that, none is left out.
    views : int, list of int, or names of columns, optional
        How a single 2-D array is cut into views: widths (one may be -1 for the rest), or a number of
        near-equal blocks. For a frame, a table or files: the columns of each view, as `vp.scan` takes them.
    compute_labels : bool, default=True
        Whether rows are read again for tallies and `labels_`. False: every row is read once, as in a stream.
    random_state : None, int, RandomState or Generator
    n_threads : int, optional
        By default the processors this process may use. Results do not depend on it.
    verbose : int, default=0
        1: report the progress through `logging`.

    Attributes
    ----------
    labels_ : (n,) array of int32
        Equal to `predict` of the same data; -1 for a row without any view.
    stream_labels_ : (n,) array of int32
        The labels as rows were read, where every row was read once.
    cluster_centers_ : list of (n_clusters, columns) arrays, one per view
        Means of scaled rows. An array for a model fitted on a single 2-D array.
    counts_ : list of (n_clusters,) arrays, one per view
        Rows of each cluster that have the view, or the sum of their sample weights; exact where the rows
        could be read again, otherwise estimated from the sample.
    inertia_ : float
        Squared distances of rows to the centres of their clusters over the observed views.
    choices_ : list of Choice
        What was chosen: `what`, `chosen`, `scores` of the candidates, `error`, `reason`.
    cluster_curve_ : Curve or None
        The score of several numbers of clusters, where the number was estimated or there are anchors.
    consensus_ : str
        "plain", "neighbours" or "graph".
    anchors_ : (n_anchors,) array of int32 or None
        The cluster of each anchor.
    alpha_, scales_, view_weights_, projections_ : dict
        The ridge, scale, weight and map of each view.
    cluster_ids_ : (n_clusters,) array of int64
        The id of each cluster. A cluster keeps its id when the sample is solved again; no id is given twice.
        Until the sample of a stream is full, a new one has the id of the one most of its rows were in.
    stream_ids_ : (n,) array of int64
        The ids of rows' clusters as rows were read, where every row was read once.
    events_ : tuple of Event
        What happened to clusters: born, split, merged, died, returned, drifted.
    n_samples_seen_, n_rows_without_views_ : int
    n_all_zero_, n_gaps_, n_shortened_ : dict
    statistics_ : Statistics
    view_names_in_ : tuple of str
    n_features_in_ : int
    row_ids_ : array, where the data has ids

    Examples
    --------
    >>> import numpy as np
    >>> import viewpass as vp
    >>> X = np.repeat(np.eye(3), 5, axis=0)
    >>> labels = vp.ViewPass(n_clusters=3, random_state=0).fit_predict([X, 2 * X])
    >>> np.bincount(labels)
    array([5, 5, 5])
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's own form)
        **ViewClusterer._parameter_constraints,
        "n_clusters": [*COUNT, StrOptions({"auto", "grow"})],
        "consensus": [StrOptions(set(SHAPES))],
        "n_anchors": [*COUNT, StrOptions({"auto"})],
        "projection": [
            Interval(Integral, LEAST_COLUMNS, MOST_COLUMNS, closed="both"),
            StrOptions({"auto"}),
            None,
        ],
        "alpha": [*NOT_NEGATIVE, StrOptions({"auto"})],
        "missing_entries": [StrOptions({*GAP_RULES})],
        "sample_size": [*COUNT, StrOptions({"auto"})],
        "window": [Interval(Integral, BUCKETS, MOST_ROWS, closed="both"), str, None],
        "time": [str, None],
        "half_life": [Interval(Integral, 1, MOST_ROWS, closed="both"), None],
        "max_clusters": [Interval(Integral, 1, MOST_ROWS, closed="both"), None],
        "robust": ["boolean"],
    }

    _learnt: Learning
    compute_labels: bool
    stream_labels_: Labels
    stream_ids_: Integers

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        scale: Any = "auto",
        consensus: str = "auto",
        n_anchors: int | str = "auto",
        projection: int | str | None = "auto",
        alpha: float | str = "auto",
        view_weights: Any = None,
        missing_entries: str = "refuse",
        sample_size: int | str = "auto",
        window: int | str | None = None,
        time: str | None = None,
        half_life: int | None = None,
        max_clusters: int | None = None,
        robust: bool = False,
        views: Any = None,
        compute_labels: bool = True,
        random_state: Any = None,
        n_threads: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.scale = scale
        self.consensus = consensus
        self.n_anchors = n_anchors
        self.projection = projection
        self.alpha = alpha
        self.view_weights = view_weights
        self.missing_entries = missing_entries
        self.sample_size = sample_size
        self.window = window
        self.time = time
        self.half_life = half_life
        self.max_clusters = max_clusters
        self.robust = robust
        self.views = views
        self.compute_labels = compute_labels
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any = None,
        observed: Any = None,
        *,
        sample_weight: Any = None,
        callback: Callback | None = None,
        continue_ids: ViewPass | None = None,
    ) -> Self:
        """Cluster the rows of X; what was learnt before is dropped.

        Parameters
        ----------
        X : list or dict of arrays, one 2-D array, frames, table, path, or source
            One matrix per view (dense or CSR), with NaN rows or None for what is missing; or what `vp.scan`,
            `vp.frames` and the other readers give.
        y : ignored
        observed : (n, n_views) array of bool, optional
            Which views each row has.
        sample_weight : (n,) array, optional
            How many equal rows each row counts as; a row of weight 0 is labelled but has no effect. If any
            is not whole, all are rounded to multiples of 1/1024. For data in memory.
        callback : callable, optional
            Called after every chunk with the progress (`pass_number`, `n_passes`, `n_rows_read`, `n_rows`).
            If it returns True while the sample is drawn, the rows so far are the data.
        continue_ids : fitted ViewPass, optional
            A model of the same views, saved with its sample. Clusters that correspond to its clusters
            keep their ids (`cluster_ids_`), and `events_` continue.

        Returns
        -------
        self
        """
        fresh, source, copies = self._prepare(X, observed, sample_weight)
        if continue_ids is not None:
            if not isinstance(continue_ids, ViewPass):
                raise SettingError(
                    f"continue_ids= is a {type(continue_ids).__name__}: a fitted ViewPass was expected."
                )
            check_is_fitted(continue_ids)
            continue_ids._check_sample("ids cannot be continued")
            if continue_ids.view_names_in_ != fresh.view_names_in_:
                theirs, mine = (", ".join(map(repr, each.view_names_in_)) for each in (continue_ids, fresh))
                raise SettingError(f"continue_ids= has the views {theirs}; the data has {mine}.")
            if fresh._learnt.horizon.changing:
                raise SettingError(
                    "continue_ids= is for data that is fitted whole; with window=, half_life= or "
                    "n_clusters='grow' the model itself goes on: use partial_fit."
                )
        learning, workspace = fresh._learnt, fresh._workspace(source)
        reader = RowReader(source, copies, PREDICT_BLOCK)
        with logging_progress(self.verbose):
            if self.compute_labels and source.rereadable and not learning.horizon.changing:
                fresh._learnt, fresh.labels_ = fit_again(learning, reader, workspace, callback)
            else:
                fresh.stream_labels_, fresh.stream_ids_ = fit_once(learning, reader, workspace, callback)
            model = fresh._fitted_model()
        fresh._count_features(model.schema)
        if continue_ids is not None:
            model.schema.merged(continue_ids._fitted_schema())
            fresh._learnt = continuing(fresh._learnt, continue_ids._learnt, workspace)
        ids = reader.row_ids
        if ids is not None:
            fresh.row_ids_ = ids[: fresh._learnt.n_rows]
        warn_of_fit(model, fresh._n_found())
        self._become(fresh)
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        observed: Any = None,
        *,
        sample_weight: Any = None,
        callback: Callback | None = None,
    ) -> Self:
        """Learn from more rows, which are read once.

        Rows are labelled by the model of the last solve. The sample is solved when it is full, and again
        whenever the rows have become half as many again; until it is full, the model is that of the rows
        so far. How rows are divided among calls has no effect. `labels_` are those of this call's
        rows. Weights that are not whole numbers must begin with the first rows. Rows whose ids the sample
        holds already count again, with a `RepeatedIdsWarning`.
        """
        if hasattr(self, "_learnt"):
            self._validate()
            self._check_sample("no rows can be learnt")
            fresh, source = self._continued(), self._read(X, observed, reset=False)
            source = source if self.time is None else source.timed(self.time)
            fresh.__dict__["_cluster_names"] = dict(self.cluster_names_)
            before: Model | None = self._learnt.solved
            copies, _ = row_copies(sample_weight, source, self._learnt.plan.weight_unit)
        else:
            fresh, source, copies = self._prepare(X, observed, sample_weight, whole=False)
            before = None
        learning, workspace = fresh._learnt, fresh._workspace(source)
        start = learning.n_rows
        reader = RowReader(source, copies, PREDICT_BLOCK, keep=True)
        found, ids = fit_once(learning, reader, workspace, callback, whole=False)
        if learning.n_rows == start:
            raise DataError("the data has no rows (0 samples): at least one is needed.")
        fresh._n_last = learning.n_rows - start
        if learning.solved is not None:
            fresh.stream_labels_, fresh.stream_ids_ = found[-fresh._n_last :], ids[-fresh._n_last :]
            fresh.labels_ = fresh.stream_labels_
            if learning.solved_at > start and source.rereadable:  # solved meanwhile: the labels of today
                fresh.labels_ = fresh._labels_of(source)
            warn_of_zero_rows(learning.solved, before)
            warn_of_shortened(learning.solved, before)
        if before is not None:
            warn_of_absent(self._fitted_model(), reader.views_there, workspace)
        if start and reader.row_ids is not None:
            warn_of_repeated_ids(reader.row_ids, self._learnt.sample, start)
        assert learning.schema is not None
        fresh._count_features(learning.schema)
        if reader.row_ids is not None:
            fresh.row_ids_ = reader.row_ids
        self._become(fresh)
        return self

    def forget(self, rows: Any, *, data: Any = None) -> Self:
        """Remove rows: the model is then that of a fit that never saw them.

        While the sample holds all rows, nothing is read. Otherwise centres were moved by all rows, and the
        data is read again, without them. Clusters keep their ids. `receipts_` say what was forgotten.

        Parameters
        ----------
        rows : array
            The ids of the rows; their numbers, where rows have no ids.
        data : as for `fit`, optional
            The data without these rows, needed where there are more rows than the sample holds.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        self._check_sample("no rows can be forgotten")
        learnt, given = self._learnt, np.atleast_1d(np.asarray(rows))
        if learnt.horizon.changing:
            raise SettingError(
                "forget is for models of all rows: rows of a stream with window=, half_life= or "
                "n_clusters='grow' leave with time, or by a new fit."
            )
        keys = keys_of(given)
        if data is not None:
            fresh = self._blank().fit(data, continue_ids=self)
            check_left(keys, learnt.n_rows, fresh._learnt.n_rows, getattr(fresh, "row_ids_", None))
            fresh._learnt.identities = fresh._learnt.identities.without_rows
        elif learnt.sample.n_rows < learnt.n_rows:
            raise DataError(
                f"{learnt.n_rows:,} rows were read and the sample holds {learnt.sample.n_rows:,}: the others "
                "moved the centres, too. Give the data without the rows to forget, as data=."
            )
        else:
            fresh = self._continued()
            fresh._learnt = without(learnt, given, self._workspace())
        receipt = Receipt.of(keys, fresh._learnt.n_rows)
        fresh._learnt.receipts = (*learnt.receipts, receipt)
        self._become(fresh)
        return self

    @property
    def receipts_(self) -> tuple[Receipt, ...]:
        """What `forget` took out: `n_rows`, `n_left` and a SHA-256 of the rows' keys."""
        return self._learnt.receipts

    def cut(self, n_clusters: int | str) -> Self:
        """The same model with another number of clusters; no data is needed.

        Anchors are cut again. Without anchors, the clusters themselves are merged, those first that raise the
        objective least. "auto": as many as `cluster_curve_` says. For labels use `predict`.

        Returns
        -------
        ViewPass
            A new estimator; this one stays as it is.
        """
        check_is_fitted(self)
        model = self._fitted_model()
        if n_clusters == "auto":
            if model.curve is None:
                raise SettingError("no cluster curve: it is computed with n_clusters='auto' or anchors.")
            number = model.curve.n_clusters
        else:
            check_whole(n_clusters, "n_clusters")
            if not isinstance(n_clusters, Integral) or not 1 <= n_clusters <= model.centres.n_clusters:
                raise SettingError(
                    f"n_clusters={n_clusters!r}: a number from 1 to {model.centres.n_clusters} was expected: "
                    "a model cannot be cut into more clusters than it has centres."
                )
            number = int(n_clusters)
        other = self._continued()
        other.n_clusters = n_clusters
        other._learnt = self._learnt.cut(model, number, self._workspace())
        return other

    # ---- how it is done

    def _prepare(
        self, X: Any, observed: Any, sample_weight: Any = None, *, whole: bool = True
    ) -> tuple[Self, Source, Integers | None]:
        """Validate settings and data; gives a copy that has learnt nothing yet."""
        self._validate()
        fresh = self._blank()
        source = fresh._read(X, observed, reset=True)
        copies, unit = row_copies(sample_weight, source, None)
        plan = solving_plan(fresh, fresh.view_names_in_).weighted(unit)
        least = plan.n_clusters or 1
        if whole and source.n_rows is not None and source.n_rows < least:
            from viewpass.solve.solve import too_few

            raise DataError(too_few(source.n_rows, least))
        seed = int(as_generator(self.random_state).integers(MOST_SEED))
        rows = None if self.sample_size == "auto" else int(self.sample_size)
        size = Size(rows, plan.n_clusters, left_out(plan.weights), self.half_life)
        fresh._learnt = Learning(plan, seed, Sample(size), stream_horizon(fresh))
        return fresh, source, copies

    def _check_sample(self, what: str) -> None:
        """Refuse what needs the sample, where it was left out of the file."""
        if self._learnt.sample.n_rows == 0 < self._learnt.n_rows:
            raise SettingError(f"{what}: the model was saved without its sample, by save(rows=False).")

    def _fitted_model(self) -> Model:
        model: Model = self._checked_learnt().model(self._workspace())
        return model

    def _fitted_schema(self) -> Schema:
        if self._learnt.schema is None:
            raise DataError("no row has been read yet.")
        return self._learnt.schema

    def save(self, path: str | os.PathLike[str], *, rows: bool = True) -> None:
        """Write the model to a file that `vp.load` reads: whole or not at all, and never executable.

        It holds the settings, what was learnt and the sample, so that `predict` gives the same labels and
        `partial_fit` continues with the same bits. It holds no labels of rows, nor `n_threads`.

        Parameters
        ----------
        path : str or path
        rows : bool, default=True
            Whether the file holds the sample. Without it the model predicts and explains, but it cannot
            learn more rows, be merged, or give what is learnt from the sample: `confidence`,
            `predict_proba`, `outlier_score` and `impute`.
        """
        save(self, path, rows=rows)

    def _packed(self, arrays: dict[str, Array], *, rows: bool = True) -> dict[str, Any]:
        return {"learning": pack_learning(self._learnt, arrays, rows=rows)}

    def _take_packed(self, stored: Fields) -> None:
        self._learnt = unpack_learning(stored.part("learning"))

    def __getattr__(self, name: str) -> Any:
        if name == "stream_ids_" and "_learnt" in self.__dict__ and self._learnt.solved is None:
            return np.append(self.cluster_ids_, NO_CLUSTER)[self.stream_labels_]
        if name in ("labels_", "stream_labels_") and "_learnt" in self.__dict__:
            learning, n_last = self._learnt, self.__dict__.get("_n_last")
            sample = learning.sample
            if learning.solved is None and n_last is not None and sample.chunk is not None:
                labels = np.full(learning.n_rows, -1, dtype=np.int32)
                labels[sample.numbers] = label(sample.chunk, self._fitted_model(), self._workspace())
                return labels[-n_last:]
            if name == "labels_" and "stream_labels_" in self.__dict__:
                raise NoLabelsError(
                    "labels_ were not computed: every row was read once (compute_labels=False, or data that "
                    "cannot be read again). `stream_labels_` are the labels as rows were read; `predict` "
                    "gives those under the final model."
                )
        return super().__getattr__(name)

    # ---- what was found, shown and explained

    predict_proba = reason_methods.predict_proba
    confidence = reason_methods.confidence
    outlier_score = reason_methods.outlier_score
    is_outlier = reason_methods.is_outlier
    score_samples = reason_methods.score_samples
    explain = reason_methods.explain
    stability = reason_methods.stability
    impute = reason_methods.impute
    labels_frame = reason_methods.labels_frame
    summary = report_methods.summary
    report = report_methods.report
    plot = report_methods.plot
    __repr__ = report_methods.as_text
    _repr_html_ = report_methods.as_html
    _repr_mimebundle_ = report_methods.as_bundle

    # ---- what was learnt

    @property
    def cluster_names_(self) -> dict[int, str]:
        """Names of clusters by their number; label files, frames, summaries and reports show them.

        Empty until some are given. `viewpass fit --name-by` finds them, `viewpass names` changes them. Files
        of models keep them, and so do more rows (`partial_fit`); a new `fit` begins without.

        Examples
        --------
        >>> import numpy as np
        >>> import viewpass as vp
        >>> model = vp.ViewPass(n_clusters=2, random_state=0).fit([np.repeat(np.eye(2), 10, axis=0)])
        >>> model.cluster_names_ = {0: "even", 1: "odd"}
        >>> model.labels_frame([np.eye(2)])["cluster_name"].nunique()
        2
        """
        check_is_fitted(self)
        names: dict[int, str] = self.__dict__.setdefault("_cluster_names", {})
        return names

    @cluster_names_.setter
    def cluster_names_(self, names: Mapping[int, str]) -> None:
        check_is_fitted(self)
        self.__dict__["_cluster_names"] = dict(names)

    @property
    def n_samples_seen_(self) -> int:
        """Rows read, those without any view included."""
        return self._learnt.n_rows

    @property
    def cluster_ids_(self) -> Integers:
        """The id of each cluster; it lasts, and no id is given twice."""
        return np.array(self._checked_learnt().shown(self._workspace()).identities.ids)

    @property
    def events_(self) -> tuple[Event, ...]:
        """What happened to clusters along the stream, at most the last 10,000."""
        return self._learnt.identities.events

    @property
    def timeline_(self) -> tuple[Sizes, ...]:
        """Rows of each cluster at each solve of a stream that changes: `row`, and `rows` by id."""
        return self._learnt.identities.timeline

    @property
    def consensus_(self) -> str:
        """What clusters are: "plain" or "neighbours" (with centres), "graph" or (after `cut`) "merge"."""
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
