"""IMC: the offline case of OPIMC (Eq. 7), all rows as one chunk."""

from __future__ import annotations

import logging
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from viewpass.cluster.base import ViewClusterer, logging_progress, whole
from viewpass.cluster.notices import warn_of_fit
from viewpass.cluster.validation import (
    check_whole,
    checked_alpha,
    checked_init,
    checked_scale,
    checked_weights,
    row_copies,
)
from viewpass.core.initialise import initialise_clusters, initialise_ridged
from viewpass.core.model import Model
from viewpass.core.plan import Plan, Rules
from viewpass.core.start.given import scaled_centres
from viewpass.core.start.prototypes import learn_completion
from viewpass.core.state.alpha import Alpha, each_view
from viewpass.core.state.centres import objective
from viewpass.core.state.view_weights import learnt_weights
from viewpass.core.step.chunk_step import Outcome
from viewpass.engine.run import too_few
from viewpass.errors import DataError
from viewpass.kernels.grid import Array, Floats, Labels
from viewpass.store.container.fields import Fields, Rule
from viewpass.store.state.model import pack_model, unpack_model
from viewpass.views.chunk import Chunk, Schema
from viewpass.views.gaps import CHOICES
from viewpass.views.rows import MeasuredRows
from viewpass.views.scaling import Scaling
from viewpass.views.seeds import as_generator

logger = logging.getLogger("viewpass")


class IMC(ViewClusterer):
    """Offline incomplete multi-view clustering: the best of several starts on all rows at once.

    The same objective and steps as `OPIMC` with the whole data as one chunk, so it needs the data
    in memory and several distance passes over every row.

    Parameters
    ----------
    n_clusters : int, default=8
    alpha : float or "auto", default="auto"
        Ridge on the centres; "auto": one for each view, estimated from one start on all rows, as in
        `OPIMC`.
    n_init : int, default=10
        Number of starts; the one with the lowest objective is kept. An array as `init` is one start.
    max_iter : int, default=100
        Centre updates per start, at most.
    tol : float, default=1e-6
        Stop when the loss changes by less than this share; 0: when no label changes.
    init : {"auto", "k-means++", "random"}, array or list of arrays, default="auto"
        How a start is made. "k-means++": seeds far apart by distances over shared views;
        "random": the published soft random V; "auto": alternately both. Arrays as in `OPIMC`.
    scale, view_weights
        As in `OPIMC`, learnt from all rows.
    fill, views, missing_entries, random_state, n_threads, verbose
        As in `OPIMC`; the means that fill missing values are those of all rows.

    Attributes
    ----------
    labels_ : (n,) array of int32
        -1: a row without any view.
    objectives_ : (n_init,) array
        The objective each start reached.
    cluster_centers_, alpha_, scales_, view_weights_, counts_, statistics_, loss_curve_, objective_, n_iter_,
    n_all_zero_, n_shortened_, n_gaps_, n_rows_without_views_, view_names_in_, n_features_in_, row_ids_
        As in `OPIMC`.

    Examples
    --------
    >>> import numpy as np
    >>> import viewpass as vp
    >>> X = np.repeat(np.eye(3), 5, axis=0)
    >>> labels = vp.IMC(n_clusters=3, random_state=0).fit_predict([X, 2 * X])
    >>> np.bincount(labels)
    array([5, 5, 5])
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 (scikit-learn's own form)
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "init": "no_validation",  # type: ignore[dict-item]
        "fill": [StrOptions({"mean", "zero-filled-mean"}), None],
        "scale": "no_validation",  # type: ignore[dict-item]
        "view_weights": "no_validation",  # type: ignore[dict-item]
        "views": "no_validation",  # type: ignore[dict-item]
        "missing_entries": [StrOptions(set(CHOICES))],
        "random_state": "no_validation",  # type: ignore[dict-item]
        "n_threads": [Interval(Integral, 1, None, closed="left"), None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        alpha: float | str = "auto",
        n_init: int = 10,
        max_iter: int = 100,
        tol: float = 1e-6,
        init: Any = "auto",
        fill: str | None = "mean",
        scale: Any = "unit",
        view_weights: Any = None,
        views: Any = None,
        missing_entries: str = "refuse",
        random_state: Any = None,
        n_threads: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.alpha = alpha
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.init = init
        self.fill = fill
        self.scale = scale
        self.view_weights = view_weights
        self.views = views
        self.missing_entries = missing_entries
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose

    _learnt: Model

    def fit(self, X: Any, y: Any = None, observed: Any = None, *, sample_weight: Any = None) -> Self:
        """Cluster the rows. `X`, `observed` and `sample_weight` are as in `OPIMC.fit`."""
        self._validate_params()
        check_whole(self.n_clusters, "n_clusters")
        fresh = self._blank()
        source = fresh._read(X, observed, reset=True)
        copies, unit = row_copies(sample_weight, source, None)
        chunk = replace(whole(source), copies=copies)
        if chunk.n_rows < self.n_clusters:
            raise DataError(too_few(chunk.n_rows, self.n_clusters))
        rows, scaling = fresh._scaled(chunk, unit)
        n_seen = int((rows.n_seen > 0).sum())
        if n_seen < self.n_clusters:
            raise DataError(too_few(n_seen, self.n_clusters))
        single = fresh._single_shape(chunk.n_rows)
        init = checked_init(self.init, self.n_clusters, fresh.view_names_in_, single)
        if isinstance(init, list):
            init = scaled_centres(init, scaling, chunk.schema, self.n_clusters)
        with logging_progress(self.verbose):
            alpha = fresh._ridge(rows, init, unit)
            best, objectives = fresh._best_start(rows, init, alpha)
            if isinstance(self.view_weights, str):
                weights = learnt_weights(best.total, alpha, rows.squares.tolist())
                rows = MeasuredRows(rows.chunk, weights=weights)
                best, objectives = fresh._best_start(rows, init, alpha)
        best.total.check_room()
        fresh.objectives_ = objectives * scaling.unit**2 / unit
        fresh._learnt = Model(
            chunk.schema,
            best.total.widened(chunk.schema.widths),
            best.centres,
            scaling,
            tuple(each_view(alpha, rows.n_views).tolist()),
            rows.n_rows,
            rows.n_rows - n_seen,
            best.n_iter,
            [best.loss * scaling.unit**2 / chunk.n_copies],
            n_clusters=best.total.n_clusters,
            weights=rows.weights,
            n_copies=None if copies is None else chunk.n_copies,
            weight_unit=unit,
            n_all_zero=tuple(rows.n_all_zero().tolist()),
        )
        fresh.labels_ = best.labels
        fresh._count_gaps(source)
        fresh._count_features(chunk.schema)
        if chunk.row_ids is not None:
            fresh.row_ids_ = chunk.row_ids
        warn_of_fit(fresh._learnt, fresh._n_found())
        self._become(fresh)
        return self

    def fit_predict(
        self, X: Any, y: Any = None, observed: Any = None, *, sample_weight: Any = None
    ) -> Labels:
        """Fit, then give `labels_`."""
        return self.fit(X, observed=observed, sample_weight=sample_weight).labels_

    def _scaled(self, chunk: Chunk, weight_unit: int) -> tuple[MeasuredRows, Scaling]:
        """All rows, in the scale learnt from them, and that scale."""
        n_threads = self.n_threads or 1
        names = checked_scale(self.scale, self.view_names_in_)
        given = checked_weights(self.view_weights, self.view_names_in_)
        weights = None if isinstance(given, str) else given
        rows = MeasuredRows(chunk, weights=weights).measure(n_threads)
        completion = learn_completion(rows, n_threads) if self.missing_entries == "local" else None
        if completion is not None:
            rows = MeasuredRows(completion.apply(chunk), weights=weights).measure(n_threads)
        scaling = Scaling.learn(rows, names, weight_unit)
        if not scaling.plain or rows.chunk.gaps:
            scaled = scaling.apply(rows.chunk, n_threads=n_threads)
            rows = MeasuredRows(scaled, weights=weights).measure(n_threads)
        return rows, replace(scaling, completion=completion)

    def _ridge(self, rows: MeasuredRows, init: Any, weight_unit: int) -> Alpha:
        """The ridge as given, or estimated from one start: starts are compared under the same ridge."""
        first, auto = checked_alpha(self.alpha, init)
        if not auto:
            return first * weight_unit
        rules = Rules(first, self.max_iter, self.tol, self.fill)
        plan = Plan(self.n_clusters, rules, "one seeding", auto_alpha=True).weighted(weight_unit)
        rng = as_generator(self.random_state)
        return initialise_ridged(rows, plan, self._workspace(), rng, whole=True)[1]

    def _best_start(self, rows: MeasuredRows, init: Any, alpha: Alpha) -> tuple[Outcome, Floats]:
        rules = Rules(alpha, self.max_iter, self.tol, self.fill)
        workspace, rng = self._workspace(), as_generator(self.random_state)
        best: Outcome | None = None
        objectives = []
        for number in range(self.n_init if isinstance(init, str) else 1):
            kind = init
            if isinstance(init, str) and init != "random":
                seeded = init == "k-means++" or number % 2 == 0
                kind = "one seeding" if seeded else "random"
            outcome = initialise_clusters(rows, Plan(self.n_clusters, rules, kind), workspace, rng)
            objectives.append(objective(outcome.centres, outcome.total, alpha, rows.squares.tolist()))
            if best is None or objectives[-1] < min(objectives[:-1]):
                best = outcome
            logger.info("start %d (%s): objective %.6g", number + 1, kind, objectives[-1])
        assert best is not None
        return best, np.array(objectives)

    def _fitted_model(self) -> Model:
        if "_learnt" not in self.__dict__:
            raise AttributeError(f"this {type(self).__name__} is not fitted yet.")
        return self._learnt

    def _fitted_schema(self) -> Schema:
        return self._learnt.schema

    def _packed(self, arrays: dict[str, Array]) -> dict[str, Any]:
        arrays["objectives"] = self.objectives_
        return {"model": pack_model(self._learnt, arrays)}

    def _take_packed(self, stored: Fields) -> None:
        self._learnt = unpack_model(stored.part("model"), checked_alpha(self.alpha, self.init)[0])
        self.objectives_ = stored.array("objectives", Rule(np.float64, "*"))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_learnt")
