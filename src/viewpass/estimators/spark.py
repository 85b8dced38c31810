"""`vp.spark`: fit and predict on a Spark cluster, with the same result as on one machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from viewpass.engines.clusters import connected
from viewpass.engines.progress import Callback
from viewpass.engines.spark.engine import schema_of, source_of, spark_schema
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
    """Fit a model on the executors of a Spark cluster, as `vp.distributed.fit` does.

    The session is the active one; otherwise one is started on this machine for the time of the fit.

    Parameters
    ----------
    model, callback
        As for `vp.distributed.fit`.
    data : Spark DataFrame, or source
        A DataFrame is computed at each reading, unless it is persisted. Its rows have no fixed order, so a
        column of ids is needed, and labels stay there: `predict` gives them. Files of `vp.scan` are read
        by the executors, and `labels_` are those of their rows.
    n_workers : int, optional
        Threads of a session on this machine. By default one per processor.
    views, id : optional
        With a DataFrame: as for `vp.scan`.

    Examples
    --------
    >>> import viewpass as vp                                            # doctest: +SKIP
    >>> items = spark.read.parquet("items")                              # doctest: +SKIP
    >>> model = vp.ViewPass(n_clusters=10, random_state=0)               # doctest: +SKIP
    >>> vp.spark.fit(model, items, id="item_id")                         # doctest: +SKIP
    >>> vp.spark.predict(model, items).write.parquet("labels")           # doctest: +SKIP
    """
    with connected("spark", None, n_workers) as cluster:
        return distributed.fit(model, source_of(data, views, id), cluster.engine, callback=callback)


def predict(
    model: Any,
    frame: Any,
    *,
    views: Any = None,
    keep: Sequence[str] | None = None,
    proba: bool = False,
    explain: bool = False,
) -> Any:
    """Label the rows of a Spark DataFrame: a DataFrame of the labels, which Spark computes when it is read.

    `keep`: the columns in front of the labels; by default those that are no views. The rest is as for
    `vp.BatchPredictor`.
    """
    schema = schema_of(frame)
    label = table_predictor(model, schema, views, keep=keep, proba=proba, explain=explain)
    return frame.mapInArrow(label.iterate, spark_schema(label(schema.empty_table()).schema))
