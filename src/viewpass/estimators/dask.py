"""`vp.dask`: fit and predict on a Dask cluster, with the same result as on one machine."""

from __future__ import annotations

from functools import partial
from typing import Any

from viewpass.engines.progress import Callback
from viewpass.errors import missing_extra
from viewpass.estimators import distributed as generic
from viewpass.estimators.viewpass import ViewPass
from viewpass.kernels.grid import Labels

try:
    import distributed  # noqa: F401
except ImportError:
    raise missing_extra("distributed", "dask", "vp.dask") from None

from viewpass.engines.dask.cluster import workers_of
from viewpass.engines.dask.collections import source_of
from viewpass.engines.dask.engine import DaskEngine

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
    observed = observed if source is data else None
    with workers_of(client, n_workers) as workers:
        opened = partial(DaskEngine, workers)
        return generic.fit(model, source, opened, observed=observed, callback=callback)


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
    source = source_of(data, observed, views, id)
    observed = observed if source is data else None
    with workers_of(client, n_workers) as workers:
        return generic.predict(model, source, partial(DaskEngine, workers), observed=observed, out=out)
