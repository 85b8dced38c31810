"""OPIMC: one-pass incomplete multi-view clustering (Hu and Chen, AAAI 2019)."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

from sklearn.utils._param_validation import Interval, StrOptions

from viewpass.cluster.anchored import LABELS, AnchoredClusterer
from viewpass.cluster.base import narrated
from viewpass.cluster.validation import check_whole, plan_of
from viewpass.core.stream import Stream
from viewpass.engine.run import Callback, LocalSteps, check_passes, run_to_end, too_few
from viewpass.engine.sinks import LabelArray, LabelList
from viewpass.errors import DataError, SettingError
from viewpass.kernels.grid import Array, Labels
from viewpass.sources.source import Source
from viewpass.store.container.fields import Fields
from viewpass.store.state.stream import pack_stream, unpack_stream
from viewpass.views.chunk import Schema
from viewpass.views.seeds import as_generator

# What the paper does not have, and the values that switch it off.
ADDITIONS: dict[str, Any] = {
    "init": "random",
    "warmup": 0,
    "scale": "unit",
    "n_anchors": None,
    "consensus": "auto",
    "view_weights": None,
    "reservoir": 0,
}


class OPIMC(AnchoredClusterer):
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
        were drawn and that the views, each by itself, agree on them better than on round ones, or
        else no anchors; `init="random"` and arrays imply no anchors.
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
    n_rows_without_views_ : int
    view_names_in_ : tuple of str
    n_features_in_ : int
    row_ids_ : array, where the data has ids

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

    def fit(self, X: Any, y: Any = None, observed: Any = None, *, callback: Callback | None = None) -> Self:
        """Cluster the rows, forgetting what was learnt before.

        Parameters
        ----------
        X : list, tuple or dict of 2-D arrays or CSR matrices; a source; or one 2-D array
            One matrix per view, row i of each the same item; `vp.scan(...)` for files, tables and
            streams; `vp.frames(...)`; or an array that `views=` cuts into blocks.
        y : ignored
        observed : (n, n_views) array of bool, optional
            Which views a row has.
        callback : callable, optional
            Called after every step with the progress (`pass_number`, `n_passes`, `n_rows_read`, `n_rows`,
            `loss`). If it returns True, reading ends there: the model and its labels are those of the
            rows read so far.

        Returns
        -------
        self
        """
        fresh, source = self._prepare(X, observed)
        check_passes(source, self.n_passes)
        stream, sink = fresh._learnt, LabelArray(source.n_rows, keep_ids=source.row_ids is None)
        with narrated(self.verbose):
            steps = LocalSteps(stream, source, sink, self.chunk_size)
            run_to_end(steps, sink, self.n_passes, n_rows=source.n_rows, callback=callback)
            fresh._take_centres_of_rows(sink.labels(stream.n_rows))
            if self.compute_labels and source.rereadable:
                fresh.labels_ = fresh._labels_of(source, stream.n_rows)
        fresh._count_features(stream.schema)
        ids = sink.row_ids if source.row_ids is None else source.row_ids
        if ids is not None:
            fresh.row_ids_ = ids[: stream.n_rows]
        self._become(fresh)
        return self

    def partial_fit(
        self, X: Any, y: Any = None, observed: Any = None, *, callback: Callback | None = None
    ) -> Self:
        """Learn from one more chunk: all rows of X, in one step.

        Calling it with the chunks of a data set one by one is `fit` with `n_passes=1`, to the bit. While
        rows are collected for the warm-up, attributes and `predict` come from a provisional start.
        `stream_labels_` are the labels of this chunk.

        A table of `vp.scan` is read in chunks of `chunk_size`, one after the other; if one of them is
        refused, nothing has been learnt. `callback` is as in `fit`.
        """
        begun = hasattr(self, "_learnt")
        if begun:
            self._validate()
            fresh, source = self, self._read(X, observed, reset=False)
            one_step = source.in_memory and callback is None  # which changes nothing if it fails
            stream = self._learnt if one_step else self._learnt.twin()
            stream.workspace = self._workspace(source)
        else:
            fresh, source = self._prepare(X, observed, whole=False)
            stream = fresh._learnt
        size = (source.n_rows if source.in_memory else None) or self.chunk_size
        sink = LabelList()
        steps = LocalSteps(stream, source, sink, size, keep=True)
        run_to_end(steps, sink, 1, n_rows=source.n_rows, callback=callback, whole=False)
        if not steps.n_read:
            raise DataError("the data has no rows (0 samples): at least one is needed.")
        for name in LABELS:  # during the warm-up they are computed when asked for
            fresh.__dict__.pop(name, None)
        fresh._learnt, fresh._n_last = stream, steps.n_read
        if stream.started:
            fresh._take_centres_of_rows(sink.labels(steps.n_read), by_chunk=True)
        fresh._count_features(stream.schema)
        if sink.row_ids is not None:
            fresh.row_ids_ = sink.row_ids
        self._become(fresh)
        return self

    def _validate(self) -> None:
        self._validate_params()
        check_whole(self.n_clusters, "n_clusters")

    def _prepare(self, X: Any, observed: Any, *, whole: bool = True) -> tuple[Self, Source]:
        """Validate settings and data, and give a copy with a new stream: where every fit begins."""
        self._validate()
        fresh = self._blank()
        source = fresh._read(X, observed, reset=True)
        plan = plan_of(fresh, fresh.view_names_in_)
        fresh._learnt = Stream(plan, as_generator(self.random_state), fresh._workspace(source))
        least = plan.n_clusters or 1
        if whole and source.n_rows is not None and source.n_rows < least:
            raise DataError(too_few(source.n_rows, least))
        return fresh, source

    def fit_predict(self, X: Any, y: Any = None, observed: Any = None) -> Labels:
        """Fit, then give `labels_`, or `stream_labels_` where those are not made."""
        self.fit(X, observed=observed)
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
