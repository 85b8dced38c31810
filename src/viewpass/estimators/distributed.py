"""`vp.distributed`: fit and predict on any engine (`Engine`), with the same result as in one process."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from viewpass.engines import interface
from viewpass.engines.interface import Engine
from viewpass.engines.local import RowReader
from viewpass.engines.parts import Part, parts_of
from viewpass.engines.progress import Callback
from viewpass.errors import SettingError
from viewpass.estimators.base import logging_progress
from viewpass.estimators.notices import warn_of_fit
from viewpass.estimators.viewpass import ViewPass
from viewpass.kernels.grid import Labels
from viewpass.reasons.calibrate import calibration_of
from viewpass.sources.source import Source
from viewpass.tally.fitting import Fitting
from viewpass.tally.learning import Labelled

logger = logging.getLogger("viewpass")

__all__ = ["Engine", "Part", "fit", "parts_of", "predict"]

Opened = Callable[[Source], Engine]  # an engine over the rows of a source


def fit(
    model: ViewPass, data: Any, engine: Opened, *, observed: Any = None, callback: Callback | None = None
) -> ViewPass:
    """Fit a model on an engine.

    The rows are read three to six times: for the sample, which is solved here, for at most four
    tallies, and for the labels. The result is that of `model.fit` with the same settings, to the bit,
    whatever the partitions; with ids, in any order of the partitions. Of a stream that changes (`window=`,
    `half_life=`, "grow"), samples are drawn in this process, which reads the rows in their order, and the
    workers label them.

    Parameters
    ----------
    model : ViewPass
        Its settings; it becomes the fitted model.
    data : files of `vp.scan`, or as for `ViewPass.fit`
    engine : callable
        Called with the data as a source; gives an `Engine` over it.
    observed : (n, n_views) array of bool, optional
        With arrays: which views a row has.
    callback : callable, optional
        Called with the progress now and then (`pass_number`, `n_rows_read`, `n_rows`).

    Returns
    -------
    ViewPass
        The model.
    """
    if not model.compute_labels:
        raise SettingError(
            "compute_labels=False reads every row once, in order: that is not for a cluster. Leave it out, "
            "or fit on one machine."
        )
    fresh, source, _ = model._prepare(data, observed)
    if fresh._learnt.horizon.changing:
        return _follow(model, fresh, source, engine, callback)
    with logging_progress(model.verbose):
        running = engine(source)
        running.callback = callback
        learning = fresh._learnt
        fitting = Fitting(learning.plan, learning.seed, learning.sample)
        found = interface.fit(running, fitting, fresh._workspace())
        logger.info("%d rows in %d readings", fitting.n_rows, running.n_readings)
    fresh._learnt = fitting.learning
    learnt = fresh._fitted_model()
    fresh._count_features(learnt.schema)
    if found is not None:
        fresh.labels_ = found.labels
        ids = found.ids if source.row_ids is None else source.row_ids
        if ids is not None:
            fresh.row_ids_ = ids
    census = learnt.cluster_census
    assert census is not None
    warn_of_fit(learnt, int((census.sizes > 0).sum()))
    model._become(fresh)
    return model


def _follow(
    model: ViewPass, fresh: ViewPass, source: Source, engine: Opened, callback: Callback | None
) -> ViewPass:
    """Fit to a stream that changes."""
    running, learning, workspace = engine(source), fresh._learnt, fresh._workspace(source)
    if not running.ordered:
        raise SettingError(
            "window=, half_life= and n_clusters='grow' follow rows in their order, which this table does not "
            "have. Give files, or fit on one machine."
        )
    running.callback = callback
    with logging_progress(model.verbose):
        reader = RowReader(source)
        found = Labelled(0, interface.follow(running, learning, reader, workspace))
    fresh.stream_labels_, fresh.stream_ids_ = learning.present(found), learning.ids_of(found)
    learnt = fresh._fitted_model()
    fresh._count_features(learnt.schema)
    if reader.row_ids is not None:
        fresh.row_ids_ = reader.row_ids
    warn_of_fit(learnt, fresh._n_found())
    model._become(fresh)
    return model


def predict(model: Any, data: Any, engine: Opened, *, observed: Any = None, out: Any = None) -> Labels | None:
    """Label rows on an engine; the labels are those of `model.predict`.

    Parameters
    ----------
    model : a fitted ViewPass, OPIMC or IMC
    data, engine, observed
        As for `fit`.
    out : path, optional
        A new folder that every worker can write to: it gets the labels as Parquet parts, and their
        manifest when all are written. No label travels. For a ViewPass.

    Returns
    -------
    labels : (n,) array of int32, or None with `out`
    """
    check_is_fitted(model)
    source = model._read(data, observed, reset=False)
    running, learnt = engine(source), model._fitted_model()
    if out is None:
        return interface.predict(running, learnt)
    from viewpass.engines.label_parts import write
    from viewpass.labels.parts import write_manifest

    home = Path(out).absolute()
    if home.exists() and any(home.iterdir()):
        raise SettingError(f"out={str(out)!r}: the folder is not empty. Name another one.")
    home.mkdir(parents=True, exist_ok=True)
    calibration_of(learnt)  # once, here
    write_manifest(home, write(running, learnt, str(home), source.id_name)[1])
    return None
