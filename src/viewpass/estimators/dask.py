"""`vp.dask`: fit and predict on a Dask cluster, with the same result as on one machine."""

from __future__ import annotations

from functools import partial
from typing import Any

from viewpass.engines.dask.cluster import workers_of
from viewpass.engines.dask.collections import source_of
from viewpass.engines.dask.engine import DaskEngine
from viewpass.engines.progress import Callback
from viewpass.estimators import distributed
from viewpass.estimators.viewpass import ViewPass
from viewpass.kernels.grid import Labels

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
    """Fit a model on the workers of a Dask cluster, as `vp.distributed.fit` does.

    Parameters
    ----------
    model, observed, callback
        As for `vp.distributed.fit`.
    data : source, list or dict of Dask arrays, Dask DataFrame, or as for `ViewPass.fit`
        Files of `vp.scan` are read by the workers, which must see them under the same names. Dask
        collections that are not persisted are computed at each reading. Arrays in this process's memory are
        sent to the workers.
    client : distributed.Client, optional
        By default a cluster of processes is started on this machine for the time of the fit.
    n_workers : int, optional
        Processes of that cluster. By default one per processor.
    views, id : optional
        With a Dask DataFrame: as for `vp.scan`.

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
        return distributed.fit(model, source, opened, observed=observed, callback=callback)


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
    """Label rows on the workers of a Dask cluster, as `vp.distributed.predict` does.

    `data`, `client`, `n_workers`, `views` and `id` are as for `fit`.
    """
    source = source_of(data, observed, views, id)
    observed = observed if source is data else None
    with workers_of(client, n_workers) as workers:
        return distributed.predict(model, source, partial(DaskEngine, workers), observed=observed, out=out)
