"""OPIMC: one-pass incomplete multi-view clustering (Hu and Chen, AAAI 2019)."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

from sklearn.utils._param_validation import Interval, StrOptions

from viewpass.cluster.anchored import LABELS, AnchoredClusterer
from viewpass.cluster.base import logging_progress
from viewpass.cluster.notices import warn_of_fit, warn_of_shortened, warn_of_zero_rows
from viewpass.cluster.validation import check_whole, plan_of, row_copies
from viewpass.core.plan import Plan
from viewpass.core.reasons.gathering import Gathered, needed, recalibrate
from viewpass.core.stream import Stream
from viewpass.engine.run import Callback, LocalSteps, check_passes, run_to_end, too_few
from viewpass.engine.schedule import cuts_for
from viewpass.engine.sinks import LabelArray, LabelList
from viewpass.errors import DataError, SettingError
from viewpass.kernels.grid import Array, Integers, Labels
from viewpass.sources.source import Cuts, Every, Source
from viewpass.store.container.fields import Fields
from viewpass.store.state.stream import pack_stream, unpack_stream
from viewpass.views.chunk import Schema
from viewpass.views.gaps import CHOICES
from viewpass.views.projection import LEAST_COLUMNS, MOST_COLUMNS
from viewpass.views.seeds import as_generator

# What the paper does not have, and the values that switch it off.
ADDITIONS: dict[str, Any] = {
    "init": "random",
    "warmup": 0,
    "scale": "unit",
    "n_anchors": None,
    "adaptive_anchors": False,
    "consensus": "auto",
    "projection": None,
    "view_weights": None,
    "reservoir": 0,
    "n_init": 1,
    "missing_entries": "refuse",
}


class OPIMC(AnchoredClusterer):
    """One-pass incomplete multi-view clustering.

    Rows are read once, in chunks. Each is scaled to unit length in every view it has (or keeps its
    length there, with the scale "euclidean") and assigned to the cluster that is nearest over those views;
    only two sums per view are kept. Missing views are rows of NaN, `None` for a whole view, or False in
    `observed`. So are rows of zeros, which have no direction
    (`n_all_zero_` counts them, and many are warned of); but where a dense view is centred (`scale`) and
    `observed`, a table's nulls or ids say what is missing, a row of zeros is data, as it always is where
    lengths are kept.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        "auto": read off `cluster_curve_`, with a `DataWarning` where the first rows do not determine it.
    alpha : float or "auto", default="auto"
        Ridge on the centres. It pulls them towards the origin with the weight of `alpha` rows. "auto": one
        for each view (`alpha_`), estimated from how alike the rows of a cluster are in the warm-up; 0.1
        with `init="random"` or arrays, so that models from the same centres can be merged.
    chunk_size : int or "auto", default="auto"
        Rows processed per step, on every engine; affects the result. "auto": 2000 rows, or 10 per cluster,
        in the first steps; later as many as are at most a quarter of the rows before, up to 64 MiB of
        float32 and 2^18 rows (`viewpass.engine.schedule` has the rule). It depends on the number of
        clusters and the rows' width alone.
    n_passes : int, default=1
        How often the data is read. From the second pass on, a chunk starts from its last labels.
    max_iter : int, default=20
        Most centre updates per chunk.
    tol : float, default=1e-6
        A chunk has converged when its loss changes by less than this share; 0: when no label changes.
    init : {"auto", "k-means++", "random"}, array or list of arrays, default="auto"
        How the first centres are made. "auto": many small clusters of the warm-up are merged by what that
        costs the objective. "k-means++": seeds far apart, by distances over shared views; the best of
        several sets. "random": the published start, one soft random V on the first chunk. An array of
        (rows of the first chunk, n_clusters) is that V, a 1-D array the labels of those rows; a list (or
        dict) of (n_clusters, columns) arrays are centres, in the scale of the data: they are scaled and
        brought to unit length like rows (one of zeros stays at the origin). For a single 2-D array,
        centres may be one array.
    n_init : int, default=1
        Starts made from the warm-up (or the first chunk); the one with the lowest loss there is kept.
    warmup : int or "auto", default="auto"
        Rows collected (in whole chunks) before the first centres are made; together they are the first
        chunk. "auto": 4000, or 50 per cluster if that is more (at most 250,000 rows, or 20 per cluster
        if that is more). 0: the first chunk alone, as always with `init="random"` and arrays. Fewer than
        2000 rows are too few to choose between centres and a graph: of 100 and more, anchors are made then,
        unless a view is nearly all zero.
    fill : {"mean", "zero-filled-mean"} or None, default="mean"
        What the centre of an empty cluster is in a view: in the first chunk the mean of the observed rows
        (or, as in the released code, of all rows, with missing ones as zeros), later its last centre.
        None: zero, the paper's OPIMC-NF.
    n_anchors : int, "auto" or None, default="auto"
        Small clusters kept through the pass, which form the clusters asked for afterwards. "auto": 20 per
        cluster, but at most one per five rows of the warm-up and 1000 in all; with `adaptive_anchors` their
        number then follows the rows read, one per 25 and 1600 at most. None: no anchors, every centre is a
        cluster. Of 512 anchors and more a row meets those of its nearest groups alone.
    adaptive_anchors : bool or "auto", default="auto"
        Whether rows that are far from every anchor open new ones while the data is read, and the anchors
        that cost the objective least are merged where there would be more than `n_anchors`. The order of
        rows then matters little, and a small `warmup` is enough. True also where there are no anchors: a few
        spare clusters are born and merged the same way, and merged into `n_clusters` at the end (`consensus_`
        is then "merge"). "auto": with anchors, unless there is a `reservoir`.
    consensus : {"auto", "graph", "merge"}, default="auto"
        How anchors form clusters. "graph": rows near the same anchors link them, and the graph is cut by
        its leading eigenvectors; finds clusters of any shape. "merge": pairs are merged by what that costs
        the objective. "auto": "graph" if, in the warm-up, its labels tell more about hidden views than
        those of centres (`choices_`); otherwise no anchors, as always with `init="random"` and arrays.
    scale : {"auto", "unit", "standard", "idf", "euclidean", "counts", "composition", "binary"}, list or dict
        What is done to a view before its rows are scaled to unit length; a list or a dict (by view name)
        says it per view. "unit": nothing, as in the paper. "standard": every column minus its mean,
        divided by its standard deviation; sparse views keep their zeros and are only divided. "idf": every
        column times log((1 + n) / (1 + rows that have it)) + 1, zeros kept. "euclidean", for dense views:
        every column minus its mean, the view divided by the root mean square of its rows' lengths, which
        are kept: rows are not brought to unit length, and distances are Euclidean. Rows longer than at
        least four times the longest of the warm-up are shortened to that (`n_shortened_`). "counts":
        log(1 + x s / t) with the total t of the row and the median total s, then "standard". "composition",
        for dense views: log x minus its mean over the row (centred log-ratio; zeros as half of the smallest
        share), columns centred. "binary", for dense views of 0 and 1: columns centred and weighted by their
        rarity; a row without marks is data. "auto", the default: "unit"; or what suits the values, "idf" for
        counts and marks (whole numbers, mostly 1, in a view that is sparse or mostly zero) and "standard" for
        other dense views; or "euclidean"; whichever makes labels tell most about hidden views in the warm-up
        (`choices_`). "unit" with centres as `init`. It is learnt from the warm-up and stays; a view first
        seen later stays at "unit". A row equal to the mean in every column has no direction left and counts
        as missing in that view, but not with "euclidean".
    projection : int, "auto" or None, default="auto"
        Columns that each dense view is mapped to after it is scaled (2 to 100): a linear map that keeps what
        separates the clusters of the warm-up, learnt there and then fixed. Rows are brought to unit length
        after it (with any `scale`), and anchors and distances are those of the mapped rows;
        `cluster_centers_`, `explain` and `impute` speak of the views' own columns all the same. Sparse views
        that are mostly zeros, and views with no more columns than this, stay as they are. "auto": two columns
        per cluster, if there is an anchor graph and the first rows are not few (`choices_`); otherwise none.
        None: none.
    view_weights : None, "auto", or list or dict of float, default=None
        Factors of the views' squared distances, one per view; 0 leaves a view out. Only their ratios
        matter. "auto": the better the centres of a first start explain a view, the larger, if labels then
        tell more about hidden views; learnt from the warm-up.
    reservoir : int, default=0
        Rows kept as a uniform sample of all rows read, and reassigned after every chunk; their sums move
        with them, `stream_labels_` do not. Needs the memory of that many rows. Not used after the first
        pass.
    views : int, list of int, or names of columns, optional
        How a single 2-D array is cut into views: widths (one may be -1 for the rest), or a number of
        near-equal blocks. For a frame, a table or files: the columns of each view, as `vp.scan` takes them
        (`{"image": "img_*", "text": ["t0", "t1"]}`); other columns are left out.
    missing_entries : {"refuse", "fill", "local", "entrywise"}, default="refuse"
        What becomes of a row that has only some of the values of a dense view. "refuse": an error. "fill":
        the others take the means of their columns in the warm-up, which are 0 in the scale "standard".
        "local": they take the means of similar rows, which are the nearest three of up to 200 small clusters
        of the warm-up by the values that the row has in all of its dense views. "entrywise": nothing is
        filled; rows are compared with centres over the values they have, scaled to the whole view, and every
        column of a centre is the mean of the rows that have it. In all three, a row with less than a tenth of
        the values counts as lacking the view (`n_gaps_`).
    compute_labels : bool, default=True
        Also compute `labels_`, the labels under the final centres: files are read a second time.
    random_state : None, int, RandomState or Generator
    n_threads : int, optional
        By default the processors this process may use (within joblib, its share of them), less one that
        reads where the data is in files or a stream. Results do not depend on it.
    verbose : int, default=0
        1: report the progress through `logging`.

    Attributes
    ----------
    labels_ : (n,) array of int32
        The labels under the final centres, equal to `predict` of the same data; -1 for a row without any
        view. Not computed for a stream that can be read only once. With a graph, a row belongs to the
        cluster of most of its nearest anchors.
    stream_labels_ : (n,) array of int32
        The labels as the stream decided them: the paper's result. With anchors, the clusters of the
        anchors that rows were assigned to.
    cluster_centers_ : list of (n_clusters, columns) arrays, one per view
        Means of rows that were scaled (`scales_`), then (but not with "euclidean") brought to unit length.
        An array for a model
        fitted on a single 2-D array.
    counts_ : list of (n_clusters,) arrays, one per view
        Rows of each cluster that have the view, or the sum of their sample weights.
    inertia_ : float
        Squared distances of rows to the centres of their clusters over the observed views.
    objective_ : float
        The paper's objective: `inertia_` plus the ridge.
    loss_curve_ : array, one value per chunk
    n_iter_ : int
    n_samples_seen_ : int
    n_all_zero_ : dict of str to int
        Rows that count as missing in each view because all their values there are zero, or because they do
        not fit the kind ("counts", "composition", "binary") that `scale="auto"` chose by the first rows.
    n_shortened_ : dict of str to int
        Rows that were longer in each view than the scale "euclidean" has room for.
    n_gaps_ : dict of str to GapCounts
        Where gaps are filled (`missing_entries`), of the rows of the last fit: `rows` that lack some values
        of each view, `values` filled in them, and rows with `too_few`, which count as lacking the view.
    n_rows_without_views_ : int
    consensus_ : str
        How clusters were formed: "plain" (every centre is a cluster), "graph" or "merge".
    anchors_ : (n_anchors,) array of int32 or None
        The cluster of each anchor.
    anchor_labels_ : (n,) array of int32
        The anchor of each row, as the stream decided it; where there are anchors.
    anchor_centers_ : list of (n_anchors, columns) arrays, or None
    choices_ : list of Choice
        What was chosen from the warm-up: `what`, `chosen`, `scores` of the candidates, `error`, `reason`.
    cluster_curve_ : Curve or None
        How much labels tell about hidden views (`values`, in nats) for several `numbers` of clusters, and
        the `errors` of the differences from the highest; where the number was estimated or there are anchors.
    alpha_ : dict of float
        The ridge of each view.
    scales_ : dict of str
        How each view is scaled, by the names of `scale`.
    projections_ : dict of (mapped columns, columns) arrays
        The map of each view that is mapped (`projection`).
    view_weights_ : dict of float
        Factor of each view's squared distances; the largest is 1.
    statistics_ : Statistics
    view_names_in_ : tuple of str
    n_features_in_ : int
    row_ids_ : array, where the data has ids
    update_digests_ : tuple of str
        SHA-256 of the files that `viewpass update` has read, if any.

    Notes
    -----
    `OPIMC.published(n_clusters)` is the procedure of the paper.

    Examples
    --------
    >>> import numpy as np
    >>> import viewpass as vp
    >>> rng = np.random.default_rng(0)
    >>> centre = np.repeat(np.eye(3), 40, axis=0)
    >>> image = centre + 0.1 * rng.standard_normal((120, 3))
    >>> text = centre @ rng.standard_normal((3, 5)) + 0.1 * rng.standard_normal((120, 5))
    >>> image[::4] = np.nan                               # every fourth row lacks its image
    >>> model = vp.OPIMC(n_clusters=3, random_state=0).fit([image, text])
    >>> sorted(np.bincount(model.labels_).tolist())
    [40, 40, 40]
    """

    update_digests_: tuple[str, ...]

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's own form)
        "n_clusters": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "chunk_size": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "n_passes": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "init": "no_validation",  # type: ignore[dict-item]
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "warmup": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "fill": [StrOptions({"mean", "zero-filled-mean"}), None],
        "n_anchors": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), None],
        "adaptive_anchors": ["boolean", StrOptions({"auto"})],
        "consensus": [StrOptions({"auto", "merge", "graph"})],
        "scale": "no_validation",  # type: ignore[dict-item]
        "projection": [
            Interval(Integral, LEAST_COLUMNS, MOST_COLUMNS, closed="both"),
            StrOptions({"auto"}),
            None,
        ],
        "view_weights": "no_validation",  # type: ignore[dict-item]
        "reservoir": [Interval(Integral, 0, None, closed="left")],
        "views": "no_validation",  # type: ignore[dict-item]
        "missing_entries": [StrOptions(set(CHOICES))],
        "compute_labels": ["boolean"],
        "random_state": "no_validation",  # type: ignore[dict-item]
        "n_threads": [Interval(Integral, 1, None, closed="left"), None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        alpha: float | str = "auto",
        chunk_size: int | str = "auto",
        n_passes: int = 1,
        max_iter: int = 20,
        tol: float = 1e-6,
        init: Any = "auto",
        n_init: int = 1,
        warmup: int | str = "auto",
        fill: str | None = "mean",
        n_anchors: int | str | None = "auto",
        adaptive_anchors: bool | str = "auto",
        consensus: str = "auto",
        scale: Any = "auto",
        projection: int | str | None = "auto",
        view_weights: Any = None,
        reservoir: int = 0,
        views: Any = None,
        missing_entries: str = "refuse",
        compute_labels: bool = True,
        random_state: Any = None,
        n_threads: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.alpha = alpha
        self.chunk_size = chunk_size
        self.n_passes = n_passes
        self.max_iter = max_iter
        self.tol = tol
        self.init = init
        self.n_init = n_init
        self.warmup = warmup
        self.fill = fill
        self.n_anchors = n_anchors
        self.adaptive_anchors = adaptive_anchors
        self.consensus = consensus
        self.scale = scale
        self.projection = projection
        self.view_weights = view_weights
        self.reservoir = reservoir
        self.views = views
        self.missing_entries = missing_entries
        self.compute_labels = compute_labels
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose

    @classmethod
    def published(
        cls, n_clusters: int = 8, *, alpha: float = 0.1, chunk_size: int = 2000, **settings: Any
    ) -> Self:
        """The procedure of the paper, with every later addition switched off.

        One soft random start on the first chunk, rows of unit length, every centre a cluster; whatever the
        defaults of `OPIMC` are or will be. The paper uses chunks of 50 rows on small data, 2000 on large.

        Parameters
        ----------
        n_clusters, alpha, chunk_size
            As for `OPIMC`.
        **settings
            Other parameters of `OPIMC`; those of later additions are refused.

        Examples
        --------
        >>> import viewpass as vp
        >>> vp.OPIMC.published(10, chunk_size=50, random_state=0).init
        'random'
        """
        additions = [name for name in ADDITIONS if name in settings]
        if additions:
            raise SettingError(
                f"{additions[0]}= is not part of the published procedure: use OPIMC(...) itself to set it."
            )
        paper: dict[str, Any] = (
            {"max_iter": 20, "tol": 1e-6, "fill": "mean", "n_passes": 1} | ADDITIONS | settings
        )
        return cls(n_clusters, alpha=alpha, chunk_size=chunk_size, **paper)

    def fit(
        self,
        X: Any,
        y: Any = None,
        observed: Any = None,
        *,
        sample_weight: Any = None,
        callback: Callback | None = None,
    ) -> Self:
        """Cluster the rows, forgetting what was learnt before.

        Parameters
        ----------
        X : list, tuple or dict of 2-D arrays or CSR matrices; a source; a table; or one 2-D array
            One matrix per view, row i of each the same item; `vp.frames(...)`; a path, table, frame or
            stream, whose columns of lists are views (`vp.scan(...)` to choose them, and the id); or an array
            or frame of numbers, which is one view or is cut by `views=`.
        y : ignored
        observed : (n, n_views) array of bool, optional
            Which views a row has, for arrays and frames of numbers. A dict or frame names its columns after
            the views; the index of a pandas frame is matched with that of the views.
        sample_weight : (n,) array of numbers, optional
            How many equal rows each row counts as (with `vp.frames`: in the order of `row_ids_`); a row of
            weight 0 is labelled but has no effect. Whole numbers give exactly the sums of the data with its
            rows repeated; if any is not whole, all are rounded to multiples of 1/1024. For data in memory;
            not with `reservoir`. Seeds, soft starts, learnt scales and anchor links respect the weights.
            Weights do not affect which rows of a large warm-up a start samples, nor the number of anchors.
        callback : callable, optional
            Called after every step with the progress (`pass_number`, `n_passes`, `n_rows_read`, `n_rows`,
            `loss`). If it returns True, reading ends there: the model and its labels are those of the
            rows read so far.

        Returns
        -------
        self
        """
        fresh, source, copies = self._prepare(X, observed, sample_weight)
        check_passes(source, self.n_passes)
        stream, sink = fresh._learnt, LabelArray(source.n_rows, keep_ids=source.row_ids is None)
        with logging_progress(self.verbose):
            steps = LocalSteps(stream, source, sink, self._cuts(), copies=copies)
            run_to_end(steps, sink, self.n_passes, n_rows=source.n_rows, callback=callback)
            fresh._take_centres_of_rows(stream.model.centres_of(sink.labels(stream.n_rows)))
            if self.compute_labels and source.rereadable:
                sample = list[Gathered]() if needed(stream.model) else None
                fresh.labels_ = fresh._labels_of(source, stream.n_rows, sample)
                recalibrate(stream.model, sample or (), fresh._workspace())
        fresh._count_features(stream.schema)
        ids = sink.row_ids if source.row_ids is None else source.row_ids
        if ids is not None:
            fresh.row_ids_ = ids[: stream.n_rows]
        warn_of_fit(stream.model, fresh._n_found())
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
        """Learn from one more chunk: all rows of X, in one step.

        Calling it with the chunks of a data set one by one is `fit` with `n_passes=1`, to the bit. While
        rows are collected for the warm-up, attributes and `predict` come from a provisional start.
        `stream_labels_` are the labels of this chunk.

        A table of `vp.scan` is read in chunks of `chunk_size`, one after the other ("auto": from the first
        rows of the table on, as in `fit`); if one of them is refused, nothing has been learnt. `callback`
        and `sample_weight` are as in `fit`. Weights that are not whole numbers must begin with the first
        rows; rows without weights count as 1.
        """
        begun = hasattr(self, "_learnt")
        before = self._learnt.learning if begun and self._learnt.started else None
        if begun:
            self._validate()
            fresh, source = self, self._read(X, observed, reset=False)
            copies, _ = _copies(sample_weight, source, self._learnt.plan, self._learnt.plan.weight_unit)
            one_step = source.in_memory and callback is None  # which changes nothing if it fails
            stream = self._learnt if one_step else self._learnt.twin()
            stream.workspace = self._workspace(source)
        else:
            fresh, source, copies = self._prepare(X, observed, sample_weight, whole=False)
            stream = fresh._learnt
        n_rows = source.n_rows if source.in_memory else None
        sink, cuts = LabelList(), Every(n_rows) if n_rows else self._cuts()
        steps = LocalSteps(stream, source, sink, cuts, keep=True, copies=copies)
        run_to_end(steps, sink, 1, n_rows=source.n_rows, callback=callback, whole=False)
        if not steps.n_read:
            raise DataError("the data has no rows (0 samples): at least one is needed.")
        for name in LABELS:  # during the warm-up they are computed when asked for
            fresh.__dict__.pop(name, None)
        fresh._learnt, fresh._n_last = stream, steps.n_read
        if stream.started:
            fresh._take_recorded(sink.labels(steps.n_read))
            warn_of_zero_rows(stream.learning, before)
            warn_of_shortened(stream.learning, before)
        fresh._count_features(stream.schema)
        if sink.row_ids is not None:
            fresh.row_ids_ = sink.row_ids
        self._become(fresh)
        return self

    def _cuts(self) -> Cuts:
        """Where chunks end."""
        return cuts_for(self.chunk_size, None if self.n_clusters == "auto" else int(self.n_clusters))

    def _validate(self) -> None:
        self._validate_params()
        check_whole(self.n_clusters, "n_clusters")
        check_whole(self.n_init, "n_init")

    def _prepare(
        self, X: Any, observed: Any, sample_weight: Any = None, *, whole: bool = True
    ) -> tuple[Self, Source, Integers | None]:
        """Validate settings and data, and give a copy with a new stream: where every fit begins."""
        self._validate()
        fresh = self._blank()
        source = fresh._read(X, observed, reset=True)
        n_first = source.n_rows
        if n_first is not None and whole:
            n_first = min(self._cuts().first, n_first)
        plan = plan_of(fresh, fresh.view_names_in_, fresh._single_shape(n_first))
        copies, unit = _copies(sample_weight, source, plan)
        plan = plan.weighted(unit)
        fresh._learnt = Stream(plan, as_generator(self.random_state), fresh._workspace(source))
        least = plan.n_clusters or 1
        if whole and source.n_rows is not None and source.n_rows < least:
            raise DataError(too_few(source.n_rows, least))
        return fresh, source, copies

    def fit_predict(
        self, X: Any, y: Any = None, observed: Any = None, *, sample_weight: Any = None
    ) -> Labels:
        """Fit, then give `labels_`, or `stream_labels_` where those are not made."""
        self.fit(X, observed=observed, sample_weight=sample_weight)
        return self.labels_ if "labels_" in self.__dict__ else self.stream_labels_

    def _fitted_schema(self) -> Schema:
        return self._learnt.schema

    def _packed(self, arrays: dict[str, Array]) -> dict[str, Any]:
        stream = self._learnt
        own = stream.rng is self.random_state  # the user's generator: both draw from it
        return {"stream": pack_stream(stream, arrays), "own_generator": own}

    def _take_packed(self, stored: Fields) -> None:
        self._learnt = unpack_stream(stored.part("stream"), self._workspace())
        if stored.truth("own_generator"):
            self.random_state = self._learnt.rng

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_learnt")


def _copies(
    sample_weight: Any, source: Source, plan: Plan, unit: int | None = None
) -> tuple[Integers | None, int]:
    if sample_weight is not None and plan.reservoir:
        raise SettingError("sample_weight and reservoir cannot be used together: leave one of them out.")
    return row_copies(sample_weight, source, unit)
