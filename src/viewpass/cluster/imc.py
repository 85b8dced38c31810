"""IMC: the offline case of OPIMC (Eq. 7), all rows as one chunk."""

from __future__ import annotations

import logging
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from viewpass.cluster.base import logging_progress, whole
from viewpass.cluster.drawn import DrawnClusterer
from viewpass.cluster.notices import warn_of_fit
from viewpass.cluster.validation import (
    check_whole,
    checked_alpha,
    checked_init,
    checked_scale,
    checked_weights,
    row_copies,
)
from viewpass.core.auto.choose import Chosen, choose
from viewpass.core.initialise import Initialised, continued, initialise_clusters, initialise_ridged
from viewpass.core.model import Model
from viewpass.core.plan import Plan, Rules
from viewpass.core.reasons.learning import learn as learn_reasons
from viewpass.core.start.given import scaled_centres
from viewpass.core.start.prototypes import learn_completion
from viewpass.core.state.alpha import Alpha, each_view
from viewpass.core.state.census import Census
from viewpass.core.state.centres import objective
from viewpass.core.state.row_counts import RowCounts
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


class IMC(DrawnClusterer):
    """Offline incomplete multi-view clustering: the best of several starts on all rows at once.

    The same objective and steps as `OPIMC` with the whole data as one chunk, so it needs the data
    in memory and several distance passes over every row.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        "auto": read off `cluster_curve_`, as in `OPIMC`.
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
        As in `OPIMC`, chosen and learnt from all rows.
    fill, views, missing_entries, random_state, n_threads, verbose
        As in `OPIMC`; what fills missing values is learnt from all rows.

    Attributes
    ----------
    labels_ : (n,) array of int32
        -1: a row without any view.
    objectives_ : (n_init,) array
        The objective each start reached.
    cluster_centers_, alpha_, scales_, view_weights_, choices_, cluster_curve_, counts_, statistics_,
    loss_curve_, objective_, n_iter_, n_all_zero_, n_shortened_, n_gaps_, n_rows_without_views_,
    view_names_in_, n_features_in_, row_ids_
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
        "n_clusters": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
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
        n_clusters: int | str = 8,
        *,
        alpha: float | str = "auto",
        n_init: int = 10,
        max_iter: int = 100,
        tol: float = 1e-6,
        init: Any = "auto",
        fill: str | None = "mean",
        scale: Any = "auto",
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
        plan = fresh._plan(chunk.n_rows, unit)
        wanted = plan.n_clusters or 1
        if chunk.n_rows < wanted:
            raise DataError(too_few(chunk.n_rows, wanted))
        with logging_progress(self.verbose):
            rows, chosen = fresh._scaled(chunk, plan)
            plan, scaling = chosen.plan, chosen.scaling
            n_seen = int((rows.n_seen > 0).sum())
            assert plan.n_clusters is not None
            if n_seen < plan.n_clusters:
                raise DataError(too_few(n_seen, plan.n_clusters))
            if isinstance(plan.init, list):
                plan = replace(plan, init=scaled_centres(plan.init, scaling, chunk.schema, plan.n_clusters))
            alpha = fresh._ridge(rows, plan)
            best, objectives = fresh._best_start(rows, plan.ridged(alpha))
            if plan.weights == "auto":
                weights = learnt_weights(best.total, alpha, rows.squares.tolist())
                rows = MeasuredRows(rows.chunk, weights=weights)
                best, objectives = fresh._best_start(rows, plan.ridged(alpha))
            if self.missing_entries == "entrywise":  # only the start is made of filled rows
                scaling = scaling.with_marks()
                rows = MeasuredRows(scaling.apply(chunk), weights=rows.weights)
                begun = Initialised(best, "plain", None, alpha)
                best = continued(begun, rows, plan, fresh._workspace()).outcome
        best.total.check_room()
        fresh.objectives_ = objectives * scaling.unit**2 / unit
        fresh._learnt = Model(
            chunk.schema,
            best.total.widened(chunk.schema.widths),
            best.centres,
            scaling,
            tuple(each_view(alpha, rows.n_views).tolist()),
            RowCounts.of(rows),
            best.n_iter,
            [best.loss * scaling.unit**2 / chunk.n_copies],
            n_clusters=best.total.n_clusters,
            curve=chosen.curve,
            choices=chosen.choices,
            weights=rows.weights,
            weight_unit=unit,
            census=Census.none(best.total.n_clusters).added(best.labels, 0, rows.inverse > 0),
        )
        fresh._learnt.calibration = learn_reasons(rows, fresh._learnt, best.labels, fresh._workspace())
        fresh.labels_ = best.labels
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

    def _plan(self, n_rows: int, weight_unit: int) -> Plan:
        """The settings, checked; what they leave open is chosen from all rows."""
        names = self.view_names_in_
        n_clusters = None if isinstance(self.n_clusters, str) else int(self.n_clusters)
        init = checked_init(self.init, n_clusters, names, self._single_shape(n_rows))
        scale = checked_scale(self.scale, names)
        if not isinstance(init, str):  # as in OPIMC: what is given is for rows as they are
            scale = tuple("unit" if name == "auto" else name for name in scale)
        alpha, auto = checked_alpha(self.alpha, init)
        rules = Rules(alpha, self.max_iter, self.tol, self.fill)
        weights = checked_weights(self.view_weights, names)
        plan = Plan(n_clusters, rules, init, scale=scale, weights=weights, auto_alpha=auto)
        return plan.weighted(weight_unit)

    def _scaled(self, chunk: Chunk, plan: Plan) -> tuple[MeasuredRows, Chosen]:
        """All rows, in the scale chosen and learnt from them, and what was chosen."""
        workspace = self._workspace()
        given = None if isinstance(plan.weights, str) else plan.weights
        rows = MeasuredRows(chunk, weights=given).measure(workspace.n_threads)
        completion, known = None, rows
        if self.missing_entries in ("local", "entrywise"):
            completion = learn_completion(rows, workspace.n_threads)
            rows = MeasuredRows(completion.apply(chunk), weights=given).measure(workspace.n_threads)
        chosen = choose(rows, plan, workspace)
        scaling = chosen.scaling
        if self.missing_entries == "entrywise":
            by_values = Scaling.learn(known, scaling.names, plan.weight_unit)
            scaling, completion = replace(by_values, chosen=scaling.chosen), None
        if not scaling.plain or rows.chunk.gaps:
            scaled = scaling.apply(rows.chunk, n_threads=workspace.n_threads)
            rows = MeasuredRows(scaled, weights=given).measure(workspace.n_threads)
        return rows, chosen._replace(scaling=replace(scaling, completion=completion))

    def _ridge(self, rows: MeasuredRows, plan: Plan) -> Alpha:
        """The ridge as given, or estimated from one start: starts are compared under the same ridge."""
        if not plan.auto_alpha:
            return plan.rules.alpha
        rng = as_generator(self.random_state)
        plan = replace(plan, init="one seeding")
        return initialise_ridged(rows, plan, self._workspace(), rng, whole=True)[1]

    def _best_start(self, rows: MeasuredRows, plan: Plan) -> tuple[Outcome, Floats]:
        init, alpha = plan.init, plan.rules.alpha
        workspace, rng = self._workspace(), as_generator(self.random_state)
        best: Outcome | None = None
        objectives = []
        for number in range(self.n_init if isinstance(init, str) else 1):
            kind = init
            if isinstance(init, str) and init != "random":
                seeded = init == "k-means++" or number % 2 == 0
                kind = "one seeding" if seeded else "random"
            outcome = initialise_clusters(rows, replace(plan, init=kind), workspace, rng)
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
