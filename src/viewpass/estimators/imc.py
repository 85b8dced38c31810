"""IMC: the offline case of OPIMC (Eq. 7), all rows as one chunk."""

from __future__ import annotations

import logging
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np

from viewpass.algorithm1.algorithm1 import Settings, first_chunk, scaled_centres
from viewpass.errors import DataError
from viewpass.estimators.base import logging_progress, whole
from viewpass.estimators.clusterer import ViewClusterer
from viewpass.estimators.notices import warn_of_fit
from viewpass.estimators.validation import published_settings, row_copies
from viewpass.kernels.grid import Array, Floats
from viewpass.model.model import Model, label
from viewpass.solve import starts
from viewpass.solve.solve import too_few
from viewpass.store.container.fields import Fields, Rule
from viewpass.store.state.model import pack_model, unpack_model
from viewpass.sums.centres import objective
from viewpass.sums.chunk_step import ChunkStep, Outcome
from viewpass.sums.row_counts import RowCounts
from viewpass.sums.rules import each_view
from viewpass.views.rows import MeasuredRows
from viewpass.views.scaling import Scaling
from viewpass.views.seeds import as_generator

logger = logging.getLogger("viewpass")


@dataclass(eq=False, repr=False)
class IMC(ViewClusterer):
    """Offline incomplete multi-view clustering: the best of several starts on all rows at once.

    The objective and the steps of `OPIMC` with the whole data as one chunk, in memory.

    Parameters
    ----------
    n_clusters : int, default=8
    alpha : float, default=0.1
        Ridge on the centres, in rows.
    n_init : int, default=10
        Number of starts; the one with the lowest objective is kept. An array as `init` is one start.
    max_iter : int, default=100
        Centre updates per start, at most.
    tol : float, default=1e-6
        Stop when the loss changes by less than this share; 0: when no label changes.
    init : {"random", "k-means++"}, array or list of arrays, default="random"
        "random": the published soft random V. "k-means++": seeds far apart by distances over shared views.
        Arrays as in `OPIMC`.
    fill, scale, views, random_state, n_threads, verbose
        As in `OPIMC`.

    Attributes
    ----------
    labels_ : (n,) array of int32
        -1: a row without any view.
    objectives_ : (n_init,) array
        The objective each start reached.
    cluster_centers_, alpha_, scales_, counts_, statistics_, objective_, inertia_, n_all_zero_, n_shortened_,
    n_rows_without_views_, view_names_in_, n_features_in_, row_ids_
        As in `OPIMC`.
    n_iter_ : int
        Centre updates of the best start.

    Examples
    --------
    >>> import numpy as np
    >>> import viewpass as vp
    >>> X = np.repeat(np.eye(3), 5, axis=0)
    >>> labels = vp.IMC(n_clusters=3, random_state=0).fit_predict([X, 2 * X])
    >>> np.bincount(labels)
    array([5, 5, 5])
    """

    n_clusters: int = 8
    _: KW_ONLY
    alpha: float = 0.1
    n_init: int = 10
    max_iter: int = 100
    tol: float = 1e-6
    init: Any = "random"
    fill: str | None = "mean"
    scale: Any = "unit"
    views: Any = None
    random_state: Any = None
    n_threads: int | None = None
    verbose: int = 0

    def fit(self, X: Any, y: Any = None, observed: Any = None, *, sample_weight: Any = None) -> Self:
        """Cluster the rows. `X`, `observed` and `sample_weight` are as in `OPIMC.fit`."""
        self._validate()
        fresh = self._blank()
        source = fresh._read(X, observed, reset=True)
        copies, unit = row_copies(sample_weight, source, None)
        chunk = replace(whole(source), copies=copies)
        settings = published_settings(
            fresh, chunk.schema.names, fresh._single_shape(chunk.n_rows), ("random", "k-means++")
        ).weighted(unit)
        if chunk.n_rows < settings.n_clusters:
            raise DataError(too_few(chunk.n_rows, settings.n_clusters))
        workspace = fresh._workspace()
        rows = MeasuredRows(chunk).measure(workspace.n_threads)
        n_seen = int((rows.n_seen > 0).sum())
        if n_seen < settings.n_clusters:
            raise DataError(too_few(n_seen, settings.n_clusters))
        scaling = Scaling.learn(rows, settings.scale, unit)
        if not scaling.plain:
            rows = MeasuredRows(scaling.apply(chunk, n_threads=workspace.n_threads))
        if isinstance(settings.init, list):
            centres = scaled_centres(settings.init, scaling, chunk.schema, settings.n_clusters)
            settings = replace(settings, init=centres)
        with logging_progress(self.verbose):
            best, objectives = fresh._best_start(rows, settings)
        best.total.check_room()
        fresh.objectives_ = objectives * scaling.unit**2 / unit
        fresh._learnt = Model(
            chunk.schema,
            best.total.widened(chunk.schema.widths),
            best.centres,
            scaling,
            tuple(each_view(settings.rules.alpha, rows.n_views).tolist()),
            RowCounts.of(rows),
            best.n_iter,
            n_clusters=settings.n_clusters,
            weight_unit=unit,
        )
        # Not those of the best start: a view that only rows of weight 0 have has no centres.
        fresh.labels_ = label(chunk, fresh._learnt, workspace)
        fresh._count_features(chunk.schema)
        if chunk.row_ids is not None:
            fresh.row_ids_ = chunk.row_ids
        warn_of_fit(fresh._learnt, fresh._n_found())
        self._become(fresh)
        return self

    def _best_start(self, rows: MeasuredRows, settings: Settings) -> tuple[Outcome, Floats]:
        init, n_clusters = settings.init, settings.n_clusters
        step, rng = ChunkStep(settings.rules, self._workspace()), as_generator(self.random_state)
        best: Outcome | None = None
        objectives: list[float] = []
        for number in range(self.n_init if isinstance(init, str) else 1):
            if isinstance(init, str) and init == "k-means++":
                outcome = starts.seeded(rows, n_clusters, step, rng)
            else:
                outcome = first_chunk(rows, init, n_clusters, step, rng)
            squares = rows.squares.tolist()
            value = objective(outcome.centres, outcome.total, settings.rules.alpha, squares)
            if best is None or value < min(objectives):
                best = outcome
            objectives.append(value)
            logger.info("start %d: objective %.6g", number + 1, value)
        assert best is not None
        return best, np.array(objectives)

    def _fitted_model(self) -> Model:
        model: Model = self._checked_learnt()
        return model

    def _packed(self, arrays: dict[str, Array]) -> dict[str, Any]:
        arrays["objectives"] = self.objectives_
        return {"model": pack_model(self._learnt, arrays)}

    def _take_packed(self, stored: Fields) -> None:
        self._learnt = unpack_model(stored.part("model"))
        self.objectives_ = stored.array("objectives", Rule(np.float64, "*"))

    @property
    def n_iter_(self) -> int:
        """Centre updates of the best start."""
        return self._fitted_model().n_iter
