"""`vp.ray`: fit and predict on a Ray cluster, with the same result as on one machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from viewpass.engines.clusters import connected
from viewpass.engines.progress import Callback
from viewpass.engines.ray.engine import schema_of, source_of
from viewpass.estimators import distributed
from viewpass.estimators.batches import table_predictor
from viewpass.estimators.viewpass import ViewPass

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
    """Fit a model on the workers of a Ray cluster, as `vp.distributed.fit` does.

    The cluster is the one this process is connected to; otherwise one is started on this machine for the
    time of the fit.

    Parameters
    ----------
    model, callback
        As for `vp.distributed.fit`.
    data : Ray Dataset, or source
        A Dataset is executed at each reading, unless it is materialized. Its rows have no fixed order, so a
        column of ids is needed, and labels stay there: `predict` gives them. Files of `vp.scan` are read
        by the workers, and `labels_` are those of their rows.
    n_workers : int, optional
        Workers of a cluster on this machine. By default one per processor.
    views, id : optional
        With a Dataset: as for `vp.scan`.

    Examples
    --------
    >>> import ray, viewpass as vp                                       # doctest: +SKIP
    >>> items = ray.data.read_parquet("items")                           # doctest: +SKIP
    >>> model = vp.ViewPass(n_clusters=10, random_state=0)               # doctest: +SKIP
    >>> vp.ray.fit(model, items, id="item_id")                           # doctest: +SKIP
    >>> vp.ray.predict(model, items).write_parquet("labels")             # doctest: +SKIP
    """
    with connected("ray", None, n_workers) as cluster:
        return distributed.fit(model, source_of(data, views, id), cluster.engine, callback=callback)


def predict(
    model: Any,
    dataset: Any,
    *,
    views: Any = None,
    keep: Sequence[str] | None = None,
    proba: bool = False,
    explain: bool = False,
) -> Any:
    """Label the rows of a Ray Dataset: a Dataset of the labels, which Ray computes when it is read.

    `keep`: the columns in front of the labels; by default those that are no views. The rest is as for
    `vp.BatchPredictor`.
    """
    label = table_predictor(model, schema_of(dataset), views, keep=keep, proba=proba, explain=explain)

    def labelled(batch: Any) -> Any:  # Ray takes no instances
        return label(batch)

    return dataset.map_batches(labelled, batch_format="pyarrow", zero_copy_batch=True)
