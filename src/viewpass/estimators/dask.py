"""`vp.dask`: fit and predict on a Dask cluster, with the same result as on one machine."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from sklearn.utils.validation import check_is_fitted

from viewpass.engines import interface
from viewpass.engines.progress import Callback
from viewpass.errors import SettingError, missing_extra
from viewpass.estimators.base import logging_progress
from viewpass.estimators.notices import warn_of_fit
from viewpass.estimators.viewpass import ViewPass
from viewpass.kernels.grid import Array, Labels
from viewpass.reasons.calibrate import calibration_of
from viewpass.sources.source import Source
from viewpass.tally.fitting import Fitting
from viewpass.tally.learning import Learning

try:
    import distributed  # noqa: F401
except ImportError:
    raise missing_extra("distributed", "dask", "vp.dask") from None

from viewpass.engines.dask.collections import source_of
from viewpass.engines.dask.engine import DaskEngine
from viewpass.engines.dask.workers import Workers, local_client

logger = logging.getLogger("viewpass")

__all__ = ["fit", "predict"]


def fit(
    model: ViewPass,
    data: Any,
    client: Any = None,
    *,
    n_workers: int | None = None,
    observed: Any = None,
    views: Any = None,
    id: str | None = None,
    callback: Callback | None = None,
) -> ViewPass:
    """Fit a model on the workers of a Dask cluster.

    The workers read the rows three to six times: for the sample, which is solved here, for at most four
    tallies, and for the labels. The result is that of `model.fit` with the same settings, to the bit,
    whatever the workers and partitions; with ids, in any order of the partitions.

    Parameters
    ----------
    model : ViewPass
        Its settings; it becomes the fitted model.
    data : source, list or dict of Dask arrays, Dask DataFrame, or as for `ViewPass.fit`
        Files of `vp.scan` are read by the workers, which must see them under the same names. Dask
        collections that are not persisted are computed at each reading. Arrays in this process's memory are
        sent to the workers.
    client : distributed.Client, optional
        By default a cluster of processes is started on this machine for the time of the fit.
    n_workers : int, optional
        Processes of that cluster. By default one per processor.
    observed : (n, n_views) array of bool, optional
        With arrays: which views a row has.
    views, id : optional
        With a Dask DataFrame: as for `vp.scan`.
    callback : callable, optional
        Called with the progress now and then (`pass_number`, `n_rows_read`, `n_rows`).

    Returns
    -------
    ViewPass
        The model.

    Examples
    --------
    >>> import viewpass as vp                                            # doctest: +SKIP
    >>> items = vp.scan("items/*.parquet", id="item_id")                 # doctest: +SKIP
    >>> model = vp.ViewPass(n_clusters=10)                               # doctest: +SKIP
    >>> vp.dask.fit(model, items, n_workers=4)                           # doctest: +SKIP
    """
    source = source_of(data, observed, views, id)
    if not model.compute_labels:
        raise SettingError(
            "compute_labels=False reads every row once, in order: that is not for a cluster. Leave it out, "
            "or fit on one machine."
        )
    fresh, source, _ = model._prepare(source, None if source is not data else observed)
    _check_source(source)
    with logging_progress(model.verbose), workers_of(client, n_workers) as workers:
        fresh._learnt, fresh.labels_, ids = fit_distributed(fresh, source, workers, callback)
    found = fresh._fitted_model()
    fresh._count_features(found.schema)
    if ids is not None:
        fresh.row_ids_ = ids
    warn_of_fit(found, fresh._n_found())
    model._become(fresh)
    return model


class Fitted(NamedTuple):
    """What a cluster found: what was learnt, and the labels and ids of all rows."""

    learning: Learning
    labels: Labels
    ids: Array | None


def fit_distributed(
    model: ViewPass, source: Source, workers: Workers, callback: Callback | None = None
) -> Fitted:
    """Fit to a source; `model` and `source` are those that `_prepare` gave."""
    engine = DaskEngine(workers, source, callback)
    fitting = Fitting(model._learnt.plan, model._learnt.seed, model._learnt.sample)
    labels = interface.fit(engine, fitting, model._workspace())
    logger.info("%d rows in %d readings", fitting.n_rows, engine.n_barriers)
    return Fitted(fitting.learning, labels, engine.row_ids)


def predict(
    model: Any,
    data: Any,
    client: Any = None,
    *,
    n_workers: int | None = None,
    observed: Any = None,
    views: Any = None,
    id: str | None = None,
    out: Any = None,
) -> Labels | None:
    """Label rows on the workers of a Dask cluster; the labels are those of `model.predict`.

    Parameters
    ----------
    model : a fitted ViewPass, OPIMC or IMC
    data, client, n_workers, observed, views, id
        As for `fit`.
    out : path, optional
        A new folder that every worker can write to: it gets the labels as Parquet parts, and their
        manifest when all are written. No label travels. For a ViewPass.

    Returns
    -------
    labels : (n,) array of int32, or None with `out`
    """
    check_is_fitted(model)
    source = source_of(data, observed, views, id)
    source = model._read(source, None if source is not data else observed, reset=False)
    _check_source(source)
    with workers_of(client, n_workers) as workers:
        engine = DaskEngine(workers, source)
        learnt = model._fitted_model()
        if out is None:
            return engine.predict(learnt)
        from viewpass.engines.dask.label_parts import PartOrder
        from viewpass.labels.columns import confidence_columns
        from viewpass.labels.files.parts import write_manifest

        home = Path(out).absolute()
        if home.exists() and any(home.iterdir()):
            raise SettingError(f"out={str(out)!r}: the folder is not empty. Name another one.")
        home.mkdir(parents=True, exist_ok=True)
        calibration_of(learnt)  # once, here
        order = PartOrder(str(home), source.id_name, confidence_columns)
        write_manifest(home, engine.write(learnt, order)[1])
    return None


def _check_source(source: Source) -> None:
    if not source.rereadable:
        raise SettingError(
            "a stream cannot be divided among workers: its rows come once, in order. Give files, Dask "
            "collections, or arrays."
        )


@contextmanager
def workers_of(client: Any, n_workers: Any = None) -> Iterator[Workers]:
    """The workers of a client, or of a cluster on this machine for the time being."""
    if n_workers is not None and (
        isinstance(n_workers, bool) or not isinstance(n_workers, int) or n_workers < 1
    ):
        raise SettingError(f"n_workers={n_workers!r}: a number of at least 1 was expected.")
    if client is None:
        with local_client(n_workers) as own, workers_of(own) as workers:
            yield workers
        return
    logger.info("the Dask dashboard is at %s", client.dashboard_link)
    yield Workers(client)
