"""`vp.ray`: fit and predict on a Ray cluster, with the same result as on one machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from viewpass.engines.clusters import connected
from viewpass.engines.progress import Callback
from viewpass.errors import missing_extra
from viewpass.estimators import distributed
from viewpass.estimators.batches import table_predictor
from viewpass.estimators.viewpass import ViewPass

try:
    import ray.data
except ImportError:
    raise missing_extra("ray", "ray", "vp.ray") from None

from viewpass.engines.ray.engine import dataset_source, schema_of

__all__ = ["fit", "predict"]


def fit(
    model: ViewPass,
    data: Any,
    *,
    n_workers: int | None = None,
    views: Any = None,
    id: str | None = None,
    callback: Callback | None = None,
) -> ViewPass:
    """Fit a model on the workers of a Ray cluster.

    The cluster is the one this process is connected to; otherwise one is started on this machine for the
    time of the fit. The rows are read three to six times, and the result is that of one machine.

    Parameters
    ----------
    model : ViewPass
        Its settings; it becomes the fitted model.
    data : Ray Dataset, or source
        A Dataset is executed at each reading, unless it is materialized. Its rows have no fixed order, so a
        column of ids is needed, and labels stay there: `predict` gives them. Files of `vp.scan` are read
        by the workers, and `labels_` are those of their rows.
    n_workers : int, optional
        Workers of a cluster on this machine. By default one per processor.
    views, id : optional
        With a Dataset: as for `vp.scan`.
    callback : callable, optional
        Called with the progress now and then (`pass_number`, `n_rows_read`, `n_rows`).

    Returns
    -------
    ViewPass
        The model.

    Examples
    --------
    >>> import ray, viewpass as vp                                       # doctest: +SKIP
    >>> items = ray.data.read_parquet("items")                           # doctest: +SKIP
    >>> model = vp.ViewPass(n_clusters=10, random_state=0)               # doctest: +SKIP
    >>> vp.ray.fit(model, items, id="item_id")                           # doctest: +SKIP
    >>> vp.ray.predict(model, items).write_parquet("labels")             # doctest: +SKIP
    """
    with connected("ray", None, n_workers) as cluster:
        source = dataset_source(data, views, id) if isinstance(data, ray.data.Dataset) else data
        return distributed.fit(model, source, cluster.engine, callback=callback)


def predict(
    model: Any,
    dataset: ray.data.Dataset,
    *,
    views: Any = None,
    keep: Sequence[str] | None = None,
    proba: bool = False,
    explain: bool = False,
) -> ray.data.Dataset:
    """Label the rows of a Ray Dataset: a Dataset with columns as of `vp.BatchPredictor`, which Ray computes.

    Parameters
    ----------
    model : a fitted ViewPass, OPIMC or IMC
    dataset : Ray Dataset
    views, proba, explain
        As for `vp.BatchPredictor`.
    keep : list of str, optional
        Columns to keep in front of the labels; by default those that are no views.
    """
    schema = schema_of(dataset)
    label = table_predictor(model, schema, views, keep=keep, proba=proba, explain=explain)

    def labelled(batch: Any) -> Any:
        return label(batch)

    return dataset.map_batches(labelled, batch_format="pyarrow", zero_copy_batch=True)
