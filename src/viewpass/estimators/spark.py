"""`vp.spark`: fit and predict on a Spark cluster, with the same result as on one machine."""

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
    from pyspark.sql import DataFrame
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
except ImportError:
    raise missing_extra("pyspark", "spark", "vp.spark") from None

from viewpass.engines.spark.engine import SparkEngine, frame_source

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
    """Fit a model on the executors of a Spark cluster.

    The rows are read three to six times, and the result is that of one machine.

    Parameters
    ----------
    model : ViewPass
        Its settings; it becomes the fitted model.
    data : Spark DataFrame, or source
        A DataFrame is computed at each reading, unless it is persisted. Its rows have no fixed order, so a
        column of ids is needed, and labels stay there: `predict` gives them. Files of `vp.scan` are read
        by the executors of the active session, or of one that is started on this machine for the time of the
        fit; `labels_` are those of their rows.
    n_workers : int, optional
        Threads of that session. By default one per processor.
    views, id : optional
        With a DataFrame: as for `vp.scan`.
    callback : callable, optional
        Called with the progress now and then (`pass_number`, `n_rows_read`, `n_rows`).

    Returns
    -------
    ViewPass
        The model.

    Examples
    --------
    >>> import viewpass as vp                                            # doctest: +SKIP
    >>> items = spark.read.parquet("items")                              # doctest: +SKIP
    >>> model = vp.ViewPass(n_clusters=10, random_state=0)               # doctest: +SKIP
    >>> vp.spark.fit(model, items, id="item_id")                         # doctest: +SKIP
    >>> vp.spark.predict(model, items).write.parquet("labels")           # doctest: +SKIP
    """
    if isinstance(data, DataFrame):

        def engine(source: Any) -> SparkEngine:
            return SparkEngine(data.sparkSession, source)

        return distributed.fit(model, frame_source(data, views, id), engine, callback=callback)
    with connected("spark", None, n_workers) as cluster:
        return distributed.fit(model, data, cluster.engine, callback=callback)


def predict(
    model: Any,
    frame: DataFrame,
    *,
    views: Any = None,
    keep: Sequence[str] | None = None,
    proba: bool = False,
    explain: bool = False,
) -> DataFrame:
    """Label the rows of a Spark DataFrame: a DataFrame with columns as of `vp.BatchPredictor`.

    Parameters
    ----------
    model : a fitted ViewPass, OPIMC or IMC
    frame : Spark DataFrame
    views, proba, explain
        As for `vp.BatchPredictor`.
    keep : list of str, optional
        Columns to keep in front of the labels; by default those that are no views.
    """
    schema = to_arrow_schema(frame.schema)
    label = table_predictor(model, schema, views, keep=keep, proba=proba, explain=explain)
    return frame.mapInArrow(label.iterate, from_arrow_schema(label(schema.empty_table()).schema))
