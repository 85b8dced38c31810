"""OPIMC: one-pass incomplete multi-view clustering (Hu and Chen, AAAI 2019)."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from viewpass.cluster.base import ViewClusterer, check_whole, narrated, whole
from viewpass.cluster.scales import checked_scale
from viewpass.cluster.starts import checked_consensus, checked_init
from viewpass.cluster.weights import checked_weights
from viewpass.core.consensus.counting import Curve
from viewpass.core.model import Model, Plan, label
from viewpass.core.step import Rules
from viewpass.core.stream import Stream
from viewpass.engine.local import run, too_few
from viewpass.errors import DataError, SettingError
from viewpass.kernels.grid import Array, Floats, Labels
from viewpass.sources.source import Source
from viewpass.store.fields import Fields
from viewpass.store.streams import pack_stream, unpack_stream
from viewpass.views.chunk import Chunk, Schema
from viewpass.views.seeds import as_generator

LABELS = ("labels_", "stream_labels_", "anchor_labels_")
WARMUP_ROWS = 4000
WARMUP_ROWS_A_CLUSTER = 50


class OPIMC(ViewClusterer):
    """One-pass incomplete multi-view clustering.

    Rows are read once, in chunks. Each is scaled to unit length in every view it has and goes to
    the cluster nearest over those views; two sums a view are all that is kept. Missing views are
    rows of NaN, all-zero rows, `None` for a whole view, or False in `observed`.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        "auto": as many as the anchors suggest, by the largest gap between the eigenvalues of their
        graph or the dearest merge (`cluster_curve_`).
    alpha : float, default=0.1
        Ridge on the centres. It pulls them towards the origin with the weight of `alpha` rows.
    chunk_size : int, default=2000
        Rows read and settled together.
    n_passes : int, default=1
        Times the data is read. From the second on, a chunk starts from its last labels.
    max_iter : int, default=20
        Most centre updates a chunk.
    tol : float, default=1e-6
        A chunk is settled when its loss changes by less than this share; 0: when no label moves.
    init : {"auto", "k-means++", "random"}, array or list of arrays, default="auto"
        How the first centres are made. "auto": many small clusters of the warm-up are merged by
        what that costs the objective. "k-means++": seeds far apart, by distances over shared
        views; several sets compete. "random": the published start, one soft random V on the first chunk.
        An array of (rows of the first chunk, n_clusters) is that V, a 1-D array the labels of
        those rows; a list (or dict) of (n_clusters, columns) arrays are centres, in the scale of
        the rows (`scale`).
    warmup : int or "auto", default="auto"
        Rows gathered (in whole chunks) before the start is made; they are the stream's first
        chunk. "auto": 4000, or 50 a cluster if that is more. 0: the first chunk alone.
        `init="random"` and arrays imply 0.
    fill : {"mean", "zero-filled-mean"} or None, default="mean"
        What an empty cluster's centre is in a view: in the first chunk the mean of the chunk's
        observed rows (or, as the released code has it, of all its rows, absent ones as zeros),
        later its last centre. None: zero, the paper's OPIMC-NF.
    scale : {"auto", "unit", "standard", "idf"}, list or dict, default="auto"
        What is done to a view before its rows are brought to unit length; a list or a dict (by
        the views' names) says it for each view. "unit": nothing, the paper. "standard": every
        column less its mean, divided by its spread; sparse views keep their zeros, so they are
        divided only. "idf": every column times log((1 + n) / (1 + rows that have it)) + 1, zeros
        kept. "auto": the views vote. By its values counts and marks (whole numbers, mostly 1, of a
        view that is sparse or mostly zero) would suit "idf", other dense views "standard"; that
        is done where the views, each clustered by itself, then agree with each other better than
        at unit length, and not otherwise (with centres as `init`: "unit"). It is learnt from the
        warm-up (or the first chunk) and then stays; a view first seen later stays at "unit". A
        missing view stays missing. A row equal to the mean in every column has no direction left
        and counts as missing in that view.
    n_anchors : int, "auto" or None, default="auto"
        Small clusters carried through the pass, which form the clusters asked for afterwards.
        "auto": 20 a cluster, but no more than one for five rows of the warm-up and 1000 in all.
        None: no anchors.
    consensus : {"auto", "graph", "merge"} or None, default="auto"
        How anchors form clusters. "graph": rows near the same anchors link them, and the graph is
        cut by its leading eigenvectors; finds clusters of any shape. "merge": pairs are merged
        by what that costs the objective. None: no anchors, every centre is a cluster.
        "auto": "graph" if the first rows show that its clusters do not depend on which anchors
        were drawn, or else no anchors; `init="random"` and arrays imply no anchors.
    view_weights : None, "auto", or list or dict of float, default=None
        What a view's squared distances count for, as against the others: a number for each view,
        0 to leave it out. Only their ratios matter. "auto": the more, the less of an observed row
        is left unexplained by the centres of a first start; learnt on the warm-up, then frozen.
    reservoir : int, default=0
        Rows kept as a uniform sample of all that were read, and labelled again after every chunk as
        the centres settle. Their sums move with them; `stream_labels_` stay as they were decided.
        Needs the memory of so many rows. In the second pass and later it rests.
    views : int or list of int, optional
        How a single 2-D array is cut into views: widths (one may be -1 for the rest), or a number
        of near-equal blocks.
    compute_labels : bool, default=True
        Also look back over the data for `labels_`, the labels under the final centres: files
        are read a second time.
    random_state : None, int, RandomState or Generator
    n_threads : int, optional
        By default every processor this process may use, less one that reads where the data is
        in files or a stream. Results do not depend on it.
    verbose : int, default=0
        1: tell the progress through `logging`.

    Attributes
    ----------
    stream_labels_ : (n,) array of int32
        The labels as the stream decided them: the paper's result. With anchors, the clusters of
        the anchors it gave the rows to. -1: a row without any view.
    labels_ : (n,) array of int32
        The labels under the final centres, equal to `predict` of the same data. Not made of a
        stream that can be read once only. With a graph, a row goes where most of its nearest
        anchors lead.
    consensus_ : str
        What was done: "plain" (every centre is a cluster), "graph" or "merge".
    anchors_ : (n_anchors,) array of int32 or None
        The cluster of each anchor.
    anchor_labels_ : (n,) array of int32
        The anchor of each row, as the stream decided it; where there are anchors.
    anchor_centers_ : list of (n_anchors, columns) arrays, or None
    cluster_curve_ : Curve or None
        What `n_clusters="auto"` was read off: `numbers` and `values`.
    cluster_centers_ : list of (n_clusters, columns) arrays
        In the scaled space: means of rows that were scaled (`scales_`), then of unit length.
    scales_ : dict of str
        How each view is scaled: "unit", "standard" or "idf".
    view_weights_ : dict of float
        What each view's squared distances count for; the largest is 1.
    counts_ : list of (n_clusters,) arrays
    statistics_ : Statistics
    loss_curve_ : array, a value a chunk
    objective_ : float
    n_iter_ : int
    n_rows_unseen_ : int
    view_names_in_ : tuple of str
    n_features_in_ : int
    row_ids_ : array, where the data has ids

    Notes
    -----
    The published procedure is `init="random", scale="unit", n_anchors=None` (`warmup=0` is implied),
    with `chunk_size=50` on small data and 2000 on large.

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

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's own form)
        "n_clusters": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "chunk_size": [Interval(Integral, 1, None, closed="left")],
        "n_passes": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "init": "no_validation",  # type: ignore[dict-item]
        "warmup": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "fill": [StrOptions({"mean", "zero-filled-mean"}), None],
        "n_anchors": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), None],
        "consensus": [StrOptions({"auto", "merge", "graph"}), None],
        "scale": "no_validation",  # type: ignore[dict-item]
        "view_weights": "no_validation",  # type: ignore[dict-item]
        "reservoir": [Interval(Integral, 0, None, closed="left")],
        "views": "no_validation",  # type: ignore[dict-item]
        "compute_labels": ["boolean"],
        "random_state": "no_validation",  # type: ignore[dict-item]
        "n_threads": [Interval(Integral, 1, None, closed="left"), None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        alpha: float = 0.1,
        chunk_size: int = 2000,
        n_passes: int = 1,
        max_iter: int = 20,
        tol: float = 1e-6,
        init: Any = "auto",
        warmup: int | str = "auto",
        fill: str | None = "mean",
        n_anchors: int | str | None = "auto",
        consensus: str | None = "auto",
        scale: Any = "auto",
        view_weights: Any = None,
        reservoir: int = 0,
        views: Any = None,
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
        self.warmup = warmup
        self.fill = fill
        self.n_anchors = n_anchors
        self.consensus = consensus
        self.scale = scale
        self.view_weights = view_weights
        self.reservoir = reservoir
        self.views = views
        self.compute_labels = compute_labels
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose

    stream_labels_: Labels
    anchor_labels_: Labels
    _by_chunk: bool  # whether the labels are those of partial_fit
    _learnt: Stream

    def fit(self, X: Any, y: Any = None, observed: Any = None) -> Self:
        """Cluster the rows, from nothing.

        Parameters
        ----------
        X : list, tuple or dict of 2-D arrays or CSR matrices; a source; or one 2-D array
            One matrix a view, row i of each the same item; `vp.scan(...)` for files, tables and
            streams; `vp.frames(...)`; or an array that `views=` cuts into blocks.
        y : ignored
        observed : (n, n_views) array of bool, optional
            Which views a row has.

        Returns
        -------
        self
        """
        self._validate_params()
        check_whole(self.n_clusters, "n_clusters")
        fresh = self._blank()
        source = fresh._read(X, observed, reset=True)
        stream = fresh._learnt = fresh._new_stream(source)
        least = stream.plan.n_clusters or 1
        if source.n_rows is not None and source.n_rows < least:
            raise DataError(too_few(source.n_rows, least))
        with narrated(self.verbose):
            read = run(stream, source, chunk_size=self.chunk_size, n_passes=self.n_passes)
            fresh._take_centres_of_rows(read.labels)
            if self.compute_labels and source.rereadable:
                fresh.labels_ = fresh._labels_of(source)
        if not fresh._cut_by_views:  # lists show their length in reading
            fresh.n_features_in_ = sum(width or 0 for width in stream.schema.widths)
        if read.row_ids is not None:
            fresh.row_ids_ = read.row_ids
        self._become(fresh)
        return self

    def partial_fit(self, X: Any, y: Any = None, observed: Any = None) -> Self:
        """Read one chunk: all rows of X, in one step.

        Feeding the chunks of a data set one by one is `fit` with `n_passes=1`, to the bit. While
        a warm-up gathers, the attributes and `predict` come from a provisional start of the rows
        so far. `stream_labels_` are the labels of this chunk.

        A table of `vp.scan` is read in chunks of `chunk_size`, one after the other; if one of them
        is refused, none has been learnt from.
        """
        self._validate_params()
        check_whole(self.n_clusters, "n_clusters")
        begun = hasattr(self, "_learnt")
        fresh = self if begun else self._blank()
        source = fresh._read(X, observed, reset=not begun)
        if not source.in_memory:
            return self._feed_all(fresh, source, begun=begun)
        stream = self._learnt if begun else fresh._new_stream(source)
        chunk = whole(source)
        if not stream.started:  # gathered rows outlive this call: the caller's array may not
            chunk = chunk.copy()
        decided = stream.feed(chunk)
        fresh._learnt = stream
        for name in LABELS:  # while gathering they are worked out when asked for
            fresh.__dict__.pop(name, None)
        if decided is not None:
            fresh._take_centres_of_rows(decided.labels[-chunk.n_rows :], by_chunk=True)
        if not fresh._cut_by_views:  # a view that was absent so far may have shown its columns
            fresh.n_features_in_ = sum(width or 0 for width in stream.schema.widths)
        if chunk.row_ids is not None:
            fresh.row_ids_ = chunk.row_ids
        self._become(fresh)
        return self

    def _feed_all(self, fresh: Self, source: Source, *, begun: bool) -> Self:
        """Go on with the chunks of a source, on a copy of the stream."""
        stream = self._learnt.twin() if begun else fresh._new_stream(source)
        labels: list[Labels] = []
        ids: list[Array] = []
        waiting: list[Chunk] = []
        n_rows = 0
        for chunk in source.chunks(self.chunk_size):
            if not stream.started:
                chunk = chunk.copy()
            decided = stream.feed(chunk)
            n_rows += chunk.n_rows
            waiting = [*waiting, chunk] if decided is None else []
            labels += [] if decided is None else [decided.labels]
            ids += [] if chunk.row_ids is None else [chunk.row_ids]
        if not n_rows:
            raise DataError("the data has no rows (0 samples): at least one is needed.")
        labels += [label(chunk, stream.model, stream.workspace) for chunk in waiting]
        state = {name: value for name, value in fresh.__dict__.items() if name not in LABELS}
        state["_learnt"] = stream
        state["n_features_in_"] = sum(width or 0 for width in stream.schema.widths)
        if ids:
            state["row_ids_"] = np.concatenate(ids)
        self.__dict__ = state
        if waiting:
            self.stream_labels_ = self.labels_ = np.concatenate(labels)[-n_rows:]
        else:
            self._take_centres_of_rows(np.concatenate(labels)[-n_rows:], by_chunk=True)
        return self

    def _take_centres_of_rows(self, centres: Labels, *, by_chunk: bool = False) -> None:
        """Labels follow from the rows' centres; where these are anchors, when they are asked for.

        `by_chunk`: nobody will look back at the rows, so these are their `labels_` too.
        """
        self._by_chunk = by_chunk
        if self._fitted_model().consensus != "plain":
            self.anchor_labels_ = centres
            return
        self.stream_labels_ = centres
        if by_chunk:
            self.labels_ = centres

    def cut(self, n_clusters: int | str) -> Self:
        """The same model cut into another number of clusters, or "auto"; no data is needed.

        Anchors are cut anew (`consensus_` says how); without anchors the clusters themselves are
        merged, by the price in the objective. `stream_labels_` of the rows it was fitted to are
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

    # ---- anchors

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
    def anchor_centers_(self) -> list[Floats] | None:
        """The anchors themselves, (n_anchors, columns) for each view; None without anchors."""
        model = self._fitted_model()
        if model.cut is None:
            return None
        centres = model.unweighed(model.centres.values)
        return [np.empty((0, 0)) if values is None else values for values in centres]

    @property
    def cluster_curve_(self) -> Curve | None:
        """What `n_clusters="auto"` was read off; None where the number was given."""
        return self._fitted_model().curve

    def plot_cluster_curve(self, ax: Any = None) -> Any:
        """Draw `cluster_curve_`, with the number that was taken marked.

        Where the number of clusters was given, the curve it would have been read off is drawn, as of
        `cut("auto")`.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; without, a new figure is made.

        Returns
        -------
        matplotlib axes
        """
        from viewpass.cluster.drawing import draw_curve

        check_is_fitted(self)
        curve = self.cluster_curve_ or self.cut("auto").cluster_curve_
        assert curve is not None
        return draw_curve(curve, self._n_features_out, ax)

    def fit_predict(self, X: Any, y: Any = None, observed: Any = None) -> Labels:
        """Fit, then give `labels_`, or `stream_labels_` where those are not made."""
        self.fit(X, observed=observed)
        return self.labels_ if "labels_" in self.__dict__ else self.stream_labels_

    def _new_stream(self, source: Source) -> Stream:
        n_clusters = None if self.n_clusters == "auto" else int(self.n_clusters)
        init = checked_init(self.init, n_clusters, self.view_names_in_)
        warmup = 0
        if isinstance(init, str) and init != "random":
            warmup = (
                max(WARMUP_ROWS, WARMUP_ROWS_A_CLUSTER * (n_clusters or 0))
                if self.warmup == "auto"
                else int(self.warmup)
            )
        rules = Rules(self.alpha, self.max_iter, self.tol, self.fill)
        scale = checked_scale(self.scale, self.view_names_in_)
        if isinstance(init, list):  # centres are in a scale their maker knew
            scale = tuple("unit" if name == "auto" else name for name in scale)
        n_anchors = None if self.n_anchors in ("auto", None) else int(self.n_anchors)
        consensus = checked_consensus(self.consensus, self.n_anchors, self.n_clusters, init)
        check_whole(self.reservoir, "reservoir")
        plan = Plan(
            *(n_clusters, rules, init, warmup),
            scale=scale,
            n_anchors=n_anchors,
            consensus=consensus,
            weights=checked_weights(self.view_weights, self.view_names_in_),
            reservoir=int(self.reservoir),
        )
        return Stream(plan, as_generator(self.random_state), self._workspace(source))

    def _fitted_model(self) -> Model:
        if "_learnt" not in self.__dict__:
            raise AttributeError(f"this {type(self).__name__} is not fitted yet.")
        return self._learnt.model

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

    def __getattr__(self, name: str) -> Any:
        # Labels that are worked out when asked for: of anchors, and of the last chunk while a
        # warm-up gathers (from a provisional start).
        if name in ("labels_", "stream_labels_") and "_learnt" in self.__dict__:
            waiting = self._learnt.gathering
            if waiting is not None:
                return label(waiting, self._learnt.model, self._workspace())
            if "anchor_labels_" in self.__dict__ and (name == "stream_labels_" or self._by_chunk):
                return self._learnt.model.labels_of(self.anchor_labels_)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_learnt")
